import torch


class InvQuad(torch.autograd.Function):
    """b^T K^{-1} b for symmetric positive definite K (only its symmetric part is used).

    K: [..., n, n];  b: [..., n], same batch shape.
    """

    @staticmethod
    def forward(ctx, K, b, jitter=0.0):
        if K.shape[:-1] != b.shape or K.shape[-1] != K.shape[-2]:
            raise ValueError("K [..., n, n] and b [..., n] expected")
        sym = 0.5 * (K + K.mT)
        if jitter:
            sym = sym + jitter * torch.eye(K.shape[-1], dtype=K.dtype, device=K.device)
        L = torch.linalg.cholesky(sym)
        a = torch.cholesky_solve(b.unsqueeze(-1), L).squeeze(-1)
        ctx.save_for_backward(a)
        return (a * b).sum(-1)

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        g = grad.unsqueeze(-1)
        grad_K = -g.unsqueeze(-1) * a.unsqueeze(-1) * a.unsqueeze(-2)
        return grad_K, 2.0 * g * a, None
