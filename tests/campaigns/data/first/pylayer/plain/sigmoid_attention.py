import paddle
from paddle.autograd import PyLayer
import paddle.nn.functional as F


class SigmoidAttention(PyLayer):
    @staticmethod
    def forward(ctx, q, k, v, bias=0.0):
        ctx.scale = q.shape[-1] ** -0.5
        s = paddle.matmul(q, k, transpose_y=True) * ctx.scale + bias
        a = F.sigmoid(s)
        ctx.save_for_backward(q, k, v, a)
        return paddle.matmul(a, v)

    @staticmethod
    def backward(ctx, do):
        q, k, v, a = ctx.saved_tensor()
        da = paddle.matmul(do, v, transpose_y=True)
        ds = da * a * (1 - a)
        dq = paddle.matmul(ds, k) * ctx.scale
        dk = paddle.matmul(ds, q, transpose_x=True)
        dv = paddle.matmul(a, do, transpose_x=True)
        return dq, dk, dv
