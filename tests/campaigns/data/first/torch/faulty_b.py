"""norms, reductions and a few weighted averages"""
import torch
import torch.nn.functional as F
from torch.autograd.function import Function, once_differentiable


class RMS(Function):
    @staticmethod
    def forward(ctx, x, gain, eps=1e-6):
        if gain.shape != x.shape[-1:]:
            raise ValueError("gain must be (x.shape[-1],)")
        rms = (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()
        ctx.save_for_backward(x, gain, rms)
        return x / rms * gain

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, gain, rms = ctx.saved_tensors
        n = x / rms
        gg = g * gain
        gx = (gg - n * (gg * n).sum(-1, keepdim=True)) / rms
        ggain = (g * n).reshape(-1, gain.shape[0]).sum(0)
        return gx, ggain, None


class FusedLayerNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps=1e-5):
        n = x.shape[-1]
        if weight.shape != (n,) or bias.shape != (n,):
            raise ValueError("affine parameters must have shape (%d,)" % n)
        mu = x.mean(-1, keepdim=True)
        xc = x - mu
        inv = torch.rsqrt(xc.pow(2).mean(-1, keepdim=True) + eps)
        xhat = xc * inv
        ctx.save_for_backward(xhat, inv, weight)
        return xhat * weight + bias

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        xhat, inv, weight = ctx.saved_tensors
        n = xhat.shape[-1]
        flat = dy.reshape(-1, n)
        dbias = flat.sum(0)
        dweight = (flat * xhat.reshape(-1, n)).sum(0)
        dxhat = dy
        dx = dxhat - dxhat.mean(-1, keepdim=True) - xhat * (dxhat * xhat).mean(-1, keepdim=True)
        return dx * inv, dweight, dbias, None


class Normalize(Function):
    """x / ||x||_2 along ``dim``"""

    @staticmethod
    def forward(ctx, x, dim=-1, eps=1e-12):
        n = x.norm(dim=dim, keepdim=True).clamp(min=eps)
        y = x / n
        ctx.save_for_backward(y, n)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        y, n = ctx.saved_tensors
        return (g - y * (y * g).sum(-1, keepdim=True)) / n, None, None


class LogSumExp2(Function):
    @staticmethod
    def forward(ctx, x, dim=-1, keepdim=False):
        m = x.amax(dim, keepdim=True)
        s = (x - m).exp().sum(dim, keepdim=True)
        ctx.save_for_backward(x, m, s)
        ctx.dim = dim
        ctx.keepdim = keepdim
        out = m + s.log()
        return out if keepdim else out.squeeze(dim)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, m, s = ctx.saved_tensors
        return grad_output * (x - m).exp() / s, None, None


class GroupNormFn(Function):
    @staticmethod
    def forward(ctx, x, num_groups, weight, bias, eps=1e-5):
        N, C = x.shape[:2]
        if C % num_groups or weight.shape != (C,) or bias.shape != (C,):
            raise ValueError("channels and groups do not fit")
        xg = x.reshape(N, num_groups, -1)
        mu = xg.mean(-1, keepdim=True)
        rstd = (xg.var(-1, unbiased=False, keepdim=True) + eps).rsqrt()
        xhat = ((xg - mu) * rstd).reshape(x.shape)
        ctx.save_for_backward(xhat, rstd, weight)
        ctx.G = num_groups
        cshape = [1, C] + [1] * (x.dim() - 2)
        return xhat * weight.reshape(cshape) + bias.reshape(cshape)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        xhat, rstd, weight = ctx.saved_tensors
        N, C = xhat.shape[:2]
        G = ctx.G
        cshape = [1, C] + [1] * (xhat.dim() - 2)
        red = [0] + list(range(2, xhat.dim()))
        dw = (dy * xhat).sum(red)
        db = dy.sum(red)
        h = xhat.reshape(N, G, -1)
        d = (dy * weight.reshape(cshape)).reshape(N, G, -1)
        m = C // G
        dx = rstd * (d - d.sum(-1, keepdim=True) / m - h * (d * h).sum(-1, keepdim=True) / m)
        return dx.reshape(xhat.shape), None, dw, db, None


def _unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            g = g.mean(i, keepdim=True)
    return g


class GammaCorrect(Function):
    """img ** gamma with broadcasting; img is clamped from below"""

    @staticmethod
    def forward(ctx, img, gamma, eps=1e-4):
        ctx.save_for_backward(img, gamma)
        ctx.eps = eps
        return img.clamp(min=eps) ** gamma

    @staticmethod
    def backward(ctx, g):
        img, gamma = ctx.saved_tensors
        base = img.clamp(min=ctx.eps)
        gi = gg = None
        if ctx.needs_input_grad[0]:
            gi = _unbroadcast(g * gamma * base ** (gamma - 1) * (img > ctx.eps), img.shape)
        if ctx.needs_input_grad[1]:
            gg = _unbroadcast(g * base**gamma * base.log(), gamma.shape)
        return gi, gg, None


class Whiten(Function):
    """Standardise every column over the batch."""

    _stats = {}

    @staticmethod
    def forward(ctx, x, eps=1e-5):
        mu = x.mean(0, keepdim=True)
        sd = (x.var(0, unbiased=False, keepdim=True) + eps).sqrt()
        Whiten._stats.setdefault(x.shape, (mu, sd))
        ctx.save_for_backward(x)
        return (x - mu) / sd

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        mu, sd = Whiten._stats[x.shape]
        y = (x - mu) / sd
        gx = (g - g.mean(0, keepdim=True) - y * (g * y).mean(0, keepdim=True)) / sd
        return gx, None


@torch.library.custom_op("firstset::weighted_mean", mutates_args=())
def weighted_mean(x: torch.Tensor, w: torch.Tensor, dim: int = -1) -> torch.Tensor:
    if x.shape != w.shape:
        raise RuntimeError("x and w must have the same shape")
    return (x * w).sum(dim) / w.sum(dim)


@weighted_mean.register_fake
def _(x, w, dim=-1):
    return (x * w).sum(dim)


def _wm_setup(ctx, inputs, output):
    x, w, dim = inputs
    ctx.dim = dim
    ctx.save_for_backward(x, w, output)


def _wm_backward(ctx, g):
    x, w, out = ctx.saved_tensors
    total = w.sum(ctx.dim, keepdim=True)
    g = g.unsqueeze(ctx.dim) / total
    return g * w, g * x, None


weighted_mean.register_autograd(_wm_backward, setup_context=_wm_setup)


@torch.library.custom_op("firstset::ce_loss", mutates_args=())
def ce_loss(logits: torch.Tensor, target: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    if logits.dim() != 2 or target.shape != logits.shape[:1]:
        raise RuntimeError("logits (N, C), target (N,)")
    nll = -logits.log_softmax(-1).gather(1, target[:, None]).squeeze(1)
    if reduction == "mean":
        return nll.mean()
    if reduction == "sum":
        return nll.sum()
    if reduction == "none":
        return nll
    raise ValueError(reduction)


@ce_loss.register_fake
def _(logits, target, reduction="mean"):
    return logits.new_empty(target.shape if reduction == "none" else ())


def _ce_setup(ctx, inputs, output):
    logits, target, ctx.reduction = inputs
    ctx.save_for_backward(logits, target)


def _ce_backward(ctx, g):
    logits, target = ctx.saved_tensors
    d = logits.softmax(-1) - F.one_hot(target, logits.shape[1])
    if ctx.reduction == "none":
        g = g[:, None]
    return g * d, None, None


ce_loss.register_autograd(_ce_backward, setup_context=_ce_setup)
