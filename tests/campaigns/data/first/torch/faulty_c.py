import math

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Attn(Function):
    """softmax(q k^T / sqrt(d)) v"""

    @staticmethod
    def forward(ctx, q, k, v, causal=False):
        if min(q.dim(), k.dim(), v.dim()) < 2 or q.shape[:-2] != k.shape[:-2] or k.shape[:-1] != v.shape[:-1]:
            raise ValueError("q, k, v do not match")
        scale = q.shape[-1] ** -0.5
        s = torch.matmul(q, k.transpose(-2, -1)) * scale
        if causal:
            keep = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()
            s = s.masked_fill(~keep, float("-inf"))
        p = torch.softmax(s, dim=-1)
        ctx.save_for_backward(q, k, v, p)
        ctx.scale = scale
        return torch.matmul(p, v)

    @staticmethod
    @once_differentiable
    def backward(ctx, do):
        q, k, v, p = ctx.saved_tensors
        dv = torch.matmul(p.transpose(-2, -1), do)
        dp = torch.matmul(do, v.transpose(-2, -1))
        ds = p * (dp - (p * dp).sum(-1, keepdim=True))
        dq = torch.matmul(ds, k) * ctx.scale
        dk = torch.matmul(ds.transpose(-2, -1), q)
        return dq, dk, dv, None


class RoPE(Function):
    @staticmethod
    def forward(ctx, x, pos, base=10000.0):
        if x.dim() < 2 or x.shape[-1] % 2 or pos.shape != x.shape[-2:-1]:
            raise ValueError("x (..., T, 2n), pos (T,)")
        if pos.is_floating_point():
            raise TypeError("pos must be integer")
        half = x.shape[-1] // 2
        freq = base ** (-torch.arange(half, dtype=x.dtype) / half)
        ang = pos[:, None].to(x.dtype) * freq
        cos, sin = ang.cos(), ang.sin()
        ctx.save_for_backward(cos, sin)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        a, b = g[..., 0::2], g[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2), None, None


class EmbBag(Function):
    """Mean of embedding rows per bag; entries equal to padding_idx are left out."""

    @staticmethod
    def forward(ctx, weight, idx, padding_idx=0):
        if weight.dim() != 2 or idx.dim() != 2:
            raise ValueError("weight (V, D), idx (B, L)")
        keep = (idx != padding_idx).to(weight.dtype).unsqueeze(-1)
        rows = torch.index_select(weight, 0, idx.flatten()).reshape(*idx.shape, -1)
        ctx.save_for_backward(idx, keep)
        ctx.size = weight.shape
        return (rows * keep).sum(1) / keep.sum(1).clamp(min=1)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        idx, keep = ctx.saved_tensors
        B, L = idx.shape
        per = (g / L).unsqueeze(1) * keep
        gw = g.new_zeros(ctx.size)
        gw.index_add_(0, idx.flatten(), per.reshape(B * L, -1))
        return gw, None, None


class GatedScan(Function):
    """h_t = a_t h_{t-1} + x_t along the last axis, h_{-1} = 0"""

    @staticmethod
    def forward(ctx, a, x):
        if a.shape != x.shape or x.dim() == 0:
            raise ValueError("a and x must have the same shape")
        h = torch.zeros_like(x[..., 0])
        out = torch.empty_like(x)
        for t in range(x.shape[-1]):
            h = a[..., t] * h + x[..., t]
            out[..., t] = h
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        a, h = ctx.saved_tensors
        ga, gx = torch.zeros_like(a), torch.zeros_like(a)
        carry = torch.zeros_like(a[..., 0])
        for t in range(a.shape[-1] - 1, -1, -1):
            carry = carry + g[..., t]
            gx[..., t] = carry
            if t > 0:
                ga[..., t] = carry * h[..., t]
            carry = carry * a[..., t]
        return ga, gx


class PSD(Function):
    @staticmethod
    def forward(ctx, x):
        X = torch.fft.rfft(x, dim=-1)
        ctx.save_for_backward(X)
        ctx.n = x.shape[-1]
        return X.abs().square()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (X,) = ctx.saved_tensors
        return 2 * ctx.n * torch.fft.irfft(g * X, n=ctx.n, dim=-1)


class CumProd(Function):
    """cumulative product, nonzero entries only"""

    @staticmethod
    def forward(ctx, x, dim=-1):
        y = torch.cumprod(x, dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        acc = (g * y).cumsum(ctx.dim)
        return acc / x, None


class Haar(Function):
    """One level of the orthonormal Haar transform of the last axis."""

    @staticmethod
    def forward(ctx, x):
        if x.dim() == 0 or x.shape[-1] % 2:
            raise ValueError("even length needed")
        ctx.set_materialize_grads(False)
        e, o = x[..., ::2], x[..., 1::2]
        r = math.sqrt(0.5)
        return (e + o) * r, (e - o) * r

    @staticmethod
    def backward(ctx, ga, gd):
        if ga is None and gd is None:
            return None
        if ga is None:
            ga = torch.zeros_like(gd)
        if gd is None:
            gd = torch.zeros_like(ga)
        r = math.sqrt(0.5)
        ge, go = (ga + gd) * r, (gd - ga) * r
        return torch.stack((ge, go), -1).flatten(-2)


@torch.library.custom_op("firstset::gather_rows", mutates_args=())
def gather_rows(x: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
    if idx.dim() != 1 or x.dim() < 1:
        raise RuntimeError("idx must be one dimensional")
    return x.index_select(0, idx)


@gather_rows.register_fake
def _(x, idx):
    return x.new_empty((idx.shape[0],) + x.shape[1:])


def _gr_setup(ctx, inputs, output):
    x, idx = inputs
    ctx.save_for_backward(idx)
    ctx.shape = x.shape


def _gr_backward(ctx, g):
    (idx,) = ctx.saved_tensors
    return g.new_zeros(ctx.shape).index_copy(0, idx, g), None


gather_rows.register_autograd(_gr_backward, setup_context=_gr_setup)
