import torch
from torch.autograd.function import Function, once_differentiable


class RMSNormFunction(Function):
    @staticmethod
    def forward(ctx, x, weight, eps=1e-6):
        if weight.shape != x.shape[-1:]:
            raise ValueError(f"weight {tuple(weight.shape)} does not fit {tuple(x.shape)}")
        ctx.eps = eps
        ctx.save_for_backward(x, weight)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + ctx.eps)
        xhat = x * r
        wdy = dy * weight
        dx = r * (wdy - xhat * (wdy * xhat).mean(-1, keepdim=True))
        dw = (dy * xhat).reshape(-1, weight.numel()).sum(0)
        return dx, dw, None


class LayerNormFn(Function):
    """Layer norm over the last axis, optional bias, statistics kept for the backward pass."""

    @staticmethod
    def forward(ctx, x, weight, bias=None, eps=1e-5):
        n = x.size(-1)
        if weight.shape != (n,) or (bias is not None and bias.shape != (n,)):
            raise ValueError("bad affine shape")
        mean = x.mean(-1, keepdim=True)
        var = (x - mean).square().mean(-1, keepdim=True)
        rstd = (var + eps).rsqrt()
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.has_bias = bias is not None
        y = (x - mean) * rstd * weight
        return y if bias is None else y + bias

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        xhat = (x - mean) * rstd
        dx = dw = db = None
        if ctx.needs_input_grad[0]:
            wdy = dy * weight
            c1 = (xhat * wdy).mean(-1, keepdim=True)
            c2 = wdy.mean(-1, keepdim=True)
            dx = (wdy - xhat * c1 - c2) * rstd
        if ctx.needs_input_grad[1]:
            dw = (dy * xhat).reshape(-1, x.size(-1)).sum(0)
        if ctx.has_bias and ctx.needs_input_grad[2]:
            db = dy.reshape(-1, x.size(-1)).sum(0)
        return dx, dw, db, None


class L2Normalize(Function):
    @staticmethod
    def forward(ctx, x, dim=-1, eps=1e-12):
        ctx.save_for_backward(x)
        ctx.dim, ctx.eps = dim, eps
        n = x.pow(2).sum(dim, keepdim=True).sqrt()
        return x / n.clamp(min=eps)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        n = x.pow(2).sum(ctx.dim, keepdim=True).sqrt()
        m = n.clamp(min=ctx.eps)
        radial = x * (x * g).sum(ctx.dim, keepdim=True) / m**3
        return g / m - torch.where(n > ctx.eps, radial, torch.zeros_like(radial)), None, None


class LSE(Function):
    @staticmethod
    def forward(ctx, x, dim=-1, keepdim=False):
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        dims = sorted(d % x.dim() for d in dims)
        if not dims:
            raise ValueError("need at least one dimension")
        out = torch.logsumexp(x, dims, keepdim=keepdim)
        ctx.save_for_backward(x, out)
        ctx.dims, ctx.keepdim = dims, keepdim
        return out

    @staticmethod
    def backward(ctx, g):
        x, out = ctx.saved_tensors
        if not ctx.keepdim:
            for d in ctx.dims:
                g = g.unsqueeze(d)
                out = out.unsqueeze(d)
        return g * (x - out).exp(), None, None


class MeanVar(Function):
    """Returns (mean, var) in one go."""

    @staticmethod
    def forward(ctx, x, dim=None, unbiased=True, keepdim=False):
        if dim is None:
            dims = list(range(x.dim()))
        else:
            dims = sorted({d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)})
        n = 1
        for d in dims:
            n *= x.shape[d]
        den = n - 1 if unbiased else n
        if not dims or den < 1:
            raise ValueError("not enough elements")
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        ctx.dims, ctx.n, ctx.den, ctx.keepdim = dims, n, den, keepdim
        mu = x.mean(dims, keepdim=True)
        var = ((x - mu) ** 2).sum(dims, keepdim=True) / den
        if keepdim:
            return mu, var
        shape = [s for d, s in enumerate(x.shape) if d not in dims]
        return mu.reshape(shape), var.reshape(shape)

    @staticmethod
    def backward(ctx, g_mean, g_var):
        (x,) = ctx.saved_tensors
        out = None
        full = [1 if d in ctx.dims else s for d, s in enumerate(x.shape)]
        if g_mean is not None:
            out = (g_mean.reshape(full) / ctx.n).expand(x.shape)
        if g_var is not None:
            c = x - x.mean(ctx.dims, keepdim=True)
            t = g_var.reshape(full) * 2 * c / ctx.den
            out = t if out is None else out + t
        return out, None, None, None


class MyReLU(Function):
    """In-place leaky version (saves a buffer)."""

    @staticmethod
    def forward(ctx, x, slope=0.01):
        if slope <= 0:
            raise ValueError("slope must be > 0 to recover the sign from the output")
        x.mul_(torch.where(x > 0, 1.0, slope).to(x.dtype))
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.slope = slope
        return x

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, g, g * ctx.slope), None


class KMaxPool(Function):
    @staticmethod
    def forward(x, k, dim=-1):
        v, i = x.topk(k, dim=dim)
        return v, i

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, k, dim = inputs
        v, i = output
        ctx.mark_non_differentiable(i)
        ctx.save_for_backward(i)
        ctx.set_materialize_grads(False)
        ctx.shape = x.shape
        ctx.dim = dim

    @staticmethod
    def backward(ctx, gv, gi):
        if gv is None:
            return None, None, None
        (i,) = ctx.saved_tensors
        return gv.new_zeros(ctx.shape).scatter(ctx.dim, i, gv), None, None


@torch.library.custom_op("firstset::gated_rms_norm", mutates_args=())
def gated_rms_norm(x: torch.Tensor, z: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """RMSNorm(x * silu(z)) * weight"""
    if x.shape != z.shape or weight.shape != x.shape[-1:]:
        raise RuntimeError("shape mismatch")
    u = x * z * torch.sigmoid(z)
    return u * torch.rsqrt(u.square().mean(-1, keepdim=True) + eps) * weight


@gated_rms_norm.register_fake
def _(x, z, weight, eps=1e-5):
    return x.new_empty(x.shape)


def _setup(ctx, inputs, output):
    x, z, weight, eps = inputs
    ctx.save_for_backward(x, z, weight)
    ctx.eps = eps


def _bwd(ctx, dout):
    x, z, weight = ctx.saved_tensors
    sig = torch.sigmoid(z)
    silu = z * sig
    u = x * silu
    r = torch.rsqrt(u.square().mean(-1, keepdim=True) + ctx.eps)
    uh = u * r
    dw = (dout * uh).flatten(0, -2).sum(0) if x.dim() > 1 else dout * uh
    t = dout * weight
    du = r * (t - uh * (t * uh).mean(-1, keepdim=True))
    return du * silu, du * x * sig * (1 + z * (1 - sig)), dw, None


gated_rms_norm.register_autograd(_bwd, setup_context=_setup)
