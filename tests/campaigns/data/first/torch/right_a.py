"""Activations and losses used by the vocoder / distillation experiments."""
import math

import torch
import torch.nn.functional as F
from torch.autograd import Function


class Mish(Function):
    """Memory efficient Mish: keeps the input only."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.tanh(F.softplus(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        sp = F.softplus(x)
        t = torch.tanh(sp)
        s = torch.sigmoid(x)
        return grad_output * (t + x * s * (1 - t * t))


class GeluTanh(Function):
    @staticmethod
    def forward(x):
        u = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1.0 + torch.tanh(u))

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        k = math.sqrt(2.0 / math.pi)
        u = k * (x + 0.044715 * x**3)
        t = torch.tanh(u)
        du = k * (1.0 + 3 * 0.044715 * x * x)
        return g * (0.5 * (1.0 + t) + 0.5 * x * (1 - t**2) * du)


class SnakeAct(Function):
    """x + sin^2(a x) / a with one trainable frequency per channel.

    x: (batch, channels, time), alpha: (channels,)
    """

    @staticmethod
    def forward(ctx, x, alpha):
        if x.dim() != 3 or alpha.shape != (x.shape[1],):
            raise ValueError("SnakeAct expects (B, C, T) and (C,)")
        a = alpha[None, :, None]
        ctx.save_for_backward(x, alpha)
        return x + torch.sin(a * x) ** 2 / (a + 1e-9)

    @staticmethod
    def backward(ctx, grad_output):
        x, alpha = ctx.saved_tensors
        a = alpha[None, :, None]
        den = a + 1e-9
        s2 = torch.sin(2 * a * x)
        gx = galpha = None
        if ctx.needs_input_grad[0]:
            gx = grad_output * (1 + a * s2 / den)
        if ctx.needs_input_grad[1]:
            t = x * s2 / den - torch.sin(a * x) ** 2 / den**2
            galpha = (grad_output * t).sum(dim=(0, 2))
        return gx, galpha


class LabelSmoothedCE(Function):
    @staticmethod
    def forward(ctx, logits, target, smoothing=0.1, ignore_index=-100):
        if logits.dim() != 2 or target.shape != logits.shape[:1]:
            raise ValueError("logits (N, C) and target (N,) expected")
        keep = target != ignore_index
        tgt = target.masked_fill(~keep, 0)
        lp = F.log_softmax(logits, dim=-1)
        nll = -lp.gather(1, tgt[:, None]).squeeze(1)
        smooth = -lp.mean(dim=-1)
        n = keep.sum().clamp(min=1)
        loss = (((1 - smoothing) * nll + smoothing * smooth) * keep).sum() / n
        ctx.save_for_backward(logits, tgt, keep)
        ctx.smoothing = smoothing
        return loss

    @staticmethod
    def backward(ctx, grad):
        logits, tgt, keep = ctx.saved_tensors
        eps = ctx.smoothing
        p = logits.softmax(-1)
        q = torch.full_like(p, eps / p.shape[1])
        q.scatter_add_(1, tgt[:, None], torch.full_like(tgt[:, None], 1, dtype=p.dtype) * (1 - eps))
        n = keep.sum().clamp(min=1)
        return grad * (p - q) * keep[:, None] / n, None, None, None


class MaskedHuber(Function):
    @staticmethod
    def forward(ctx, pred, target, mask, delta=1.0):
        if not (pred.shape == target.shape == mask.shape):
            raise ValueError("shapes differ")
        if mask.dtype != torch.bool:
            raise TypeError("mask must be bool")
        if delta <= 0:
            raise ValueError("delta must be positive")
        ctx.save_for_backward(pred, target, mask)
        ctx.delta = delta
        d = pred - target
        a = d.abs()
        loss = torch.where(a <= delta, 0.5 * d * d, delta * (a - 0.5 * delta))
        return (loss * mask).sum() / mask.sum().clamp(min=1)

    @staticmethod
    def backward(ctx, g):
        pred, target, mask = ctx.saved_tensors
        d = (pred - target).clamp(-ctx.delta, ctx.delta)
        gp = g * d * mask / mask.sum().clamp(min=1)
        return gp, -gp, None, None


class SoftCE(Function):
    """Cross entropy with a soft label distribution q over the last axis (mean over rows)."""

    @staticmethod
    def forward(ctx, logits, q):
        if logits.shape != q.shape:
            raise ValueError("logits and q must have the same shape")
        logp = torch.log_softmax(logits, -1)
        rows = logits.numel() // logits.shape[-1]
        ctx.rows = rows
        ctx.save_for_backward(logits, q)
        return -(q * logp).sum() / rows

    @staticmethod
    def backward(ctx, g):
        logits, q = ctx.saved_tensors
        gl = gq = None
        if ctx.needs_input_grad[0]:
            gl = g * (logits.softmax(-1) - q) / ctx.rows
        if ctx.needs_input_grad[1]:
            gq = -g * torch.log_softmax(logits, -1) / ctx.rows
        return gl, gq


class SwiGLU(Function):
    @staticmethod
    def forward(gate, up):
        return F.silu(gate) * up

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dy):
        gate, up = ctx.saved_tensors
        sig = gate.sigmoid()
        dgate = dy * up * sig * (1 + gate * (1 - sig))
        dup = dy * gate * sig
        return dgate.sum_to_size(gate.shape), dup.sum_to_size(up.shape)


@torch.library.custom_op("firstset::softcap", mutates_args=())
def softcap(x: torch.Tensor, cap: float = 30.0) -> torch.Tensor:
    return torch.tanh(x / cap) * cap


@softcap.register_fake
def _(x, cap=30.0):
    return torch.empty_like(x)


def _softcap_setup(ctx, inputs, output):
    _, ctx.cap = inputs
    ctx.save_for_backward(output)


def _softcap_backward(ctx, g):
    (y,) = ctx.saved_tensors
    return g * (1 - (y / ctx.cap) ** 2), None


softcap.register_autograd(_softcap_backward, setup_context=_softcap_setup)


@torch.library.custom_op("firstset::bias_gelu", mutates_args=())
def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """gelu(x + bias), bias over the last dimension."""
    if bias.dim() != 1 or x.dim() < 1 or x.shape[-1] != bias.shape[0]:
        raise RuntimeError("bias must match the last dimension of x")
    return F.gelu(x + bias)


@bias_gelu.register_fake
def _(x, bias):
    return torch.empty_like(x)


def _bg_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _bg_backward(ctx, g):
    x, bias = ctx.saved_tensors
    z = x + bias
    cdf = 0.5 * (1 + torch.erf(z / math.sqrt(2)))
    pdf = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    gz = g * (cdf + z * pdf)
    return gz, gz.reshape(-1, bias.shape[0]).sum(0)


bias_gelu.register_autograd(_bg_backward, setup_context=_bg_setup)
