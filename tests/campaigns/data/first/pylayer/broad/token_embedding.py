import paddle
from paddle.autograd import PyLayer


class TokenEmbedding(PyLayer):
    """Scaled token lookup: weight[ids] * sqrt(dim)."""

    @staticmethod
    def forward(ctx, weight, ids):
        if weight.ndim != 2:
            raise ValueError("weight must be [vocab, dim]")
        flat = paddle.reshape(ids, [-1])
        ctx.save_for_backward(flat)
        ctx.table = list(weight.shape)
        ctx.scale = float(weight.shape[1]) ** 0.5
        out = paddle.gather(weight, flat, axis=0) * ctx.scale
        return paddle.reshape(out, list(ids.shape) + [weight.shape[1]])

    @staticmethod
    def backward(ctx, dy):
        (flat,) = ctx.saved_tensor()
        g = paddle.reshape(dy * ctx.scale, [-1, ctx.table[1]])
        zeros = paddle.zeros(ctx.table, dtype=dy.dtype)
        return paddle.scatter(zeros, flat, g, overwrite=True), None
