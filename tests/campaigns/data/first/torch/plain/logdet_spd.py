import torch


class LogDetSPD(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A, jitter=0.0):
        S = 0.5 * (A + A.T)
        L = torch.linalg.cholesky(S + jitter * torch.eye(A.shape[0], dtype=A.dtype))
        ctx.save_for_backward(L)
        return 2 * L.diagonal().log().sum()

    @staticmethod
    def backward(ctx, g):
        L, = ctx.saved_tensors
        return g * torch.cholesky_inverse(L), None
