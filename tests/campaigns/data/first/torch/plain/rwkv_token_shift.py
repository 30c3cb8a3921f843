import torch


class TokenShift(torch.autograd.Function):
    """y_t = mu * x_t + (1 - mu) * x_{t-1}; x is (B, T, C)"""

    @staticmethod
    def forward(ctx, x, mu):
        prev = torch.zeros_like(x)
        prev[:, 1:] = x[:, :-1]
        ctx.save_for_backward(x, prev, mu)
        return prev + mu * (x - prev)

    @staticmethod
    def backward(ctx, gy):
        x, prev, mu = ctx.saved_tensors
        gx = gy * mu
        gx[:, :-1] += gy[:, 1:] * mu
        return gx, (gy * (x - prev)).sum((0, 1))
