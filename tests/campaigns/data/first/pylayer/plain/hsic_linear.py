import paddle
from paddle.autograd import PyLayer


class LinearHSIC(PyLayer):
    """|Xc^T Yc|_F^2 / (n - 1)^2"""

    @staticmethod
    def forward(ctx, X, Y):
        Xc = X - X.mean(0, keepdim=True)
        Yc = Y - Y.mean(0, keepdim=True)
        C = paddle.matmul(Xc, Yc, transpose_x=True)
        ctx.save_for_backward(Xc, Yc, C)
        return (C * C).sum() / (X.shape[0] - 1) ** 2

    @staticmethod
    def backward(ctx, g):
        Xc, Yc, C = ctx.saved_tensor()
        k = 2 * g / (Xc.shape[0] - 1) ** 2
        return k * paddle.matmul(Yc, C, transpose_y=True), k * paddle.matmul(Xc, C)
