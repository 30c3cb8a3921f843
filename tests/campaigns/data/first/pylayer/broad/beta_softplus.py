import paddle
from paddle.autograd import PyLayer


class BetaSoftplus(PyLayer):
    @staticmethod
    def forward(ctx, x, beta=1.0):
        z = beta * x
        ctx.save_for_backward(z)
        return (paddle.maximum(z, paddle.zeros_like(z)) + paddle.log1p(paddle.exp(-paddle.abs(z)))) / beta

    @staticmethod
    def backward(ctx, dy):
        z, = ctx.saved_tensor()
        # d/dx log(1 + e^{beta x}) / beta : the two betas cancel
        return dy * paddle.nn.functional.sigmoid(z)
