import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class BCELogits(PyLayer):
    @staticmethod
    def forward(ctx, x, y, pos_weight):
        ctx.save_for_backward(x, y, pos_weight)
        return (pos_weight * y * F.softplus(-x) + (1 - y) * F.softplus(x)).mean()

    @staticmethod
    def backward(ctx, g):
        x, y, w = ctx.saved_tensor()
        n = float(x.size)
        p = F.sigmoid(x)
        dx = (1 - y) * p - y * (1 - p)
        dy = w * F.softplus(-x) - F.softplus(x)
        dw = (y * F.softplus(-x)).sum(0)
        return g * dx / n, g * dy / n, g * dw / n
