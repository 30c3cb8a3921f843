import paddle
from paddle.autograd import PyLayer


class Mahalanobis(PyLayer):
    @staticmethod
    def forward(ctx, x, mu, P):
        d = x - mu
        m = paddle.sqrt((paddle.matmul(d, P) * d).sum(1))
        ctx.save_for_backward(d, P, m)
        return m

    @staticmethod
    def backward(ctx, g):
        d, P, m = ctx.saved_tensor()
        w = (g / m).unsqueeze(1)
        gx = w * paddle.matmul(d, P + P.T)
        return gx, -gx.sum(0), paddle.matmul(d, w * d, transpose_x=True)
