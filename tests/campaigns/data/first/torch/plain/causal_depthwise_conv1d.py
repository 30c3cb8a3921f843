import torch
import torch.nn.functional as F


class CausalDepthwise(torch.autograd.Function):
    """x: (B, C, T), w: (C, K), optional bias (C,)"""

    @staticmethod
    def forward(ctx, x, w, bias=None):
        K = w.shape[1]
        xp = F.pad(x, (K - 1, 0))
        y = torch.zeros_like(x)
        for k in range(K):
            y += xp[:, :, k:k + x.shape[2]] * w[None, :, k, None]
        if bias is not None:
            y += bias[None, :, None]
        ctx.save_for_backward(xp, w)
        ctx.has_bias = bias is not None
        return y

    @staticmethod
    def backward(ctx, gy):
        xp, w = ctx.saved_tensors
        T = gy.shape[2]
        K = w.shape[1]
        gxp = torch.zeros_like(xp)
        gw = torch.empty_like(w)
        for k in range(K):
            gxp[:, :, k:k + T] += gy * w[None, :, k, None]
            gw[:, k] = (gy * xp[:, :, k:k + T]).sum((0, 2))
        gb = gy.sum((0, 2)) if ctx.has_bias else None
        return gxp[:, :, K - 1:], gw, gb
