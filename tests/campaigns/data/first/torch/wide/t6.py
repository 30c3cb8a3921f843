import torch
from torch.autograd import Function
from typing import Optional, Tuple


class BiasDropScaleAdd(Function):
    """residual + scale * (x + bias), bias may be None"""

    @staticmethod
    def forward(ctx, x, residual, bias=None, scale=0.5):
        assert x.shape == residual.shape
        ctx.scale = scale
        ctx.has_bias = bias is not None
        if bias is not None:
            assert bias.shape == x.shape[-1:]
            x = x + bias
        return residual + scale * x

    @staticmethod
    def backward(ctx, g):
        gx = g * ctx.scale
        gb = gx.reshape(-1, gx.shape[-1]).sum(0) if ctx.has_bias else None
        return gx, g, gb, None


class StridedConv1d(Function):
    @staticmethod
    def forward(ctx, x, w, stride=2, padding=1):
        ctx.save_for_backward(x, w)
        ctx.s, ctx.p = stride, padding
        return torch.nn.functional.conv1d(x, w, None, stride, padding)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        s, p = ctx.s, ctx.p
        L, K = x.shape[-1], w.shape[-1]
        gx = torch.nn.functional.conv_transpose1d(g, w, None, s, p)
        if gx.shape[-1] < L:
            gx = torch.nn.functional.pad(gx, (0, L - gx.shape[-1]))
        xp = torch.nn.functional.pad(x, (p, p))
        win = xp.unfold(2, K, s)
        gw = torch.einsum("not,nctk->ock", g, win)
        return gx, gw, None, None


class StridedPool(Function):
    """average pool with count_include_pad=False"""

    @staticmethod
    def _count(n, k, s, p, dtype):
        one = torch.ones(1, 1, n, dtype=dtype)
        return torch.nn.functional.avg_pool1d(one, k, s, p) * k

    @staticmethod
    def forward(ctx, x, k=3, s=2, p=1):
        if x.dim() != 3:
            raise ValueError
        ctx.k, ctx.s, ctx.p, ctx.n = k, s, p, x.shape[-1]
        y = torch.nn.functional.avg_pool1d(x, k, s, p) * k
        return y / StridedPool._count(x.shape[-1], k, s, p, x.dtype)

    @staticmethod
    def backward(ctx, g):
        k, s, p, n = ctx.k, ctx.s, ctx.p, ctx.n
        g = g / k
        gx = g.new_zeros(g.shape[0], g.shape[1], n + 2 * p)
        for t in range(g.shape[-1]):
            gx[:, :, t * s:t * s + k] += g[:, :, t:t + 1]
        return gx[:, :, p:p + n], None, None, None


class ChannelShuffle(Function):
    @staticmethod
    def forward(ctx, x, groups=2):
        n, c = x.shape[:2]
        if c % groups:
            raise ValueError
        ctx.groups = groups
        rest = x.shape[2:]
        return x.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(x.shape)

    @staticmethod
    def backward(ctx, g):
        n, c = g.shape[:2]
        rest = g.shape[2:]
        return g.reshape(n, ctx.groups, c // ctx.groups, *rest).transpose(1, 2).reshape(g.shape), None


class Lerp3(Function):
    """trilinear-like: a + t (b - a), with smoothstep t"""

    @staticmethod
    def forward(a, b, t):
        s = t * t * (3 - 2 * t)
        return a + s * (b - a)

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b, t = inputs
        if not (a.shape == b.shape == t.shape):
            raise ValueError("lerp: shapes")
        ctx.save_for_backward(a, b, t)

    @staticmethod
    def backward(ctx, g):
        a, b, t = ctx.saved_tensors
        s = t * t * (3 - 2 * t)
        return g * (1 - s), g * s, g * 6 * t * (1 - t) * (b - a)


class VarMean(Function):
    """(variance, mean) over one or more axes"""

    @staticmethod
    def forward(ctx, x, dims=(-1,), correction=1):
        v, m = torch.var_mean(x, dims, correction=correction, keepdim=True)
        n = 1
        for d in dims:
            n *= x.shape[d]
        ctx.save_for_backward(x, m)
        ctx.n, ctx.corr, ctx.dims = n, correction, dims
        return v, m

    @staticmethod
    def backward(ctx, gv, gm):
        x, m = ctx.saved_tensors
        return gv * 2 * (x - m) / (ctx.n - ctx.corr) + gm / ctx.n, None, None


class WrapAngle(Function):
    """difference of angles to (-pi, pi], then its Huber penalty"""

    @staticmethod
    def forward(ctx, a, b, delta=0.5):
        if a.shape != b.shape:
            raise ValueError
        d = torch.atan2(torch.sin(a - b), torch.cos(a - b))
        ctx.save_for_backward(d)
        ctx.delta = delta
        q = d.abs()
        return torch.where(q <= delta, 0.5 * d * d, delta * (q - 0.5 * delta))

    @staticmethod
    def backward(ctx, g):
        d, = ctx.saved_tensors
        k = torch.where(d.abs() <= ctx.delta, d, torch.sign(d))
        return g * k, -g * k, None


class HistMatch(Function):
    """soft histogram with triangular bins on [0, 1]"""

    @staticmethod
    def forward(ctx, x, bins=5):
        c = torch.linspace(0, 1, bins, dtype=x.dtype)
        h = 1.0 / (bins - 1)
        d = x.reshape(-1, 1) - c
        w = (1 - d.abs() / h).clamp(min=0)
        ctx.save_for_backward(d, w)
        ctx.h, ctx.shape = h, x.shape
        return w.sum(0)

    @staticmethod
    def backward(ctx, g):
        d, w = ctx.saved_tensors
        return (-(d.sign() * (w > 0)) @ g / ctx.h).reshape(ctx.shape), None


class ExpScan(Function):
    """discounted returns, reward (B, T), done (B, T) bool"""

    @staticmethod
    def forward(ctx, r, done, gamma=0.9):
        if r.shape != done.shape or r.dim() != 2:
            raise ValueError("reward and done are (B, T)")
        out = torch.zeros_like(r)
        acc = torch.zeros_like(r[:, 0])
        for t in range(r.shape[1] - 1, -1, -1):
            acc = r[:, t] + gamma * acc * (~done[:, t])
            out[:, t] = acc
        ctx.save_for_backward(done)
        ctx.gamma = gamma
        return out

    @staticmethod
    def backward(ctx, g):
        done, = ctx.saved_tensors
        d = torch.zeros_like(g)
        acc = torch.zeros_like(g[:, 0])
        for t in range(g.shape[1]):
            acc = g[:, t] + ctx.gamma * acc * (~done[:, t])
            d[:, t] = acc
        return d, None, None


class CTCLikeForward(Function):
    """log-sum over monotone alignments (T, S) lattice, unit moves: stay or advance"""

    @staticmethod
    def forward(ctx, lp):
        if lp.dim() != 2 or lp.shape[0] < lp.shape[1]:
            raise ValueError("T >= S")
        T, S = lp.shape
        ninf = float("-inf")
        al = lp.new_full((T, S), ninf)
        al[0, 0] = lp[0, 0]
        for t in range(1, T):
            prev = al[t - 1]
            sh = torch.cat([prev.new_full((1,), ninf), prev[:-1]])
            al[t] = torch.logaddexp(prev, sh) + lp[t]
        be = lp.new_full((T, S), ninf)
        be[-1, -1] = 0
        for t in range(T - 2, -1, -1):
            nx = be[t + 1] + lp[t + 1]
            sh = torch.cat([nx[1:], nx.new_full((1,), ninf)])
            be[t] = torch.logaddexp(nx, sh)
        z = al[-1, -1]
        ctx.save_for_backward((al + be - z).exp())
        return z

    @staticmethod
    def backward(ctx, g):
        post, = ctx.saved_tensors
        return g * post
