import paddle
from paddle.autograd import PyLayer


def reduce_to(g, ref):
    k = len(g.shape) - len(ref.shape)
    return g.sum(list(range(k))) if k > 0 else g


class GammaLogPdf(PyLayer):
    @staticmethod
    def forward(ctx, x, alpha, beta):
        ctx.save_for_backward(x, alpha, beta)
        return alpha * paddle.log(beta) - paddle.lgamma(alpha) + (alpha - 1) * paddle.log(x) - beta * x

    @staticmethod
    def backward(ctx, g):
        x, alpha, beta = ctx.saved_tensor()
        gx = g * ((alpha - 1) / x - beta)
        ga = g * (paddle.log(beta) - paddle.lgamma(alpha) + paddle.log(x))
        gb = g * (alpha / beta - x)
        return gx, reduce_to(ga, alpha), reduce_to(gb, beta)
