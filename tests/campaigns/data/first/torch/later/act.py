import torch
import torch.nn.functional as F


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return F.silu(a) * b

    @staticmethod
    def backward(ctx, dc):
        a, b = ctx.saved_tensors
        sig = torch.sigmoid(a)
        silu = a * sig
        da = dc * b * (silu * (1 - sig) + sig)
        return da, dc * silu


class GeGLU(torch.autograd.Function):
    """Packed gate and value, tanh approximation."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        g, v = x.chunk(2, dim=-1)
        return F.gelu(g, approximate="tanh") * v

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        g, v = x.chunk(2, dim=-1)
        k = 0.7978845608028654
        t = torch.tanh(k * (g + 0.044715 * g**3))
        gelu = 0.5 * g * (1 + t)
        dgelu = 0.5 * (1 + t) + 0.5 * g * (1 - t * t) * k * (1 + 0.044715 * g**2)
        return torch.cat([dy * v * dgelu, dy * gelu], dim=-1)


class Snake(torch.autograd.Function):
    """x + sin(a x)^2 / a with one a for each channel (axis 1)."""

    @staticmethod
    def forward(ctx, x, a):
        ctx.save_for_backward(x, a)
        aa = a.reshape(1, -1, *([1] * (x.ndim - 2)))
        return x + torch.sin(aa * x) ** 2 / aa

    @staticmethod
    def backward(ctx, g):
        x, a = ctx.saved_tensors
        aa = a.reshape(1, -1, *([1] * (x.ndim - 2)))
        s2 = torch.sin(2 * aa * x)
        dx = g * (1 + s2)
        da = g * (x * s2 / aa - torch.sin(aa * x) ** 2 / aa**2)
        return dx, da.sum([i for i in range(x.ndim) if i != 1])


class ChannelPReLU(torch.autograd.Function):
    @staticmethod
    def forward(x, w):
        ww = w.view(-1, *([1] * (x.dim() - 2)))
        return torch.where(x > 0, x, ww * x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        ww = w.view(-1, *([1] * (x.dim() - 2)))
        dx = torch.where(x > 0, g, g * ww)
        dw = x * g
        return dx, dw.transpose(0, 1).flatten(1).sum(1)


class XIELU(torch.autograd.Function):
    """a x^2 + b x right of zero, c (exp(x) - 1 - x) + b x left of it."""

    @staticmethod
    def forward(ctx, x, a, c, b=0.5):
        ctx.save_for_backward(x, a, c)
        ctx.b = b
        return torch.where(x > 0, a * x * x + b * x, c * (torch.expm1(x) - x) + b * x)

    @staticmethod
    def backward(ctx, g):
        x, a, c = ctx.saved_tensors
        pos = x > 0
        dx = torch.where(pos, 2 * a * x, c * torch.expm1(x)) + ctx.b
        da = (g * x * x)[pos].sum()
        dc = (g * (torch.expm1(x) - x))[~pos].sum()
        return g * dx, da.reshape(a.shape), dc.reshape(c.shape), None
