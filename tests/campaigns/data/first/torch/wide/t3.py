import torch
from torch import Tensor


@torch.library.custom_op("fc11::sqdist", mutates_args=())
def sqdist(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, None, :] - b[None, :, :]).pow(2).sum(-1)


@sqdist.register_fake
def _(a, b):
    return a.new_empty(a.shape[0], b.shape[0])


def _sq_setup(ctx, inputs, output):
    a, b = inputs
    ctx.save_for_backward(a, b)


def _sq_bwd(ctx, g):
    a, b = ctx.saved_tensors
    ga = 2 * (g.sum(1, keepdim=True) * a - g @ b)
    gb = 2 * (g.sum(0)[:, None] * b - g.t() @ a)
    return ga, gb


sqdist.register_autograd(_sq_bwd, setup_context=_sq_setup)


@torch.library.custom_op("fc11::wmean", mutates_args=())
def wmean(x: Tensor, w: Tensor) -> Tensor:
    return (x * w).sum(-1) / w.sum(-1)


@wmean.register_fake
def _(x, w):
    return x.new_empty(x.shape[:-1])


def _wm_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _wm_bwd(ctx, g):
    x, w = ctx.saved_tensors
    s = w.sum(-1, keepdim=True)
    g = g.unsqueeze(-1)
    return g * w / s, g * x / s


wmean.register_autograd(_wm_bwd, setup_context=_wm_setup)


class RotaryHalf(torch.autograd.Function):
    """GPT-NeoX style. x (..., S, D); cos, sin (S, D/2), constants."""

    @staticmethod
    def forward(x, cos, sin):
        if x.shape[-1] % 2 or cos.shape != (x.shape[-2], x.shape[-1] // 2) or sin.shape != cos.shape:
            raise RuntimeError("rotary: bad shapes")
        x1, x2 = x.chunk(2, -1)
        return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, cos, sin = inputs
        ctx.save_for_backward(cos, sin)

    @staticmethod
    def backward(ctx, dy):
        cos, sin = ctx.saved_tensors
        d1, d2 = dy.chunk(2, -1)
        return torch.cat([d1 * cos + d2 * sin, d2 * cos - d1 * sin], -1), None, None


class UpLinear1d(torch.autograd.Function):
    # align_corners=False linear resize of the last axis to `size`
    @staticmethod
    def _coords(n, size, dtype):
        src = (torch.arange(size, dtype=dtype) + 0.5) * (n / size) - 0.5
        src = src.clamp(0, n - 1)
        i0 = src.floor().long()
        i1 = (i0 + 1).clamp(max=n - 1)
        return i0, i1, src - i0

    @staticmethod
    def forward(ctx, x, size=7):
        i0, i1, f = UpLinear1d._coords(x.shape[-1], size, x.dtype)
        ctx.save_for_backward(i0, i1, f)
        ctx.n = x.shape[-1]
        return x[..., i0] * (1 - f) + x[..., i1] * f

    @staticmethod
    def backward(ctx, g):
        i0, i1, f = ctx.saved_tensors
        dx = g.new_zeros(g.shape[:-1] + (ctx.n,))
        dx.index_add_(-1, i0, g * (1 - f))
        dx.index_add_(-1, i1, g * f)
        return dx, None


class PhaseOf(torch.autograd.Function):
    """angle of a complex tensor"""

    @staticmethod
    def forward(ctx, z):
        if not z.is_complex():
            raise TypeError("complex input expected")
        ctx.save_for_backward(z)
        return torch.atan2(z.imag, z.real)

    @staticmethod
    def backward(ctx, g):
        z, = ctx.saved_tensors
        r2 = z.real ** 2 + z.imag ** 2
        return torch.complex(g * z.imag / r2, g * z.real / r2)


class MagSquaredWindowed(torch.autograd.Function):
    """power spectrum of windowed frames"""

    @staticmethod
    def forward(ctx, frames, window):
        if frames.shape[-1] != window.shape[-1] or window.dim() != 1:
            raise ValueError("window length")
        spec = torch.fft.rfft(frames * window, dim=-1)
        ctx.save_for_backward(frames, window, spec)
        return spec.real ** 2 + spec.imag ** 2

    @staticmethod
    def backward(ctx, g):
        frames, window, spec = ctx.saved_tensors
        n = frames.shape[-1]
        full = torch.zeros(frames.shape, dtype=spec.dtype)
        full[..., : spec.shape[-1]] = spec * g
        # adjoint of rfft (real input): Re( sum_k conj(e^{-i..}) S_k )
        dxw = 2 * torch.fft.ifft(full, dim=-1).real * n
        dw = (dxw * frames).reshape(-1, n).sum(0)
        return dxw * window, dw
