import math

import torch


class DotProductAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal=False, scale=None):
        if q.dim() < 2 or q.shape[:-2] != k.shape[:-2] or k.shape[:-1] != v.shape[:-1]:
            raise ValueError("batch/head/key axes of q, k, v must agree")
        scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
        s = q @ k.transpose(-1, -2) * scale
        if causal:
            keep = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril()
            s = s.masked_fill(~keep, float("-inf"))
        p = s.softmax(-1)
        out = p @ v
        ctx.save_for_backward(q, k, v, p, out)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, do):
        q, k, v, p, out = ctx.saved_tensors
        dv = p.transpose(-1, -2) @ do
        dp = do @ v.transpose(-1, -2)
        delta = (do * out).sum(-1, keepdim=True)  # = rowsum(p * dp)
        ds = p * (dp - delta) * ctx.scale
        return ds @ k, ds.transpose(-1, -2) @ q, dv, None, None
