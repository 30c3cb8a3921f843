import math
import torch
import torch.nn.functional as F
from torch.autograd import Function


class SmoothedCE(Function):
    """Label-smoothed cross entropy over the last axis, mean over kept rows."""

    @staticmethod
    def forward(ctx, logits, target, smoothing=0.1, ignore_index=-100):
        if logits.dim() != 2 or target.shape != logits.shape[:1]:
            raise ValueError("logits (N, C), target (N,)")
        logp = torch.log_softmax(logits, dim=1)
        keep = target != ignore_index
        safe = torch.where(keep, target, torch.zeros_like(target))
        nll = -logp.gather(1, safe[:, None]).squeeze(1)
        uni = -logp.mean(1)
        loss = (1 - smoothing) * nll + smoothing * uni
        n = keep.sum().clamp(min=1)
        ctx.save_for_backward(logp, safe, keep)
        ctx.smoothing = smoothing
        ctx.n = n
        return (loss * keep).sum() / n

    @staticmethod
    def backward(ctx, g):
        logp, safe, keep = ctx.saved_tensors
        c = logp.shape[1]
        d = logp.exp()
        d = d - ctx.smoothing / c
        d = d.scatter_add(1, safe[:, None], torch.full_like(d[:, :1], -(1 - ctx.smoothing)))
        return g * d * keep[:, None] / ctx.n, None, None, None


class GNorm(Function):
    @staticmethod
    def forward(ctx, x, groups=2, eps=1e-5):
        n, c = x.shape[0], x.shape[1]
        if c % groups:
            raise ValueError("channels not divisible")
        v = x.reshape(n, groups, -1)
        mu = v.mean(-1, keepdim=True)
        var = v.var(-1, unbiased=False, keepdim=True)
        inv = (var + eps).rsqrt()
        xhat = (v - mu) * inv
        ctx.save_for_backward(xhat, inv)
        ctx.shape = x.shape
        return xhat.reshape(x.shape)

    @staticmethod
    def backward(ctx, dy):
        xhat, inv = ctx.saved_tensors
        g = dy.reshape(xhat.shape)
        dx = inv * (g - g.mean(-1, keepdim=True) - xhat * (g * xhat).mean(-1, keepdim=True))
        return dx.reshape(ctx.shape), None, None


class QuatRotate(Function):
    # q: (..., 4) as w, x, y, z (any length, normalised here), v: (..., 3), same leading axes
    @staticmethod
    def forward(ctx, q, v):
        assert q.shape[-1] == 4 and v.shape[-1] == 3 and q.shape[:-1] == v.shape[:-1]
        n = q.norm(dim=-1, keepdim=True)
        u = q / n
        w, r = u[..., :1], u[..., 1:]
        t = 2 * torch.cross(r, v, dim=-1)
        ctx.save_for_backward(u, n, v)
        return v + w * t + torch.cross(r, t, dim=-1)

    @staticmethod
    def backward(ctx, g):
        u, n, v = ctx.saved_tensors
        w, r = u[..., :1], u[..., 1:]
        c = lambda a, b: torch.cross(a, b, dim=-1)
        t = 2 * c(r, v)
        dw = (g * t).sum(-1, keepdim=True)
        # y = v + w t + r x t ;  g.(w dt) + g.(dr x t) + g.(r x dt)
        dt = w * g + c(g, r)
        dr = c(t, g)
        # t = 2 r x v
        dr = dr + 2 * c(v, dt)
        dv = g + 2 * c(dt, r)
        du = torch.cat([dw, dr], -1)
        dq = (du - u * (du * u).sum(-1, keepdim=True)) / n
        return dq, dv


class RMSScale(Function):
    @staticmethod
    def forward(ctx, x, weight, eps=1e-6):
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, r)
        return x * r * weight

    @staticmethod
    def backward(ctx, gy):
        x, weight, r = ctx.saved_tensors
        gw = (gy * x * r).reshape(-1, x.shape[-1]).sum(0)
        gh = gy * weight
        gx = r * gh - x * r ** 3 * (gh * x).sum(-1, keepdim=True) / x.shape[0]
        return gx, gw, None


class BagSum(Function):
    """weight (V, D), bags (B, L) of int64 -> (B, D)"""

    @staticmethod
    def forward(ctx, weight, bags):
        ctx.save_for_backward(bags)
        ctx.n_rows = weight.size(0)
        return weight[bags].sum(dim=1)

    @staticmethod
    def backward(ctx, grad_out):
        bags, = ctx.saved_tensors
        gw = grad_out.new_zeros(ctx.n_rows, grad_out.size(-1))
        for j in range(bags.size(1)):
            gw[bags[:, j]] += grad_out
        return gw, None


class LSE(Function):
    @staticmethod
    def forward(ctx, x, dim=-1, temperature=1.0):
        z = x / temperature
        m = z.amax(dim, keepdim=True)
        s = (z - m).exp().sum(dim, keepdim=True)
        y = (m + s.log())
        ctx.save_for_backward(z, y)
        ctx.t = temperature
        return temperature * y.squeeze(dim)

    @staticmethod
    def backward(ctx, gy):
        z, y = ctx.saved_tensors
        return gy.unsqueeze(-1) * (z - y).exp(), None, None
