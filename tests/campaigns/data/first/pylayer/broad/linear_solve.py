import paddle
from paddle.autograd import PyLayer


def _t(m):
    p = list(range(m.ndim))
    p[-1], p[-2] = p[-2], p[-1]
    return paddle.transpose(m, p)


class LinearSolve(PyLayer):
    """X = A^{-1} B;  a: [..., n, n], b: [..., n, k], same batch shape."""

    @staticmethod
    def forward(ctx, a, b):
        if list(a.shape[:-2]) != list(b.shape[:-2]) or a.shape[-1] != a.shape[-2] or b.ndim < 2:
            raise ValueError("a: [..., n, n], b: [..., n, k]")
        x = paddle.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, dx):
        a, x = ctx.saved_tensor()
        db = paddle.linalg.solve(a, dx)
        da = -paddle.matmul(db, _t(x))
        return da, db
