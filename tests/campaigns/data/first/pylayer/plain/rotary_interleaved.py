import paddle
from paddle.autograd import PyLayer


def interleave(a, b):
    return paddle.stack([a, b], axis=-1).flatten(start_axis=-2)


class RotaryInterleaved(PyLayer):
    """even/odd channel pairs of x (..., T, D) are rotated by theta (T, D/2)"""

    @staticmethod
    def forward(ctx, x, theta):
        c, s = paddle.cos(theta), paddle.sin(theta)
        ctx.save_for_backward(x, c, s)
        xe, xo = x[..., 0::2], x[..., 1::2]
        return interleave(xe * c - xo * s, xe * s + xo * c)

    @staticmethod
    def backward(ctx, g):
        x, c, s = ctx.saved_tensor()
        xe, xo = x[..., 0::2], x[..., 1::2]
        ge, go = g[..., 0::2], g[..., 1::2]
        gx = interleave(ge * c + go * s, go * c - ge * s)
        gt = ge * (-xe * s - xo * c) + go * (xe * c - xo * s)
        extra = list(range(len(gt.shape) - len(c.shape)))
        if extra:
            gt = gt.sum(extra)
        return gx, gt
