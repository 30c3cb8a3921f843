import math
import paddle
from paddle.autograd import PyLayer


def dct_matrix(n, dtype, ortho):
    k = paddle.arange(n).astype(dtype).unsqueeze(1)
    t = paddle.arange(n).astype(dtype).unsqueeze(0)
    C = 2 * paddle.cos(math.pi * (t + 0.5) * k / n)
    if ortho:
        C = C * math.sqrt(1 / (2 * n))
        C[0] = C[0] * math.sqrt(0.5)
    return C


class DCT2(PyLayer):
    @staticmethod
    def forward(ctx, x, ortho=False):
        C = dct_matrix(x.shape[-1], x.dtype, ortho)
        ctx.save_for_backward(C)
        return paddle.matmul(x, C, transpose_y=True)

    @staticmethod
    def backward(ctx, g):
        C, = ctx.saved_tensor()
        return paddle.matmul(g, C)
