import torch


class SoftplusBeta(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta=1.0, threshold=20.0):
        bx = beta * x
        y = torch.where(bx > threshold, x, torch.log1p(torch.exp(bx.clamp(max=threshold))) / beta)
        ctx.save_for_backward(bx)
        ctx.beta = beta
        ctx.threshold = threshold
        return y

    @staticmethod
    def backward(ctx, gy):
        bx, = ctx.saved_tensors
        d = torch.where(bx > ctx.threshold, torch.ones_like(bx), torch.sigmoid(bx) * ctx.beta)
        return gy * d, None, None
