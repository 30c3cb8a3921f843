import torch
from torch.autograd import Function


class RMSNormFn(Function):
    """y = x / rms(x) * w over the last axis."""

    @staticmethod
    def forward(ctx, x, w, eps=1e-6):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, w, rstd)
        return x * rstd * w

    @staticmethod
    def backward(ctx, dy):
        x, w, rstd = ctx.saved_tensors
        xhat = x * rstd
        g = dy * w
        dx = rstd * (g - xhat * (g * xhat).mean(-1, keepdim=True))
        dw = (dy * xhat).reshape(-1, x.shape[-1]).sum(0)
        return dx, dw, None


class GroupNormFn(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, groups=1, eps=1e-5):
        n, c = x.shape[:2]
        xg = x.reshape(n, groups, -1)
        mu = xg.mean(-1, keepdim=True)
        var = xg.var(-1, unbiased=False, keepdim=True)
        rstd = (var + eps).rsqrt()
        xhat = ((xg - mu) * rstd).reshape(x.shape)
        shape = (1, c) + (1,) * (x.dim() - 2)
        ctx.save_for_backward(xhat, rstd, weight)
        ctx.groups, ctx.shape = groups, shape
        return xhat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, weight = ctx.saved_tensors
        n, c = dy.shape[:2]
        axes = [0, *list(range(2, dy.dim()))]
        dweight = (dy * xhat).sum(axes)
        dbias = dy.sum(axes)
        g = (dy * weight.view(ctx.shape)).reshape(n, ctx.groups, -1)
        h = xhat.reshape(n, ctx.groups, -1)
        dx = rstd * (
            g - g.reshape(n, c, -1).mean(-1).reshape(n, -1).mean(-1).view(n, 1, 1) - h * (g * h).mean(-1, keepdim=True)
        )
        return dx.reshape(dy.shape), dweight, dbias, None, None


class WeightNormFn(Function):
    """w = g * v / |v|, a norm for each output row."""

    @staticmethod
    def forward(v, g):
        norm = v.flatten(1).norm(dim=1)
        s = (g / norm).view(-1, *[1] * (v.dim() - 1))
        return v * s

    @staticmethod
    def setup_context(ctx, inputs, output):
        v, g = inputs
        ctx.save_for_backward(v, g)

    @staticmethod
    def backward(ctx, dw):
        v, g = ctx.saved_tensors
        vf, df = v.flatten(1), dw.flatten(1)
        norm = vf.norm(dim=1, keepdim=True)
        dot = (df * vf).sum(1, keepdim=True)
        dg = (dot / norm).squeeze(1)
        dv = g[:, None] / norm * df
        return dv.view_as(v), dg


class FusedAddRMSNorm(Function):
    """h = x + residual; y = rmsnorm(h) * (1 + w), as Gemma does. Returns y and h."""

    @staticmethod
    def forward(ctx, x, residual, w, eps=1e-6):
        h = x + residual
        r = torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(h, r, w)
        return h * r * (1 + w), h

    @staticmethod
    def backward(ctx, dy, dh):
        h, r, w = ctx.saved_tensors
        n = h.shape[-1]
        hn = h * r
        g = dy * (1 + w)
        dx = r * g - hn * r * (g * hn).sum(-1, keepdim=True) / n
        dx = dx + dh
        dw = (dy * hn).flatten(0, -2).sum(0) if h.dim() > 1 else dy * hn
        return dx, dx, dw, None


class L2Unit(Function):
    @staticmethod
    def forward(ctx, x, dim=-1, eps=1e-12):
        n = x.norm(dim=dim, keepdim=True).clamp_min(eps)
        y = x / n
        ctx.save_for_backward(y, n)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        y, n = ctx.saved_tensors
        return (g - y * (g * y).sum(-1, keepdim=True)) / n, None, None


class DyT(Function):
    """Dynamic tanh, the norm-free layer: y = w * tanh(alpha * x) + b."""

    @staticmethod
    def forward(ctx, x, alpha, w, b):
        t = torch.tanh(alpha * x)
        ctx.save_for_backward(x, alpha, w, t)
        return w * t + b

    @staticmethod
    def backward(ctx, dy):
        x, alpha, w, t = ctx.saved_tensors
        red = tuple(range(dy.dim() - 1))
        u = dy * w * (1 - t * t)
        dw = (dy * t).sum(red) if red else dy * t
        db = dy.sum(red) if red else dy
        return u * alpha, (u * x).sum().reshape(alpha.shape), dw, db
