import torch
import torch.nn.functional as F
from torch.autograd import Function


class StridedConv1d(Function):
    """conv1d through unfold; x [B, C, L], weight [O, C, K]."""

    @staticmethod
    def forward(ctx, x, weight, bias=None, stride=1, padding=0):
        if x.dim() != 3 or weight.dim() != 3 or x.shape[1] != weight.shape[1]:
            raise ValueError("x [B, C, L], weight [O, C, K]")
        if bias is not None and bias.shape != weight.shape[:1]:
            raise ValueError("bias [O]")
        cols = F.pad(x, (padding, padding)).unfold(-1, weight.shape[-1], stride)  # B C T K
        y = torch.einsum("bctk,ock->bot", cols, weight)
        if bias is not None:
            y = y + bias[:, None]
        ctx.save_for_backward(cols, weight)
        ctx.conf = (x.shape, stride, padding)
        ctx.has_bias = bias is not None
        return y

    @staticmethod
    def backward(ctx, gy):
        cols, weight = ctx.saved_tensors
        shape, stride, padding = ctx.conf
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            full = gy.new_zeros(shape[0], shape[1], shape[2] + 2 * padding)
            t = gy.shape[-1]
            for k in range(weight.shape[-1]):
                tap = torch.einsum("bot,oc->bct", gy, weight[..., k])
                full[..., k : k + stride * (t - 1) + 1 : stride] += tap
            gx = full[..., padding : padding + shape[2]]
        if ctx.needs_input_grad[1]:
            gw = torch.einsum("bot,bctk->ock", gy, cols)
        if ctx.has_bias and ctx.needs_input_grad[2]:
            gb = gy.sum((0, 2))
        return gx, gw, gb, None, None
