import paddle
from paddle.autograd import PyLayer


class SmoothL1(PyLayer):
    @staticmethod
    def forward(ctx, pred, target, beta=1.0):
        d = pred - target
        ad = d.abs()
        ctx.save_for_backward(d)
        ctx.beta = beta
        return paddle.where(ad < beta, 0.5 * d * d / beta, ad - 0.5 * beta)

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensor()
        slope = paddle.where(d.abs() < ctx.beta, d / ctx.beta, paddle.ones_like(d))
        return g * slope, -g * slope
