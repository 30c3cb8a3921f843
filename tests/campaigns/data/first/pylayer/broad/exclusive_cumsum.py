import paddle
from paddle.autograd import PyLayer


class ExclusiveCumsum(PyLayer):
    """out[i] = x[0] + ... + x[i-1] along ``axis`` (out[0] = 0)."""

    @staticmethod
    def forward(ctx, x, axis=-1):
        if x.ndim < 1:
            raise ValueError("x needs an axis")
        ctx.axis = axis
        return paddle.cumsum(x, axis=axis) - x

    @staticmethod
    def backward(ctx, dy):
        r = paddle.flip(dy, axis=[ctx.axis])
        return paddle.flip(paddle.cumsum(r, axis=ctx.axis), axis=[ctx.axis])
