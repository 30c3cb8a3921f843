import torch
from torch.autograd import Function


class WeightNorm(Function):
    """w = g * v / ||v||, the norm taken over every axis but ``dim``; g keeps dims."""

    @staticmethod
    def forward(ctx, v, g, dim=0):
        axes = [i for i in range(v.dim()) if i != dim % v.dim()]
        if not axes:
            raise ValueError("v needs at least two dims")
        norm = v.pow(2).sum(dim=axes, keepdim=True).sqrt()
        if g.shape != norm.shape:
            raise ValueError(f"g must be {tuple(norm.shape)}")
        ctx.save_for_backward(v, g, norm)
        ctx.axes = axes
        return g * v / norm

    @staticmethod
    def backward(ctx, dw):
        v, g, norm = ctx.saved_tensors
        u = v / norm
        proj = (dw * u).sum(dim=ctx.axes, keepdim=True)
        dv = dg = None
        if ctx.needs_input_grad[0]:
            dv = g / norm * (dw - u * proj)
        if ctx.needs_input_grad[1]:
            dg = proj
        return dv, dg, None
