import paddle
from paddle.autograd import PyLayer


class ELU(PyLayer):
    @staticmethod
    def forward(ctx, x, alpha=1.0):
        y = paddle.where(x > 0, x, alpha * paddle.expm1(x))
        ctx.alpha = alpha
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        y, = ctx.saved_tensor()
        return dy * paddle.where(y > 0, paddle.ones_like(y), y + 1.0)
