import paddle
from paddle.autograd import PyLayer


class PReLUChannel(PyLayer):
    """channel axis is 1"""

    @staticmethod
    def forward(ctx, x, a):
        view = [1, -1] + [1] * (x.ndim - 2)
        ctx.save_for_backward(x, a)
        ctx.view = view
        return paddle.where(x >= 0, x, a.reshape(view) * x)

    @staticmethod
    def backward(ctx, dy):
        x, a = ctx.saved_tensor()
        neg = (x < 0).astype(x.dtype)
        dx = dy * (1 - neg) + dy * neg * a.reshape(ctx.view)
        axes = [i for i in range(x.ndim) if i != 1]
        return dx, (dy * x * neg).sum(axes)
