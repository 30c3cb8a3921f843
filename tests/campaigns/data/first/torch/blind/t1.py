import torch
from torch.autograd import Function


class SquarePlus(Function):
    @staticmethod
    def forward(ctx, x, b=4.0):
        if b <= 0:
            raise ValueError("b must be positive")
        r = torch.sqrt(x * x + b)
        ctx.save_for_backward(x, r)
        return 0.5 * (x + r)

    @staticmethod
    def backward(ctx, g):
        x, r = ctx.saved_tensors
        return 0.5 * g * (1 + x / r), None


class TanhShrinkScaled(Function):
    @staticmethod
    def forward(ctx, x, alpha=1.0):
        t = torch.tanh(alpha * x)
        ctx.save_for_backward(t)
        ctx.alpha = alpha
        return x - t

    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return g * t * t, None


class HardRamp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.clamp(x + 2, 0, 2) / 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        d = torch.where(x > 0, torch.ones_like(x), torch.where(x < -2, torch.zeros_like(x), x + 1))
        return g * d


class LogCoshLoss(Function):
    @staticmethod
    def forward(ctx, pred, target, reduction="mean"):
        if pred.shape != target.shape:
            raise ValueError("pred and target differ in shape")
        if reduction not in ("mean", "sum", "none"):
            raise ValueError("reduction must be one of 'mean', 'sum', 'none'")
        d = pred - target
        ctx.save_for_backward(d)
        ctx.reduction = reduction
        loss = d.abs() + torch.nn.functional.softplus(-2 * d.abs()) - 0.6931471805599453
        if reduction == "mean":
            return loss.mean()
        if reduction == "sum":
            return loss.sum()
        return loss

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        dp = g * torch.tanh(d)
        if ctx.reduction == "mean":
            dp = dp / d.shape[0]
        return dp, -dp, None


class SoftExponential(Function):
    @staticmethod
    def forward(ctx, x, a=0.3):
        ctx.save_for_backward(x)
        ctx.a = a
        if a == 0:
            return x.clone()
        if a > 0:
            return torch.expm1(a * x) / a + a
        return -torch.log(1 - a * (x + a)) / a

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        a = ctx.a
        if a >= 0:
            return g * torch.exp(a * x), None
        return g / (1 - a * (x + a)), None


class Snake(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x, alpha)
        return x + torch.sin(alpha * x) ** 2 / alpha

    @staticmethod
    def backward(ctx, g):
        x, alpha = ctx.saved_tensors
        s = torch.sin(2 * alpha * x)
        dx = g * (1 + s)
        da = g * x * s / alpha
        return dx.sum_to_size(x.shape), da.sum_to_size(alpha.shape)


class GatedTanhUnit(Function):
    @staticmethod
    def forward(ctx, x):
        if x.dim() < 1 or x.shape[-1] % 2:
            raise ValueError("last axis must be even")
        a, b = x.chunk(2, dim=-1)
        t, s = torch.tanh(a), torch.sigmoid(b)
        ctx.save_for_backward(t, s)
        return t * s

    @staticmethod
    def backward(ctx, g):
        t, s = ctx.saved_tensors
        return torch.cat([g * s * (1 - t * t), g * t * s * (1 - s)], dim=-1)


class ChannelPReLU(Function):
    @staticmethod
    def forward(ctx, x, w):
        if x.dim() < 2 or w.dim() != 1 or w.shape[0] != x.shape[1]:
            raise ValueError("expected x (N, C, ...) and w (C,)")
        ctx.save_for_backward(x, w)
        wv = w.reshape([1, -1] + [1] * (x.dim() - 2))
        return torch.where(x > 0, x, wv * x)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        wv = w.reshape([1, -1] + [1] * (x.dim() - 2))
        dx = torch.where(x > 0, g, wv * g)
        dims = [i for i in range(x.dim()) if i != 1]
        dw = (g * torch.relu(-x)).sum(dim=dims)
        return dx, dw


class StarReLU(Function):
    @staticmethod
    def forward(ctx, x, s, b):
        if s.numel() != 1 or b.numel() != 1:
            raise ValueError("s and b are single numbers")
        r = torch.relu(x)
        ctx.save_for_backward(r, s, b)
        return s.reshape(()) * r * r + b.reshape(())

    @staticmethod
    def backward(ctx, g):
        r, s, b = ctx.saved_tensors
        return 2 * s.reshape(()) * r * g, (g * r * r).sum().reshape(s.shape), g.sum().reshape(b.shape)


class BentIdentity(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (torch.sqrt(x * x + 1) - 1) / 2 + x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x / torch.sqrt(x * x + 1) + 1)
