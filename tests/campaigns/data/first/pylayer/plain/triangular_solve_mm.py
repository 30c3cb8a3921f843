import paddle
from paddle.autograd import PyLayer


class TriSolve(PyLayer):
    """L^{-1} B, only the lower triangle of L is read"""

    @staticmethod
    def forward(ctx, L, B):
        X = paddle.linalg.triangular_solve(paddle.tril(L), B, upper=False)
        ctx.save_for_backward(L, X)
        return X

    @staticmethod
    def backward(ctx, G):
        L, X = ctx.saved_tensor()
        GB = paddle.linalg.triangular_solve(paddle.tril(L), G, upper=False, transpose=True)
        GL = -paddle.tril(paddle.matmul(GB, X, transpose_y=True))
        return GL, GB
