import torch
from torch.autograd import Function


def _silu_grad(g):
    s = torch.sigmoid(g)
    return s * (1 + (1 - s))


class SwiGLU(Function):
    """input holds [gate | up] along the last axis"""

    @staticmethod
    def forward(ctx, gu: torch.Tensor) -> torch.Tensor:
        g, u = gu.chunk(2, dim=-1)
        ctx.save_for_backward(gu)
        return torch.nn.functional.silu(g) * u

    @staticmethod
    def backward(ctx, grad):
        (gu,) = ctx.saved_tensors
        g, u = gu.chunk(2, dim=-1)
        dg = grad * u * _silu_grad(g)
        du = grad * torch.nn.functional.silu(g)
        return torch.cat([dg, du], dim=-1)
