import torch


class Skewness(torch.autograd.Function):
    """m3 / m2^1.5 along the last axis (population moments)"""

    @staticmethod
    def forward(ctx, x):
        c = x - x.mean(-1, keepdim=True)
        m2 = (c ** 2).mean(-1, keepdim=True)
        m3 = (c ** 3).mean(-1, keepdim=True)
        ctx.save_for_backward(c, m2, m3)
        return (m3 * m2 ** -1.5).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        c, m2, m3 = ctx.saved_tensors
        n = c.shape[-1]
        dm3 = 3 * c ** 2 / n
        dm2 = 2 * c / n
        return g.unsqueeze(-1) * (dm3 * m2 ** -1.5 - 1.5 * m3 * m2 ** -2.5 * dm2)
