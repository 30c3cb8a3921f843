import paddle
from paddle.autograd import PyLayer


class QuadraticForm(PyLayer):
    """x^T A x for a batch of vectors; x: [..., n], a: [n, n]."""

    @staticmethod
    def forward(ctx, x, a):
        n = x.shape[-1]
        if list(a.shape) != [n, n]:
            raise ValueError("a must be [n, n]")
        ctx.save_for_backward(x, a)
        return paddle.sum(x * paddle.matmul(x, a, transpose_y=True), axis=-1)

    @staticmethod
    def backward(ctx, dy):
        x, a = ctx.saved_tensor()
        n = x.shape[-1]
        g = paddle.unsqueeze(dy, -1)
        dx = 2.0 * g * paddle.matmul(x, a, transpose_y=True)
        xf = paddle.reshape(x, [-1, n])
        gf = paddle.reshape(g * x, [-1, n])
        da = paddle.matmul(gf, xf, transpose_x=True)
        return dx, da
