import paddle
from paddle.autograd import PyLayer


class LogBarrier(PyLayer):
    """-mu * (log(b - x) + log(b + x)) for |x| < b"""

    @staticmethod
    def forward(ctx, x, bound=1.0, mu=0.1):
        ctx.save_for_backward(x)
        ctx.bound, ctx.mu = bound, mu
        return -mu * (paddle.log(bound - x) + paddle.log(bound + x))

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensor()
        return g * 2 * ctx.mu * x / (ctx.bound ** 2 - x * x)
