import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class InfoNce(PyLayer):
    """InfoNCE with in-batch negatives: row i of ``query`` matches row i of ``key``.

    Both are [batch, dim] (normalise them before).
    """

    @staticmethod
    def forward(ctx, query, key, temperature=0.2):
        if query.ndim != 2 or list(query.shape) != list(key.shape):
            raise ValueError("query and key: [batch, dim]")
        logits = paddle.matmul(query, key, transpose_y=True) / temperature
        logits = logits - paddle.max(logits, axis=1, keepdim=True)
        logp = logits - paddle.log(paddle.sum(paddle.exp(logits), axis=1, keepdim=True))
        n = query.shape[0]
        eye = paddle.eye(n, dtype=query.dtype)
        ctx.save_for_backward(query, key, paddle.exp(logp) - eye)
        ctx.temperature = temperature
        return -paddle.sum(logp * eye) / n

    @staticmethod
    def backward(ctx, dy):
        query, key, resid = ctx.saved_tensor()
        g = dy * resid / query.shape[0]
        dq = paddle.matmul(g, key) / ctx.temperature
        dk = paddle.matmul(g, query, transpose_x=True)
        return dq, dk
