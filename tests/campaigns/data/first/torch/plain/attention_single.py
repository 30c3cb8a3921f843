import math
import torch


class Attention(torch.autograd.Function):
    """softmax(q k^T / sqrt(d)) v, optionally causal.  Leading batch dims allowed."""

    @staticmethod
    def forward(ctx, q, k, v, causal=False):
        scale = 1.0 / math.sqrt(q.shape[-1])
        s = torch.matmul(q, k.transpose(-1, -2)) * scale
        if causal:
            Tq, Tk = s.shape[-2:]
            s = s.masked_fill(torch.ones(Tq, Tk, dtype=torch.bool).triu(1), -float("inf"))
        p = torch.softmax(s, -1)
        o = torch.matmul(p, v)
        ctx.save_for_backward(q, k, v, p, o)
        ctx.scale = scale
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, p, o = ctx.saved_tensors
        dv = torch.matmul(p.transpose(-1, -2), do)
        dp = torch.matmul(do, v.transpose(-1, -2))
        delta = (do * o).sum(-1, keepdim=True)
        ds = p * (dp - delta) * ctx.scale
        dq = torch.matmul(ds, k)
        dk = torch.matmul(ds.transpose(-1, -2), q)
        return dq, dk, dv, None
