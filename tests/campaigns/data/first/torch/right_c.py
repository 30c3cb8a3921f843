"""Attention pieces, indexing, scans, convolution and spectra."""
import math

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

NEG = -1e30


class SDPA(Function):
    """Attention with the probabilities recomputed in the backward pass."""

    @staticmethod
    def forward(ctx, q, k, v, mask=None, scale=None):
        if min(q.dim(), k.dim(), v.dim()) < 2 or q.shape[:-2] != k.shape[:-2] or k.shape[:-1] != v.shape[:-1]:
            raise ValueError("q, k, v batch/length mismatch")
        scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
        s = q @ k.transpose(-1, -2) * scale
        if mask is not None:
            if mask.dtype is not torch.bool:
                raise TypeError("boolean mask expected (True = attend)")
            s = s.masked_fill(~mask.expand(s.shape), NEG)
        p = s.softmax(-1)
        ctx.save_for_backward(q, k, v, mask)
        ctx.scale = scale
        return p @ v

    @staticmethod
    def backward(ctx, do):
        q, k, v, mask = ctx.saved_tensors
        s = q @ k.transpose(-1, -2) * ctx.scale
        if mask is not None:
            hide = ~mask.expand(s.shape)
            s = s.masked_fill(hide, NEG)
        p = s.softmax(-1)
        dv = p.transpose(-1, -2) @ do
        dp = do @ v.transpose(-1, -2)
        ds = p * (dp - (dp * p).sum(-1, keepdim=True))
        if mask is not None:
            ds = ds.masked_fill(hide, 0.0)
        ds = ds * ctx.scale
        return ds @ k, ds.transpose(-1, -2) @ q, dv, None, None


class ApplyRope(Function):
    @staticmethod
    def _cs(x, pos, base):
        half = x.shape[-1] // 2
        freq = base ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
        ang = pos.to(x.dtype)[..., None] * freq
        return ang.cos(), ang.sin()

    @staticmethod
    def forward(ctx, x, pos, base=10000.0):
        if x.dim() < 2 or x.shape[-1] % 2:
            raise ValueError("last dimension must be even")
        if pos.is_floating_point():
            raise TypeError("integer positions expected")
        pos = pos.expand(x.shape[:-1])
        ctx.save_for_backward(pos)
        ctx.base = base
        c, s = ApplyRope._cs(x, pos, base)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * c - x2 * s, x2 * c + x1 * s), dim=-1)

    @staticmethod
    def backward(ctx, g):
        (pos,) = ctx.saved_tensors
        c, s = ApplyRope._cs(g, pos, ctx.base)
        g1, g2 = g.chunk(2, dim=-1)
        return torch.cat((g1 * c + g2 * s, g2 * c - g1 * s), dim=-1), None, None


class BagMean(Function):
    @staticmethod
    def forward(ctx, table, idx, padding_idx=None):
        if table.dim() != 2 or idx.dim() != 2:
            raise ValueError("table (V, D) and idx (B, L)")
        e = table.index_select(0, idx.reshape(-1)).reshape(*idx.shape, -1)
        keep = torch.ones_like(idx, dtype=table.dtype)
        if padding_idx is not None:
            keep = (idx != padding_idx).to(table.dtype)
        cnt = keep.sum(1, keepdim=True).clamp(min=1)
        ctx.save_for_backward(idx, keep / cnt)
        ctx.V = table.shape[0]
        return (e * (keep / cnt)[..., None]).sum(1)

    @staticmethod
    def backward(ctx, g):
        idx, w = ctx.saved_tensors
        rows = (g[:, None, :] * w[..., None]).reshape(-1, g.shape[-1])
        gt = g.new_zeros(ctx.V, g.shape[-1]).index_add(0, idx.reshape(-1), rows)
        return gt, None, None


class EdgeSoftmax(Function):
    """softmax of edge scores over the edges that share a destination node."""

    @staticmethod
    def forward(ctx, score, dst, num_nodes):
        if dst.dim() != 1 or score.dim() < 1 or dst.shape[0] != score.shape[0]:
            raise ValueError("one destination per edge")
        shape = (num_nodes,) + score.shape[1:]
        ix = dst.reshape(-1, *[1] * (score.dim() - 1)).expand_as(score)
        m = score.new_full(shape, -math.inf).scatter_reduce(0, ix, score, "amax")
        e = (score - m.gather(0, ix)).exp()
        z = score.new_zeros(shape).scatter_add(0, ix, e)
        y = e / z.gather(0, ix)
        ctx.save_for_backward(y, dst)
        ctx.num_nodes = num_nodes
        return y

    @staticmethod
    def backward(ctx, g):
        y, dst = ctx.saved_tensors
        gy = g * y
        acc = gy.new_zeros((ctx.num_nodes,) + y.shape[1:]).index_add(0, dst, gy)
        return gy - y * acc.index_select(0, dst), None, None


class S(Function):
    # h[t] = a[t] * h[t-1] + b[t], time is axis 1

    @staticmethod
    def forward(ctx, a, b):
        if a.shape != b.shape or a.dim() < 2:
            raise ValueError("a and b: same shape (B, T, ...)")
        h = torch.zeros_like(b[:, 0])
        hs = []
        for t in range(a.shape[1]):
            h = a[:, t] * h + b[:, t]
            hs.append(h)
        out = torch.stack(hs, 1)
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx, g):
        a, h = ctx.saved_tensors
        T = a.shape[1]
        acc = torch.zeros_like(g[:, 0])
        da, db = [None] * T, [None] * T
        for t in reversed(range(T)):
            acc = acc + g[:, t]
            db[t] = acc
            da[t] = acc * h[:, t - 1] if t > 0 else torch.zeros_like(acc)
            acc = acc * a[:, t]
        return torch.stack(da, 1), torch.stack(db, 1)


class LogCumSumExp(Function):
    @staticmethod
    def forward(ctx, x, dim=-1):
        if x.dim() == 0:
            raise ValueError("needs at least one axis")
        y = torch.logcumsumexp(x, dim)
        ctx.dim = dim
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        d = ctx.dim
        top = x.amax(d, keepdim=True).detach()
        r = (g * (top - y).exp()).flip(d).cumsum(d).flip(d)
        return r * (x - top).exp(), None


class Conv2dUnfold(Function):
    @staticmethod
    def forward(ctx, x, w, b=None, stride=1, padding=0):
        if x.dim() != 4 or w.dim() != 4 or x.shape[1] != w.shape[1]:
            raise ValueError("x (N, C, H, W), w (O, C, kh, kw)")
        if b is not None and b.shape != w.shape[:1]:
            raise ValueError("b (O,)")
        kh, kw = w.shape[2:]
        cols = F.unfold(x, (kh, kw), stride=stride, padding=padding)
        y = w.flatten(1) @ cols
        if b is not None:
            y = y + b[:, None]
        oh = (x.shape[2] + 2 * padding - kh) // stride + 1
        ctx.save_for_backward(x, w)
        ctx.args = (stride, padding)
        ctx.has_b = b is not None
        return y.reshape(x.shape[0], w.shape[0], oh, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gy):
        x, w = ctx.saved_tensors
        stride, padding = ctx.args
        k = tuple(w.shape[2:])
        gy = gy.flatten(2)
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = F.fold(w.flatten(1).t() @ gy, x.shape[2:], k, stride=stride, padding=padding)
        if ctx.needs_input_grad[1]:
            cols = F.unfold(x, k, stride=stride, padding=padding)
            gw = torch.einsum("nol,nkl->ok", gy, cols).reshape(w.shape)
        if ctx.has_b and ctx.needs_input_grad[2]:
            gb = gy.sum((0, 2))
        return gx, gw, gb, None, None


class MyFunction(Function):
    """one sided power spectrum of the last axis"""

    @staticmethod
    def forward(ctx, x):
        X = torch.fft.rfft(x)
        ctx.save_for_backward(x)
        return X.real**2 + X.imag**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        n = x.shape[-1]
        X = torch.fft.rfft(x)
        G = F.pad(g * X, (0, n - X.shape[-1]))
        return 2 * n * torch.fft.ifft(G).real


@torch.library.custom_op("firstset::segment_mean", mutates_args=())
def segment_mean(src: torch.Tensor, index: torch.Tensor, n: int) -> torch.Tensor:
    if index.dim() != 1 or src.dim() < 1 or index.shape[0] != src.shape[0]:
        raise RuntimeError("index must have one entry per row of src")
    out = src.new_zeros((n,) + src.shape[1:]).index_add(0, index, src)
    cnt = torch.bincount(index, minlength=n).clamp(min=1).to(src.dtype)
    return out / cnt.reshape(-1, *[1] * (src.dim() - 1))


@segment_mean.register_fake
def _(src, index, n):
    return src.new_empty((n,) + src.shape[1:])


def _segment_mean_setup(ctx, inputs, output):
    src, index, n = inputs
    ctx.save_for_backward(index)
    ctx.n = n


def _segment_mean_backward(ctx, g):
    (index,) = ctx.saved_tensors
    cnt = torch.bincount(index, minlength=ctx.n).clamp(min=1).to(g.dtype)
    g = g / cnt.reshape(-1, *[1] * (g.dim() - 1))
    return g.index_select(0, index), None, None


segment_mean.register_autograd(_segment_mean_backward, setup_context=_segment_mean_setup)
