import paddle
from paddle.autograd import PyLayer


class LogAbsDet(PyLayer):
    """log|det A| for a (batch of) square matrices, e.g. for flow layers."""

    @staticmethod
    def forward(ctx, a):
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise ValueError("expected [..., n, n]")
        ctx.save_for_backward(a)
        return paddle.linalg.slogdet(a)[1]

    @staticmethod
    def backward(ctx, dy):
        (a,) = ctx.saved_tensor()
        perm = list(range(a.ndim))
        perm[-1], perm[-2] = perm[-2], perm[-1]
        inv_t = paddle.transpose(paddle.linalg.inv(a), perm)
        return paddle.reshape(dy, list(a.shape[:-2]) + [1, 1]) * inv_t
