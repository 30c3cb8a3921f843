import math
import paddle
from paddle.autograd import PyLayer


class Matern32(PyLayer):
    @staticmethod
    def forward(ctx, x, y, log_ls):
        ls = paddle.exp(log_ls)
        diff = x.unsqueeze(1) - y.unsqueeze(0)
        r = paddle.sqrt((diff * diff).sum(-1) + 1e-12)
        z = math.sqrt(3.0) * r / ls
        ctx.save_for_backward(diff, z, ls)
        return (1 + z) * paddle.exp(-z)

    @staticmethod
    def backward(ctx, g):
        diff, z, ls = ctx.saved_tensor()
        e = g * paddle.exp(-z)
        # dk/dr = -z e^{-z} sqrt3/ls ; dr/dx = diff/r
        t = (-3 * e / ls ** 2).unsqueeze(-1) * diff
        return t.sum(1), -t.sum(0), (e * z * z).sum()
