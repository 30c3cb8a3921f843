import paddle
from paddle.autograd import PyLayer


class ScaledEmbedding(PyLayer):
    """table[idx] * sqrt(d); rows equal to padding_idx come out as zeros"""

    @staticmethod
    def forward(ctx, table, idx, padding_idx=0):
        d = table.shape[1]
        ctx.scale = float(d) ** 0.5
        flat = idx.reshape([-1])
        keep = (flat != padding_idx).astype(table.dtype).unsqueeze(1)
        ctx.save_for_backward(flat, keep)
        ctx.vocab = table.shape[0]
        out = paddle.gather(table, flat) * keep * ctx.scale
        return out.reshape(list(idx.shape) + [d])

    @staticmethod
    def backward(ctx, g):
        flat, keep = ctx.saved_tensor()
        g2 = g.reshape([-1, g.shape[-1]]) * ctx.scale
        acc = paddle.zeros([ctx.vocab, g.shape[-1]], dtype=g.dtype)
        return paddle.index_add(acc, flat, 0, g2), None
