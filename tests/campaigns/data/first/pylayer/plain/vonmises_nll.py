import math
import paddle
from paddle.autograd import PyLayer


class VonMisesNLL(PyLayer):
    """angles x, location mu, log concentration"""

    @staticmethod
    def forward(ctx, x, mu, log_kappa):
        kappa = paddle.exp(log_kappa)
        # exponentially scaled Bessel for stability
        out = paddle.log(paddle.i0e(kappa)) + kappa + math.log(2 * math.pi) - kappa * paddle.cos(x - mu)
        ctx.save_for_backward(x, mu, kappa)
        return out

    @staticmethod
    def backward(ctx, g):
        x, mu, kappa = ctx.saved_tensor()
        s = g * kappa * paddle.sin(x - mu)
        A = paddle.i1e(kappa) / paddle.i0e(kappa)
        return s, -s, g * kappa * (A - paddle.cos(x - mu))
