import torch
from torch.autograd import Function


class RMSNorm(Function):
    @staticmethod
    def forward(ctx, x, w, eps=1e-6):
        if x.dim() < 1 or w.shape != x.shape[-1:]:
            raise ValueError("w must have the size of the last axis")
        inv = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, w, inv)
        return x * inv * w

    @staticmethod
    def backward(ctx, g):
        x, w, inv = ctx.saved_tensors
        gw = g * w
        dx = inv * (gw - x * inv * inv * (gw * x).mean(-1, keepdim=True))
        dw = (g * x * inv).reshape(-1, x.shape[-1]).sum(0)
        return dx, dw, None


class ScaleOnlyLayerNorm(Function):
    @staticmethod
    def forward(ctx, x, w, eps=1e-5):
        if x.dim() < 1 or w.shape != x.shape[-1:]:
            raise ValueError("w must have the size of the last axis")
        mu = x.mean(-1, keepdim=True)
        inv = torch.rsqrt(((x - mu) ** 2).mean(-1, keepdim=True) + eps)
        xh = (x - mu) * inv
        ctx.save_for_backward(xh, w, inv)
        return xh * w

    @staticmethod
    def backward(ctx, g):
        xh, w, inv = ctx.saved_tensors
        gw = g * w
        dx = inv * (gw - xh * (gw * xh).mean(-1, keepdim=True))
        dw = (g * xh).reshape(-1, xh.shape[-1]).sum(0)
        return dx, dw, None


class GroupStandardize(Function):
    @staticmethod
    def forward(ctx, x, groups=1, eps=1e-5):
        if x.dim() != 3:
            raise ValueError("expected (N, C, L)")
        n, c, l = x.shape
        if groups < 1 or c % groups:
            raise ValueError("channels must be divisible by groups")
        y = x.reshape(n, groups, -1)
        mu = y.mean(-1, keepdim=True)
        inv = torch.rsqrt(((y - mu) ** 2).mean(-1, keepdim=True) + eps)
        xh = (y - mu) * inv
        ctx.save_for_backward(xh, inv)
        return xh.reshape(n, c, l)

    @staticmethod
    def backward(ctx, g):
        xh, inv = ctx.saved_tensors
        gy = g.reshape(xh.shape)
        d = inv * (gy - gy.mean(-1, keepdim=True) - xh * (gy * xh).mean(-1, keepdim=True))
        return d.reshape(g.shape), None, None


class UnitNormalize(Function):
    @staticmethod
    def forward(ctx, x, dim=-1, eps=1e-8):
        n = torch.sqrt((x * x).sum(dim, keepdim=True) + eps)
        y = x / n
        ctx.save_for_backward(y, n)
        return y

    @staticmethod
    def backward(ctx, g):
        y, n = ctx.saved_tensors
        return (g - y * (g * y).sum(-1, keepdim=True)) / n, None, None


class DotAttention(Function):
    @staticmethod
    def forward(ctx, q, k, v):
        if q.dim() != 3 or k.dim() != 3 or v.dim() != 3:
            raise ValueError("expected (B, L, D)")
        if q.shape[0] != k.shape[0] or k.shape[:2] != v.shape[:2] or q.shape[2] != k.shape[2]:
            raise ValueError("q, k and v do not fit")
        scale = q.shape[2] ** -0.5
        a = torch.softmax(q @ k.transpose(1, 2) * scale, dim=-1)
        ctx.save_for_backward(q, k, v, a)
        ctx.scale = scale
        return a @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, a = ctx.saved_tensors
        dv = a.transpose(1, 2) @ g
        da = g @ v.transpose(1, 2)
        ds = a * (da - (da * a).sum(-1, keepdim=True)) * ctx.scale
        return ds @ k, ds.transpose(1, 2) @ q, dv


class CausalSoftmax(Function):
    @staticmethod
    def forward(ctx, s, temperature=1.0):
        if s.dim() < 2 or s.shape[-1] != s.shape[-2]:
            raise ValueError("expected square scores")
        l = s.shape[-1]
        mask = torch.ones(l, l, dtype=torch.bool).tril()
        y = torch.softmax((s / temperature).masked_fill(~mask, float("-inf")), dim=-1)
        ctx.save_for_backward(y)
        ctx.temperature = temperature
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True)) * ctx.temperature, None


class RotaryHalf(Function):
    @staticmethod
    def forward(ctx, x, pos, base=100.0):
        if x.dim() != 2 or x.shape[1] % 2 or pos.shape != x.shape[:1]:
            raise ValueError("expected x (L, D) with an even D and pos (L,)")
        h = x.shape[1] // 2
        inv = base ** (-torch.arange(h, dtype=x.dtype) / max(h, 1))
        ang = pos.to(x.dtype).unsqueeze(1) * inv
        c, s = torch.cos(ang), torch.sin(ang)
        ctx.save_for_backward(c, s)
        a, b = x[:, :h], x[:, h:]
        return torch.cat([a * c - b * s, a * s + b * c], dim=1)

    @staticmethod
    def backward(ctx, g):
        c, s = ctx.saved_tensors
        h = c.shape[1]
        a, b = g[:, :h], g[:, h:]
        return torch.cat([a * c - b * s, a * s + b * c], dim=1), None, None


class LinearDistanceBias(Function):
    @staticmethod
    def forward(ctx, scores, slope):
        if scores.dim() != 3 or slope.shape != scores.shape[:1]:
            raise ValueError("expected scores (H, Lq, Lk) and slope (H,)")
        i = torch.arange(scores.shape[1], dtype=scores.dtype)
        j = torch.arange(scores.shape[2], dtype=scores.dtype)
        dist = (i[:, None] - j[None, :]).abs()
        ctx.save_for_backward(dist)
        return scores - slope[:, None, None] * dist

    @staticmethod
    def backward(ctx, g):
        (dist,) = ctx.saved_tensors
        return g, -(g * dist).sum((1, 2))


class WeightNormRows(Function):
    @staticmethod
    def forward(ctx, v, scale):
        if v.dim() != 2 or scale.shape != v.shape[:1]:
            raise ValueError("expected v (O, I) and scale (O,)")
        n = v.norm(dim=1, keepdim=True)
        ctx.save_for_backward(v, scale, n)
        return scale[:, None] * v / n

    @staticmethod
    def backward(ctx, g):
        v, scale, n = ctx.saved_tensors
        dv = scale[:, None] * g / n
        ds = (g * v / n).sum(1)
        return dv, ds


class SpreadLast(Function):
    @staticmethod
    def forward(ctx, x, unbiased=False):
        n = x.shape[-1]
        if n < 2:
            raise ValueError("needs two samples at least")
        d = x - x.mean(-1, keepdim=True)
        v = (d * d).sum(-1) / (n - 1 if unbiased else n)
        s = torch.sqrt(v + 1e-9)
        ctx.save_for_backward(d, s)
        ctx.unbiased = unbiased
        return s

    @staticmethod
    def backward(ctx, g):
        d, s = ctx.saved_tensors
        return (g / s).unsqueeze(-1) * d / d.shape[-1], None
