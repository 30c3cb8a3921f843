import math

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class TanhGelu(Function):
    """tanh approximation of GELU"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        c = math.sqrt(2.0 / math.pi)
        t = torch.tanh(c * (x + 0.044715 * x**3))
        left = 0.5 * (1.0 + t)
        right = 0.5 * x * (1.0 - t * t) * c * (1.0 + 0.044715 * x * x)
        return g * (left + right)


class SmoothCE(Function):
    @staticmethod
    def forward(logits, target, smoothing=0.1, ignore_index=-100):
        if logits.dim() != 2 or target.shape != logits.shape[:1]:
            raise ValueError("logits (N, C) and target (N,) expected")
        keep = target != ignore_index
        tgt = torch.where(keep, target, torch.zeros_like(target))
        lp = F.log_softmax(logits, dim=-1)
        nll = -lp.gather(1, tgt[:, None])[:, 0]
        per = (1 - smoothing) * nll - smoothing * lp.mean(-1)
        return (per * keep).sum() / keep.sum().clamp(min=1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        logits, target, smoothing, ignore_index = inputs
        ctx.save_for_backward(logits, target)
        ctx.smoothing = smoothing
        ctx.ignore_index = ignore_index

    @staticmethod
    def backward(ctx, grad):
        logits, target = ctx.saved_tensors
        C = logits.shape[1]
        keep = target != ctx.ignore_index
        tgt = torch.where(keep, target, torch.zeros_like(target))
        onehot = F.one_hot(tgt, C).to(logits.dtype)
        q = onehot * (1 - ctx.smoothing) + ctx.smoothing / C
        d = (logits.softmax(-1) - q) * keep[:, None]
        return grad * d / logits.shape[0], None, None, None


class RobustL1(Function):
    """Huber loss, mean over the selected entries."""

    @staticmethod
    def forward(ctx, pred, target, mask, delta=1.0):
        if not (pred.shape == target.shape == mask.shape) or mask.dtype != torch.bool:
            raise ValueError("pred, target, mask must agree (mask: bool)")
        d = pred - target
        quad = d.abs() <= delta
        ctx.save_for_backward(d, quad, mask)
        ctx.delta = delta
        loss = torch.where(quad, 0.5 * d * d, delta * (d.abs() - 0.5 * delta))
        return loss[mask].sum() / mask.sum().clamp(min=1)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        d, quad, mask = ctx.saved_tensors
        slope = torch.where(quad, d, d.sign())
        gp = grad_output * slope * mask / mask.sum().clamp(min=1)
        return gp, -gp, None, None


class GLU(Function):
    """silu(a) * b"""

    @staticmethod
    def forward(ctx, a, b):
        if a.shape != b.shape:
            raise RuntimeError("GLU halves differ")
        ctx.save_for_backward(a, b)
        return a * torch.sigmoid(a) * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        s = torch.sigmoid(a)
        act = a * s
        dact = s + act * (1 - s)
        return g * act, g * b * dact


class FocalCE(Function):
    """Multi class focal loss on logits with integer labels."""

    @staticmethod
    def forward(ctx, logits, labels, gamma=2.0):
        if logits.dim() != 2 or labels.shape != logits.shape[:1]:
            raise ValueError("expected (N, C) logits and (N,) labels")
        logpt = logits.log_softmax(1).gather(1, labels[:, None])
        ctx.save_for_backward(logits, labels)
        ctx.gamma = gamma
        return (-((1 - logpt.exp()) ** gamma) * logpt).mean()

    @staticmethod
    def backward(ctx, g):
        logits, labels = ctx.saved_tensors
        lp = logits.log_softmax(1)
        p = lp.exp()
        logpt = lp.gather(1, labels[:, None])
        pt = logpt.exp()
        coef = -((1 - pt) ** ctx.gamma)
        onehot = torch.zeros_like(p).scatter(1, labels[:, None], 1.0)
        return g * coef * (onehot - p) / len(labels), None, None


class HSwish(Function):
    @staticmethod
    def forward(x):
        return x * F.relu6(x + 3) / 6

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        inner = (x > -3) & (x < 3)
        return dy * torch.where(inner, (2 * x + 3) / 6, torch.zeros_like(x))


class DiceLoss(Function):
    """1 - soft dice, probabilities against a mask of the same shape"""

    @staticmethod
    def forward(ctx, prob, mask, smooth=1.0):
        if prob.shape != mask.shape:
            raise ValueError("shape mismatch")
        if mask.dtype != torch.bool:
            raise TypeError("mask: bool")
        m = mask.to(prob.dtype)
        inter = (prob * m).sum()
        union = (prob * prob).sum() + m.sum()
        ctx.save_for_backward(prob, m)
        ctx.smooth = smooth
        return 1 - (2 * inter + smooth) / (union + smooth)

    @staticmethod
    def backward(ctx, grad_output):
        prob, m = ctx.saved_tensors
        num = 2 * (prob * m).sum() + ctx.smooth
        den = (prob * prob).sum() + m.sum() + ctx.smooth
        grad = -(2 * m * den - num * 2 * prob) / den**2
        return grad, None, None


class MSE(Function):
    @staticmethod
    def forward(ctx, input, target):
        ctx.save_for_backward(input, target)
        return (input - target).pow(2).mean()

    @staticmethod
    def backward(ctx, g):
        input, target = ctx.saved_tensors
        diff = input - target
        grad = g * 2.0 * diff / input.numel()
        return grad, -grad


@torch.library.custom_op("firstset::logit_softcap", mutates_args=())
def logit_softcap(x: torch.Tensor, cap: float = 30.0) -> torch.Tensor:
    return cap * torch.tanh(x / cap)


@logit_softcap.register_fake
def _(x, cap=30.0):
    return torch.empty_like(x)


def _setup(ctx, inputs, output):
    x, cap = inputs
    ctx.save_for_backward(output)
    ctx.cap = cap


def _bwd(ctx, grad):
    (t,) = ctx.saved_tensors
    return grad * (1 - t * t), None


logit_softcap.register_autograd(_bwd, setup_context=_setup)
