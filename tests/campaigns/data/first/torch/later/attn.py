import math

import torch


class CausalSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, s, scale=1.0):
        q, k = s.shape[-2:]
        mask = torch.ones(q, k, dtype=torch.bool).triu(1 + k - q)
        p = torch.softmax((s * scale).masked_fill(mask, float("-inf")), -1)
        ctx.save_for_backward(p)
        ctx.scale = scale
        return p

    @staticmethod
    def backward(ctx, dp):
        (p,) = ctx.saved_tensors
        return ctx.scale * p * (dp - (dp * p).sum(-1, keepdim=True)), None


class SoftCap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cap=30.0):
        y = cap * torch.tanh(x / cap)
        ctx.save_for_backward(x)
        ctx.cap = cap
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - (y / ctx.cap) ** 2), None


class SDPA(torch.autograd.Function):
    """softmax(q k^T / sqrt(d)) v, with a causal switch."""

    @staticmethod
    def forward(ctx, q, k, v, causal=False):
        scale = 1.0 / math.sqrt(q.size(-1))
        s = q @ k.transpose(-1, -2) * scale
        if causal:
            n, m = s.shape[-2:]
            s = s.masked_fill(torch.arange(m) > torch.arange(n)[:, None], -math.inf)
        p = s.softmax(-1)
        ctx.save_for_backward(q, k, v, p)
        ctx.scale = scale
        return p @ v

    @staticmethod
    def backward(ctx, do):
        q, k, v, p = ctx.saved_tensors
        dv = p.transpose(-1, -2) @ do
        dp = do @ v.transpose(-1, -2)
        ds = p * (dp - (dp * p).sum(-1, keepdim=True))
        dq = ds @ k * ctx.scale
        dk = ds.transpose(-1, -2) @ q
        return dq, dk, dv, None


class MergeStates(torch.autograd.Function):
    """Joins two partial attention results by their log-sum-exps, as ring attention does."""

    @staticmethod
    def forward(ctx, oa, la, ob, lb):
        lse = torch.logaddexp(la, lb)
        wa = torch.exp(la - lse)
        wb = torch.exp(lb - lse)
        o = wa.unsqueeze(-1) * oa + wb.unsqueeze(-1) * ob
        ctx.save_for_backward(oa, ob, wa, wb, o)
        return o, lse

    @staticmethod
    def backward(ctx, do, dl):
        oa, ob, wa, wb, o = ctx.saved_tensors
        doa = wa.unsqueeze(-1) * do
        dob = wb.unsqueeze(-1) * do
        dla = wa * (dl + (do * (oa - o)).sum(-1))
        dlb = wb * (dl + (do * (ob - o)).sum(-1))
        return doa, dla, dob, dlb


class AlibiScores(torch.autograd.Function):
    """s[h, i, j] - slope[h] * (i - j) for j <= i, learned slopes; later places are -1e4."""

    @staticmethod
    def forward(s, slope):
        n = s.shape[-1]
        d = torch.arange(n)[:, None] - torch.arange(n)
        out = s - slope[..., None, None] * d
        return torch.where(d >= 0, out, torch.full_like(out, -1e4))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.n = inputs[0].shape[-1]

    @staticmethod
    def backward(ctx, g):
        d = torch.arange(ctx.n)[:, None] - torch.arange(ctx.n)
        ds = torch.where(d >= 0, g, torch.zeros_like(g))
        return ds, -(g * d).sum((-1, -2))


class RotaryHalf(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        a, b = x.chunk(2, -1)
        ctx.save_for_backward(cos, sin)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        a, b = g.chunk(2, -1)
        return torch.cat((a * cos + b * sin, b * cos - a * sin), -1), None, None


class RotaryPairs(torch.autograd.Function):
    """Interleaved pairs, with the positions as whole numbers."""

    @staticmethod
    def _angles(pos, d, base):
        inv = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        return pos[:, None].to(torch.float64) * inv

    @staticmethod
    def forward(ctx, x, pos, base=10000.0):
        t = RotaryPairs._angles(pos, x.shape[-1], base)
        c, s = t.cos().to(x.dtype), t.sin().to(x.dtype)
        ctx.save_for_backward(c, s)
        e, o = x[..., 0::2], x[..., 1::2]
        return torch.stack((e * c - o * s, e * s + o * c), -1).flatten(-2)

    @staticmethod
    def backward(ctx, g):
        c, s = ctx.saved_tensors
        e, o = g[..., 0::2], g[..., 1::2]
        return torch.stack((e * c + o * s, o * c + e * s), -1).flatten(-2), None, None
