import paddle
from paddle.autograd import PyLayer


class EmbeddingBag(PyLayer):
    """Pooled embedding lookup.

    weight: [vocab, dim]; indices: int64 [batch, bag].  Slots equal to
    ``padding_idx`` do not take part.  mode is 'sum' or 'mean'.
    """

    @staticmethod
    def forward(ctx, weight, indices, mode="sum", padding_idx=None):
        assert weight.ndim == 2 and indices.ndim == 2, "need [V, D] and [B, L]"
        assert mode in ("sum", "mean")
        b, l = indices.shape
        flat = paddle.reshape(indices, [-1])
        rows = paddle.reshape(paddle.gather(weight, flat, axis=0), [b, l, weight.shape[1]])
        if padding_idx is None:
            w = paddle.ones([b, l], dtype=weight.dtype)
        else:
            w = paddle.cast(indices != padding_idx, weight.dtype)
        if mode == "mean":
            n = paddle.sum(w, axis=1, keepdim=True)
            w = w / paddle.maximum(n, paddle.ones_like(n))
        w = paddle.unsqueeze(w, -1)
        ctx.save_for_backward(flat, w)
        ctx.table_shape = list(weight.shape)
        return paddle.sum(rows * w, axis=1)

    @staticmethod
    def backward(ctx, dout):
        flat, w = ctx.saved_tensor()
        per_slot = paddle.unsqueeze(dout, 1) * w
        per_slot = paddle.reshape(per_slot, [-1, ctx.table_shape[1]])
        dweight = paddle.zeros(ctx.table_shape, dtype=dout.dtype)
        dweight = paddle.scatter_nd_add(dweight, paddle.unsqueeze(flat, -1), per_slot)
        return dweight, None
