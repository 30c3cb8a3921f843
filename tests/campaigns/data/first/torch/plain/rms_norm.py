import torch


class RMSNormFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps=1e-6):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        xhat = x * rstd
        ctx.save_for_backward(xhat, rstd, weight)
        return xhat * weight

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, weight = ctx.saved_tensors
        wdy = dy * weight
        c = (wdy * xhat).mean(-1, keepdim=True)
        dx = (wdy - xhat * c) * rstd
        dw = (dy * xhat).reshape(-1, xhat.shape[-1]).sum(0)
        return dx, dw, None
