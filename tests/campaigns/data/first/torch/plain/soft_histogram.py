import torch


class SoftHist(torch.autograd.Function):
    """Kernel-smoothed histogram; also returns a gradient for the centres."""

    @staticmethod
    def forward(ctx, x, centers, bw=0.5):
        z = (x[:, None] - centers[None, :]) / bw
        k = torch.exp(-0.5 * z * z)
        ctx.save_for_backward(z, k)
        ctx.bw = bw
        return k.sum(0) / x.shape[0]

    @staticmethod
    def backward(ctx, g):
        z, k = ctx.saved_tensors
        t = -g[None, :] * k * z / z.shape[0]
        return t.sum(1), -t.sum(0), None
