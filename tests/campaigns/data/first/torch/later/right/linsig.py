import torch
import torch.nn.functional as F


class CausalDW(torch.autograd.Function):
    """Depthwise causal convolution: x (B, C, L), w (C, K), b (C)."""

    @staticmethod
    def forward(ctx, x, w, b):
        k = w.shape[1]
        ctx.save_for_backward(x, w)
        return F.conv1d(F.pad(x, (k - 1, 0)), w[:, None], b, groups=x.shape[1])

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        k = w.shape[1]
        n = x.shape[2]
        xp = F.pad(x, (k - 1, 0))
        gp = F.pad(g, (0, k - 1))
        dx = F.conv1d(gp, w.flip(1)[:, None], groups=x.shape[1])
        dw = torch.stack([(xp[:, :, j : j + n] * g).sum((0, 2)) for j in range(k)], 1)
        return dx, dw, g.sum((0, 2))


class CholeskyFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        L = torch.linalg.cholesky((a + a.mT) / 2)
        ctx.save_for_backward(L)
        return L

    @staticmethod
    def backward(ctx, g):
        (L,) = ctx.saved_tensors
        phi = (L.mT @ g).tril()
        phi = phi - 0.5 * torch.diag_embed(torch.diagonal(phi, dim1=-2, dim2=-1))
        s = torch.linalg.solve_triangular(L.mT, phi, upper=True)
        s = torch.linalg.solve_triangular(L, s, upper=False, left=False)
        return (s + s.mT) / 2


class SolveFn(torch.autograd.Function):
    @staticmethod
    def forward(A, b):
        return torch.linalg.solve(A, b)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, g):
        A, x = ctx.saved_tensors
        u = torch.linalg.solve(A.mT, g)
        return -u @ x.mT, u


class LogAbsDet(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A):
        inv = torch.linalg.inv(A)
        ctx.save_for_backward(inv)
        return torch.linalg.slogdet(A)[1]

    @staticmethod
    def backward(ctx, g):
        (inv,) = ctx.saved_tensors
        return g[..., None, None] * inv.mT
