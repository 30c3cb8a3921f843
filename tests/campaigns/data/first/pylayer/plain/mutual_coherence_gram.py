import paddle
from paddle.autograd import PyLayer


class OffDiagonalGram(PyLayer):
    """sum of squared off-diagonal entries of W W^T (soft orthogonality penalty)"""

    @staticmethod
    def forward(ctx, W):
        G = paddle.matmul(W, W, transpose_y=True)
        off = 1 - paddle.eye(W.shape[0], dtype=W.dtype)
        ctx.save_for_backward(W, G, off)
        return ((G * off) ** 2).sum()

    @staticmethod
    def backward(ctx, g):
        W, G, off = ctx.saved_tensor()
        return 4 * g * paddle.matmul(G, W)
