import paddle
from paddle.autograd import PyLayer


class PreEmphasis(PyLayer):
    """y[0] = x[0], y[t] = x[t] - a x[t-1]; returns log(y^2 + 1)"""

    @staticmethod
    def forward(ctx, x, a):
        prev = paddle.concat([paddle.zeros_like(x[..., :1]), x[..., :-1]], axis=-1)
        y = x - a * prev
        ctx.save_for_backward(x, prev, y, a)
        return paddle.log1p(y * y)

    @staticmethod
    def backward(ctx, g):
        x, prev, y, a = ctx.saved_tensor()
        gy = g * 2 * y / (1 + y * y)
        nxt = paddle.concat([gy[..., 1:], paddle.zeros_like(gy[..., :1])], axis=-1)
        return gy - a * nxt, -(gy * x).sum()
