import paddle
from paddle.autograd import PyLayer


class SoftDice(PyLayer):
    """inputs (N, C, ...); one loss per channel, squared denominators"""

    @staticmethod
    def forward(ctx, p, t, smooth=1.0):
        axes = [a for a in range(p.ndim) if a != 1]
        inter = (p * t).sum(axes, keepdim=True)
        den = (p * p).sum(axes, keepdim=True) + (t * t).sum(axes, keepdim=True)
        ctx.save_for_backward(p, t, inter, den)
        ctx.smooth = smooth
        return (1 - (2 * inter + smooth) / (den + smooth)).flatten()

    @staticmethod
    def backward(ctx, g):
        p, t, inter, den = ctx.saved_tensor()
        g = g.reshape([1, -1] + [1] * (p.ndim - 2))
        s = ctx.smooth
        D = den + s
        ratio = (2 * inter) / D
        gp = -g * (2 * t - ratio * 2 * p) / D
        gt = -g * (2 * p - ratio * 2 * t) / D
        return gp, gt
