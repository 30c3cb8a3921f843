import paddle
from paddle.autograd import PyLayer


def lift(x):
    return paddle.sqrt(1 + (x * x).sum(-1, keepdim=True))


class HyperboloidDistance(PyLayer):
    """arccosh of the Lorentz product of two points given by their space coordinates"""

    @staticmethod
    def forward(ctx, x, y):
        x0, y0 = lift(x), lift(y)
        c = x0 * y0 - (x * y).sum(-1, keepdim=True)
        ctx.save_for_backward(x, y, x0, y0, c)
        return paddle.acosh(c).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        x, y, x0, y0, c = ctx.saved_tensor()
        w = g.unsqueeze(-1) / paddle.sqrt(c * c - 1)
        return w * (x * y0 / x0 - y), w * (y * x0 / y0 - x)
