import paddle
from paddle.autograd import PyLayer


class ReverseCumsum(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=-1):
        ctx.axis = axis
        return paddle.flip(paddle.cumsum(paddle.flip(x, [axis]), axis), [axis])

    @staticmethod
    def backward(ctx, g):
        return paddle.cumsum(g, ctx.axis)
