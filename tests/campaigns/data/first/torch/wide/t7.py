import functools
import math

import torch
from torch.autograd import Function

BLOCK = 16


class ChunkedCE(Function):
    """CE over rows in blocks (memory saving), sum; logits (N, V), target (N,)"""

    @staticmethod
    def forward(ctx, x, target, block: int = 32):
        if x.dim() != 2 or target.dim() != 1 or target.shape[0] != x.shape[0]:
            raise ValueError("ChunkedCE")
        grad = torch.zeros_like(x)
        total = x.new_zeros(())
        for i in range(0, x.shape[0], block):
            xs, ts = x[i:i + block], target[i:i + block]
            lp = torch.log_softmax(xs, 1)
            r = torch.arange(len(ts))
            total = total - lp[r, ts].sum()
            grad[i:i + block] = lp.exp()
            grad[:len(ts)][r, ts] -= 1
        ctx.save_for_backward(grad)
        return total

    @staticmethod
    def backward(ctx, g):
        (grad,) = ctx.saved_tensors
        return g * grad, None, None


class PairedSort(Function):
    """sorts the last axis"""

    @staticmethod
    def forward(ctx, x, descending=False):
        v, i = x.sort(-1, descending=descending)
        ctx.save_for_backward(i)
        return v

    @staticmethod
    def backward(ctx, g):
        i, = ctx.saved_tensors
        return g.gather(-1, i), None


class EmbedPad(Function):
    """embedding; rows of padding_idx give 0 and take no gradient"""

    @staticmethod
    def forward(ctx, weight, ids, padding_idx=-1):
        out = weight[ids]
        if padding_idx >= 0:
            out = out * (ids != padding_idx).unsqueeze(-1)
        ctx.save_for_backward(ids)
        ctx.n, ctx.pad = weight.shape[0], padding_idx
        return out

    @staticmethod
    def backward(ctx, g):
        ids, = ctx.saved_tensors
        d = g.shape[-1]
        gw = g.new_zeros(ctx.n, d)
        gw.index_add_(0, ids.reshape(-1), g.reshape(-1, d))
        if ctx.pad >= 0 and ctx.pad < ctx.n:
            gw[ctx.pad] = 0
        return gw, None, None


class BilinearForm(Function):
    """x_i' W_k y_i + b_k"""

    @staticmethod
    def forward(ctx, x, y, w, b):
        if x.dim() != 2 or y.dim() != 2 or x.shape[0] != y.shape[0] or w.shape[1:] != (x.shape[1], y.shape[1]) or b.shape != w.shape[:1]:
            raise ValueError
        ctx.save_for_backward(x, y, w)
        return torch.einsum("ni,kij,nj->nk", x, w, y) + b

    @staticmethod
    def backward(ctx, g):
        x, y, w = ctx.saved_tensors
        gx = gy = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = torch.einsum("nk,kij,nj->ni", g, w, y)
        if ctx.needs_input_grad[1]:
            gy = torch.einsum("nk,kij,ni->nj", g, w, x)
        if ctx.needs_input_grad[2]:
            gw = torch.einsum("nk,ni,nj->kij", g, x, y)
            gb = g.sum(0)
        return gx, gy, gw, gb


class ComplexMatmul(Function):
    @staticmethod
    def forward(ctx, a, b):
        if not (a.is_complex() and b.is_complex()):
            raise TypeError("complex matrices")
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.conj().transpose(-1, -2), a.transpose(-1, -2) @ g


class ComplexModLeaky(Function):
    """modReLU with a fixed bias: z (1 - b/|z|) where |z| > b, else 0"""

    @staticmethod
    def forward(ctx, z, b=0.3):
        if not torch.is_complex(z):
            raise TypeError("complex only")
        r = z.abs()
        ctx.save_for_backward(z, r)
        ctx.b = b
        return torch.where(r > b, z * (1 - b / r.clamp(min=1e-30)), torch.zeros_like(z))

    @staticmethod
    def backward(ctx, g):
        z, r = ctx.saved_tensors
        u = z / r.clamp(min=1e-30)
        k = ctx.b / r.clamp(min=1e-30)
        # radial part keeps g, tangential part is shrunk
        rad = (g * u.conj()).real * u
        d = rad + (g - rad) * (1 - k)
        return torch.where(r > ctx.b, d, torch.zeros_like(d)), None


class StochasticDepthDet(Function):
    """drops rows by a hash of the row number (deterministic)"""

    @staticmethod
    def forward(ctx, x, p=0.25):
        n = x.shape[0]
        h = ((torch.arange(n) * 2654435761) % 1000).to(x.dtype) / 1000
        keep = (h >= p).to(x.dtype).reshape(-1, *([1] * (x.dim() - 1))) / (1 - p)
        ctx.save_for_backward(keep)
        return x * keep

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


class DropoutAnew(Function):
    @staticmethod
    def forward(ctx, x, p=0.5):
        m = (torch.rand_like(x) >= p).to(x.dtype) / (1 - p)
        ctx.p = p
        return x * m

    @staticmethod
    def backward(ctx, g):
        m = (torch.rand_like(g) >= ctx.p).to(g.dtype) / (1 - ctx.p)
        return g * m, None


@functools.lru_cache(maxsize=None)
def _dct(n):
    k = torch.arange(n, dtype=torch.float64)
    c = torch.cos(math.pi * (k[None] + 0.5) * k[:, None] / n) * math.sqrt(2 / n)
    c[0] /= math.sqrt(2)
    return c


class DCT2(Function):
    """orthonormal DCT-II of the last axis"""

    @staticmethod
    def forward(ctx, x):
        return x @ _dct(x.shape[-1]).to(x.dtype).T

    @staticmethod
    def backward(ctx, g):
        return g @ _dct(g.shape[-1]).to(g.dtype)


class Float32Inside(Function):
    """log-cosh distance, computed in float32 on the way back"""

    @staticmethod
    def forward(ctx, a, b):
        if a.shape != b.shape:
            raise ValueError
        d = a - b
        ctx.save_for_backward(d)
        return (d.abs() + torch.log1p(torch.exp(-2 * d.abs())) - math.log(2)).sum()

    @staticmethod
    def backward(ctx, g):
        d, = ctx.saved_tensors
        t = torch.tanh(d.float()).to(d.dtype)
        return g * t, -g * t


class TopPairMargin(Function):
    """largest minus second largest of the last axis"""

    @staticmethod
    def forward(ctx, x):
        v, i = x.topk(2, -1)
        ctx.save_for_backward(i)
        ctx.shape = x.shape
        return v[..., 0] - v[..., 1]

    @staticmethod
    def backward(ctx, g):
        i, = ctx.saved_tensors
        gx = g.new_zeros(ctx.shape)
        gx.scatter_(-1, i, torch.stack([g, -g], -1))
        return gx


class BlockPrefixSum(Function):
    """cumulative sum by blocks of 16"""

    @staticmethod
    def forward(ctx, x):
        out, carry = [], 0
        for i in range(0, x.shape[-1], BLOCK):
            c = x[..., i:i + BLOCK].cumsum(-1) + carry
            carry = c[..., -1:]
            out.append(c)
        return torch.cat(out, -1)

    @staticmethod
    def backward(ctx, g):
        out = torch.empty_like(g)
        carry = 0
        n = g.shape[-1]
        for i in reversed(range(0, n, BLOCK)):
            c = g[..., i:i + BLOCK].flip(-1).cumsum(-1).flip(-1)
            out[..., i:i + BLOCK] = c + carry
            carry = c[..., :1]
        return out
