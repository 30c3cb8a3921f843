import torch
import numpy as np


class SoftDTW(torch.autograd.Function):
    """Cuturi & Blondel: soft-min alignment cost of a (n, m) cost matrix."""

    @staticmethod
    def forward(ctx, D, gamma=1.0):
        n, m = D.shape
        d = D.detach().numpy()
        R = np.full((n + 2, m + 2), np.inf)
        R[0, 0] = 0.0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                r = -np.array([R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]]) / gamma
                mx = r.max()
                R[i, j] = d[i - 1, j - 1] - gamma * (mx + np.log(np.exp(r - mx).sum()))
        ctx.d, ctx.R, ctx.gamma = d, R, gamma
        return torch.as_tensor(R[n, m], dtype=D.dtype)

    @staticmethod
    def backward(ctx, g):
        n, m = ctx.d.shape
        D = np.zeros((n + 2, m + 2))
        D[1:n + 1, 1:m + 1] = ctx.d
        R = ctx.R.copy()
        R[:, m + 1] = -np.inf
        R[n + 1, :] = -np.inf
        R[n + 1, m + 1] = R[n, m]
        E = np.zeros((n + 2, m + 2))
        E[n + 1, m + 1] = 1
        for j in range(m, 0, -1):
            for i in range(n, 0, -1):
                a = np.exp((R[i + 1, j] - R[i, j] - D[i + 1, j]) / ctx.gamma)
                b = np.exp((R[i, j + 1] - R[i, j] - D[i, j + 1]) / ctx.gamma)
                c = np.exp((R[i + 1, j + 1] - R[i, j] - D[i + 1, j + 1]) / ctx.gamma)
                E[i, j] = a * E[i + 1, j] + b * E[i, j + 1] + c * E[i + 1, j + 1]
        return g * torch.as_tensor(E[1:n + 1, 1:m + 1]).to(g.dtype), None
