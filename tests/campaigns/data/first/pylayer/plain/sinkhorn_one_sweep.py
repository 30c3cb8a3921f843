import paddle
from paddle.autograd import PyLayer


class RowThenColumnNormalise(PyLayer):
    """exp(-C/eps) made row-stochastic, then column-stochastic"""

    @staticmethod
    def forward(ctx, cost, eps=1.0):
        K = paddle.exp(-cost / eps)
        r = K.sum(1, keepdim=True)
        A = K / r
        c = A.sum(0, keepdim=True)
        P = A / c
        ctx.save_for_backward(A, P, c)
        ctx.eps = eps
        return P

    @staticmethod
    def backward(ctx, g):
        A, P, c = ctx.saved_tensor()
        gA = (g - (g * P).sum(0, keepdim=True)) / c
        glogK = A * (gA - (gA * A).sum(1, keepdim=True))
        return -glogK / ctx.eps
