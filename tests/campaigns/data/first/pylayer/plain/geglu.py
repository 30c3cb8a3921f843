import math
import paddle
from paddle.autograd import PyLayer


class GEGLU(PyLayer):
    @staticmethod
    def forward(ctx, gate, up):
        cdf = 0.5 * (1 + paddle.erf(gate / math.sqrt(2.0)))
        ctx.save_for_backward(gate, up, cdf)
        return gate * cdf * up

    @staticmethod
    def backward(ctx, dy):
        gate, up, cdf = ctx.saved_tensor()
        pdf = paddle.exp(-0.5 * gate * gate) / math.sqrt(2 * math.pi)
        return dy * up * (cdf + pdf), dy * gate * cdf
