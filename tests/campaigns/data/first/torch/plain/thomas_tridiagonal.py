import torch


def _solve(d, lo, up, rhs):
    n = d.shape[0]
    c, y = [], []
    for i in range(n):
        den = d[i] - (lo[i - 1] * c[i - 1] if i else 0)
        c.append(up[i] / den if i < n - 1 else None)
        y.append((rhs[i] - (lo[i - 1] * y[i - 1] if i else 0)) / den)
    x = [None] * n
    x[-1] = y[-1]
    for i in range(n - 2, -1, -1):
        x[i] = y[i] - c[i] * x[i + 1]
    return torch.stack(x)


class Tridiag(torch.autograd.Function):
    @staticmethod
    def forward(ctx, diag, lower, upper, rhs):
        x = _solve(diag, lower, upper, rhs)
        ctx.save_for_backward(diag, lower, upper, x)
        return x

    @staticmethod
    def backward(ctx, g):
        diag, lower, upper, x = ctx.saved_tensors
        lam = _solve(diag, upper, lower, g)
        return -lam * x, -lam[1:] * x[:-1], -lam[:-1] * x[1:], lam
