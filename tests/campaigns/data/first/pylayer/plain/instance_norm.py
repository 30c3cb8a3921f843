import paddle
from paddle.autograd import PyLayer


class InstanceNorm(PyLayer):
    """NCHW, statistics per sample and channel"""

    @staticmethod
    def forward(ctx, x, scale, shift, eps=1e-5):
        mu = x.mean([2, 3], keepdim=True)
        var = (x - mu).square().mean([2, 3], keepdim=True)
        rstd = paddle.rsqrt(var + eps)
        xn = (x - mu) * rstd
        ctx.save_for_backward(xn, rstd, scale)
        return xn * scale.reshape([1, -1, 1, 1]) + shift.reshape([1, -1, 1, 1])

    @staticmethod
    def backward(ctx, dy):
        xn, rstd, scale = ctx.saved_tensor()
        dxn = dy * scale.reshape([1, -1, 1, 1])
        m1 = dxn.mean([2, 3], keepdim=True)
        m2 = (dxn * xn).mean([2, 3], keepdim=True)
        dx = rstd * (dxn - m1 - xn * m2)
        return dx, (dy * xn).sum([0, 2, 3]), dy.sum([0, 2, 3])
