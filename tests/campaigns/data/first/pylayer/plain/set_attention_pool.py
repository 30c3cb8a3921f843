import paddle
from paddle.autograd import PyLayer
import paddle.nn.functional as F


class AttnPool(PyLayer):
    """x (B, L, D), query (D,), valid (B, L) bool -> pooled (B, D) and weights (B, L)"""

    @staticmethod
    def forward(ctx, x, query, valid):
        s = paddle.matmul(x, query)
        s = paddle.where(valid, s, paddle.full_like(s, -1e30))
        w = F.softmax(s, axis=-1)
        pooled = (w.unsqueeze(-1) * x).sum(1)
        ctx.save_for_backward(x, query, w)
        return pooled, w

    @staticmethod
    def backward(ctx, gp, gw):
        x, query, w = ctx.saved_tensor()
        gw = gw + paddle.matmul(x, gp.unsqueeze(-1)).squeeze(-1)
        gs = w * (gw - (gw * w).sum(-1, keepdim=True))
        gx = w.unsqueeze(-1) * gp.unsqueeze(1) + gs.unsqueeze(-1) * query
        return gx, (gs.unsqueeze(-1) * x).sum([0, 1]), None
