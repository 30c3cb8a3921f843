import paddle
from paddle.autograd import PyLayer


class CumulativeMeanSquare(PyLayer):
    """first axis is time: y_t = (1/(t+1)) sum_{s<=t} x_s^2"""

    @staticmethod
    def forward(ctx, x):
        T = x.shape[0]
        n = paddle.arange(1, T + 1).astype(x.dtype).reshape([T] + [1] * (x.ndim - 1))
        ctx.save_for_backward(x, n)
        return paddle.cumsum(x * x, 0) / n

    @staticmethod
    def backward(ctx, g):
        x, n = ctx.saved_tensor()
        w = g / paddle.clip(n - 1, min=1.0)
        tail = paddle.flip(paddle.cumsum(paddle.flip(w, [0]), 0), [0])
        return 2 * x * tail
