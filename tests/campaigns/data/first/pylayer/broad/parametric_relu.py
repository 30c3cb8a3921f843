import paddle
from paddle.autograd import PyLayer


class ParametricRelu(PyLayer):
    @staticmethod
    def forward(ctx, x, alpha):
        if alpha.size != 1 or x.ndim < alpha.ndim:
            raise ValueError("one shared slope only")
        ctx.save_for_backward(x, alpha)
        return paddle.where(x > 0, x, alpha * x)

    @staticmethod
    def backward(ctx, dy):
        x, alpha = ctx.saved_tensor()
        pos = x > 0
        dx = paddle.where(pos, dy, alpha * dy)
        dalpha = paddle.sum(paddle.where(pos, dy * x, paddle.zeros_like(x)))
        return dx, paddle.reshape(dalpha, alpha.shape)
