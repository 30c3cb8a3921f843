import paddle
from paddle.autograd import PyLayer


class Squareplus(PyLayer):
    @staticmethod
    def forward(ctx, x, b=4.0):
        r = paddle.sqrt(x * x + b)
        ctx.save_for_backward(x, r)
        return (x + r) / 2

    @staticmethod
    def backward(ctx, g):
        x, r = ctx.saved_tensor()
        return g * (1 + x / (2 * r)) / 2
