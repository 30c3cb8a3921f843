import torch


class CumulativeProduct(torch.autograd.Function):
    """cumprod along ``dim`` for inputs without zeros (transmittance along a ray)."""

    @staticmethod
    def forward(ctx, x, dim=-1):
        y = torch.cumprod(x, dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        # x_i appears in every y_j, j >= i, with dy_j/dx_i = y_j / x_i
        return torch.cumsum(g * y, ctx.dim) / x, None
