import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Inv(Function):
    @staticmethod
    def forward(ctx, A):
        Ai = torch.linalg.inv(A)
        ctx.save_for_backward(Ai)
        return Ai

    @staticmethod
    def backward(ctx, g):
        (Ai,) = ctx.saved_tensors
        return -(Ai @ g @ Ai)


class SparseSoftmax(Function):
    """Euclidean projection onto the simplex along dim"""

    @staticmethod
    def forward(ctx, x, dim=-1):
        xs = x.transpose(dim, -1)
        n = xs.shape[-1]
        z = xs.sort(-1, descending=True).values
        k = torch.arange(1, n + 1, dtype=x.dtype, device=x.device)
        cs = z.cumsum(-1)
        rho = (1 + k * z > cs).sum(-1, keepdim=True)
        tau = (cs.gather(-1, rho - 1) - 1) / rho
        p = torch.relu(xs - tau).transpose(dim, -1)
        ctx.save_for_backward(p)
        ctx.dim = dim
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        on = (p > 0).to(g.dtype)
        mean = (g * on).mean(ctx.dim, keepdim=True)
        return on * (g - mean), None


class F3(Function):
    """log|det A|"""

    @staticmethod
    def forward(A):
        return torch.linalg.slogdet(A).logabsdet

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (A,) = ctx.saved_tensors
        return g[..., None, None] * torch.linalg.inv(A)


class AngleBetween(Function):
    """Angle in radians between paired vectors."""

    @staticmethod
    def forward(ctx, a, b, eps=1e-7):
        if a.shape != b.shape:
            raise ValueError("a and b must be paired")
        c = (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))
        c = c.clamp(-1 + eps, 1 - eps)
        ctx.save_for_backward(a, b)
        ctx.eps = eps
        return torch.acos(c)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        na, nb = a.norm(dim=-1, keepdim=True), b.norm(dim=-1, keepdim=True)
        c = (a * b).sum(-1, keepdim=True) / (na * nb)
        inside = c.abs() < 1 - ctx.eps
        lim = c.clamp(-1 + ctx.eps, 1 - ctx.eps)
        gc = g.unsqueeze(-1) / torch.sqrt(1 - lim * lim) * inside
        ga = gc * (b / (na * nb) - c * a / na**2)
        gb = gc * (a / (na * nb) - c * b / nb**2)
        return ga, gb, None


class J0(Function):
    """Bessel function of the first kind, order zero"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.special.bessel_j0(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * torch.special.bessel_j1(x.abs())


class EulerStep(Function):
    """Semi-implicit Euler step of a damped oscillator: returns (x', v')."""

    @staticmethod
    def forward(x, v, k=1.0, c=0.1, dt=0.05):
        if x.shape != v.shape:
            raise ValueError("state shapes differ")
        v1 = v + dt * (-k * x - c * v)
        x1 = x + dt * v1
        return x1, v1

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, _, ctx.k, ctx.c, ctx.dt = inputs

    @staticmethod
    def backward(ctx, gx1, gv1):
        k, c, dt = ctx.k, ctx.c, ctx.dt
        gv = gv1
        return gx1 - dt * k * gv, gv * (1 - dt * c), None, None, None


class AddCMul(Function):
    """c + value * a * b, saving a buffer"""

    @staticmethod
    def forward(ctx, c, a, b, value=1.0):
        if not (a.shape == b.shape == c.shape):
            raise ValueError("a, b and c must have one shape")
        ctx.save_for_backward(a, b)
        ctx.value = value
        return c + value * a * b

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        gc = grad_output.clone()
        grad_output = grad_output * ctx.value
        ga = grad_output.mul_(b)
        gb = grad_output * a
        return gc, ga, gb, None


@torch.library.custom_op("firstset::bilinear", mutates_args=())
def bilinear(x: torch.Tensor, W: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x_b^T W y_b for every row b"""
    if x.dim() != 2 or y.dim() != 2 or x.shape[0] != y.shape[0] or W.shape != (x.shape[1], y.shape[1]):
        raise RuntimeError("x (B, M), W (M, N), y (B, N)")
    return torch.einsum("bm,mn,bn->b", x, W, y)


@bilinear.register_fake
def _(x, W, y):
    return x.new_empty(x.shape[0])


def _setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, g):
    x, W, y = ctx.saved_tensors
    gx = torch.einsum("b,mn,bn->bm", g, W, y)
    gW = torch.einsum("b,bm,bn->nm", g, x, y)
    gy = torch.einsum("b,bm,mn->bn", g, x, W)
    return gx, gW, gy


bilinear.register_autograd(_backward, setup_context=_setup)
