import math

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class MatInverse(Function):
    @staticmethod
    def forward(A):
        return torch.linalg.inv(A)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, G):
        (Y,) = ctx.saved_tensors
        return -Y.mT @ G @ Y.mT


class CholeskyFn(Function):
    """Lower Cholesky factor of a symmetric positive definite matrix (Murray 2016)."""

    @staticmethod
    def forward(ctx, A):
        L = torch.linalg.cholesky(A)
        ctx.save_for_backward(L)
        return L

    @staticmethod
    @once_differentiable
    def backward(ctx, Lbar):
        (L,) = ctx.saved_tensors
        P = (L.mT @ Lbar).tril()
        P.diagonal(dim1=-2, dim2=-1).mul_(0.5)
        S = torch.linalg.solve_triangular(L.mT, P, upper=True)
        S = torch.linalg.solve_triangular(L.mT, S.mT, upper=True).mT
        return 0.5 * (S + S.mT)


class QuatRotate(Function):
    """Rotate vectors v by quaternions q = (w, x, y, z)."""

    @staticmethod
    def forward(q, v):
        if q.shape[-1] != 4 or v.shape[-1] != 3 or q.shape[:-1] != v.shape[:-1]:
            raise ValueError("q (..., 4), v (..., 3)")
        w, u = q[..., :1], q[..., 1:]
        t = 2 * torch.linalg.cross(u, v)
        return v + w * t + torch.linalg.cross(u, t)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        q, v = ctx.saved_tensors
        w, u = q[..., :1], q[..., 1:]
        cross = torch.linalg.cross
        t = 2 * cross(u, v)
        gw = (g * t).sum(-1, keepdim=True)
        gt = w * g + cross(g, u)
        gu = cross(t, g) + 2 * cross(v, gt)
        gv = g + 2 * cross(gt, u)
        return torch.cat([gw, gu], -1), gv


class PoincareDistance(Function):
    @staticmethod
    def forward(ctx, u, v, eps=1e-5):
        if u.shape != v.shape:
            raise ValueError("u and v must have equal shapes")
        ctx.save_for_backward(u, v)
        ctx.eps = eps
        a = (1 - u.square().sum(-1)).clamp(min=eps)
        b = (1 - v.square().sum(-1)).clamp(min=eps)
        z = 2 * (u - v).square().sum(-1) / (a * b)
        return torch.log1p(z + torch.sqrt(z * (z + 2)))

    @staticmethod
    def backward(ctx, g):
        u, v = ctx.saved_tensors
        eps = ctx.eps
        ra = 1 - u.square().sum(-1, keepdim=True)
        rb = 1 - v.square().sum(-1, keepdim=True)
        a, b = ra.clamp(min=eps), rb.clamp(min=eps)
        d = u - v
        sq = d.square().sum(-1, keepdim=True)
        z = 2 * sq / (a * b)
        root = torch.sqrt(z * (z + 2))
        gz = torch.where(sq > 0, g.unsqueeze(-1) / root.clamp(min=1e-300), torch.zeros_like(root))
        base = gz * 4 * d / (a * b)
        gu = base + gz * z / a * 2 * u * (ra > eps)
        gv = -base + gz * z / b * 2 * v * (rb > eps)
        return gu, gv, None


class LogNdtr(Function):
    @staticmethod
    def forward(x):
        return torch.special.log_ndtr(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * torch.exp(-0.5 * x * x - y) / math.sqrt(2 * math.pi)


class Spmax(Function):
    """Drop-in replacement for softmax with exact zeros (Martins & Astudillo)."""

    @staticmethod
    def forward(ctx, input, dim=-1):
        z, _ = input.sort(dim=dim, descending=True)
        n = input.shape[dim]
        k = torch.arange(1, n + 1, device=input.device, dtype=input.dtype)
        view = [1] * input.dim()
        view[dim] = n
        k = k.reshape(view)
        cs = z.cumsum(dim)
        size = (1 + k * z > cs).sum(dim, keepdim=True)
        tau = (cs.gather(dim, size - 1) - 1) / size.to(input.dtype)
        out = (input - tau).clamp(min=0)
        ctx.dim = dim
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (out,) = ctx.saved_tensors
        supp = (out > 0).to(grad_output.dtype)
        m = (grad_output * supp).sum(ctx.dim, keepdim=True) / supp.sum(ctx.dim, keepdim=True)
        return supp * (grad_output - m), None


class LJ(Function):
    """Total Lennard-Jones energy of N particles, optional cubic periodic box."""

    @staticmethod
    def _pairs(pos, box):
        i, j = torch.triu_indices(len(pos), len(pos), 1, device=pos.device)
        d = pos[i] - pos[j]
        if box is not None:
            d = d - box * torch.round(d / box)
        return i, j, d

    @staticmethod
    def forward(ctx, pos, eps=1.0, sigma=1.0, box=None):
        if pos.dim() != 2:
            raise ValueError("pos must be (N, dim)")
        i, j, d = LJ._pairs(pos, box)
        s6 = (sigma**2 / d.square().sum(-1)) ** 3
        ctx.save_for_backward(pos)
        ctx.p = eps, sigma, box
        return (4 * eps * (s6 * s6 - s6)).sum()

    @staticmethod
    def backward(ctx, g):
        (pos,) = ctx.saved_tensors
        eps, sigma, box = ctx.p
        i, j, d = LJ._pairs(pos, box)
        r2 = d.square().sum(-1, keepdim=True)
        s6 = (sigma**2 / r2) ** 3
        f = g * 4 * eps * (6 * s6 - 12 * s6 * s6) / r2 * d
        out = torch.zeros_like(pos).index_add(0, i, f).index_add(0, j, -f)
        return out, None, None, None


@torch.library.custom_op("firstset::bilinear_score", mutates_args=())
def bilinear_score(x: torch.Tensor, W: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.dim() != 2 or y.dim() != 2 or x.shape[0] != y.shape[0] or W.shape != (x.shape[1], y.shape[1]):
        raise RuntimeError("x (B, M), W (M, N), y (B, N)")
    return ((x @ W) * y).sum(-1)


@bilinear_score.register_fake
def _(x, W, y):
    return x.new_empty(x.shape[0])


def _bl_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _bl_bwd(ctx, g):
    x, W, y = ctx.saved_tensors
    gx = gW = gy = None
    g = g.unsqueeze(1)
    if ctx.needs_input_grad[0]:
        gx = g * (y @ W.t())
    if ctx.needs_input_grad[1]:
        gW = x.t() @ (g * y)
    if ctx.needs_input_grad[2]:
        gy = g * (x @ W)
    return gx, gW, gy


bilinear_score.register_autograd(_bl_bwd, setup_context=_bl_setup)
