import torch


class ChannelPrelu(torch.autograd.Function):
    # NCHW feature maps, one slope per channel
    @staticmethod
    def forward(ctx, x, weight):
        w = weight.view(1, -1, 1, 1)
        ctx.save_for_backward(x, weight)
        return torch.where(x >= 0, x, w * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        neg = x < 0
        gx = torch.where(neg, weight.view(1, -1, 1, 1) * grad_output, grad_output)
        gw = (grad_output * x * neg).sum(dim=(0, 2, 3))
        return gx, gw
