"""misc kernels, old code base"""
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class SoftCapSign(Function):
    @staticmethod
    def forward(ctx, x, cap=2.0):
        d = 1 + x.abs() / cap
        ctx.save_for_backward(d)
        ctx.cap = cap
        return x / d

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        d, = ctx.saved_tensors
        return g / (d * d), None


class ReflectPadLast(Function):
    @staticmethod
    def forward(ctx, x, pad=2):
        n = x.shape[-1]
        if pad >= n:
            raise ValueError("pad too large")
        ctx.pad, ctx.n = pad, n
        left = x[..., 1:pad + 1].flip(-1)
        right = x[..., n - pad - 1:n - 1].flip(-1)
        return torch.cat([left, x, right], -1)

    @staticmethod
    def backward(ctx, g):
        p, n = ctx.pad, ctx.n
        dx = g[..., p:p + n].clone()
        if p > 0:
            dx[..., 1:p + 1] += g[..., :p].flip(-1)
            dx[..., -p - 1:-1] += g[..., -p:].flip(-1)
        return dx, None


class AttnScores(Function):
    """softmax(q k^T * scale + causal mask); returns probabilities and their logsumexp"""

    @staticmethod
    def forward(ctx, q, k, causal=False):
        scale = q.shape[-1] ** -0.5
        s = torch.matmul(q, k.transpose(-1, -2)) * scale
        if causal:
            m = torch.ones(s.shape[-2:], dtype=torch.bool).triu(1)
            s = s.masked_fill(m, float("-inf"))
        lse = torch.logsumexp(s, -1)
        p = (s - lse.unsqueeze(-1)).exp()
        ctx.save_for_backward(q, k, p)
        ctx.scale = scale
        return p, lse

    @staticmethod
    def backward(ctx, dp, dlse):
        q, k, p = ctx.saved_tensors
        ds = p * (dp - (dp * p).sum(-1, keepdim=True))
        return ds @ k * ctx.scale, ds.transpose(-1, -2) @ q * ctx.scale, None
