"""LSQ weight quantiser."""
import paddle
from paddle.autograd import PyLayer


class LearnedStepQuantize(PyLayer):
    """Fake quantisation with a learned step (straight-through for round)."""

    @staticmethod
    def forward(ctx, x, step, bits=4):
        if step.size != 1:
            raise ValueError("step must hold one element")
        qn, qp = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        v = x / step
        q = paddle.clip(paddle.round(v), qn, qp)
        ctx.save_for_backward(v, q, step)
        ctx.bounds = (qn, qp)
        return q * step

    @staticmethod
    def backward(ctx, dy):
        v, q, step = ctx.saved_tensor()
        qn, qp = ctx.bounds
        inside = paddle.cast(paddle.logical_and(v > qn, v < qp), dy.dtype)
        dx = dy * inside  # STE
        dstep = paddle.sum(dy * (q - inside * v))
        return dx, paddle.reshape(dstep, step.shape)
