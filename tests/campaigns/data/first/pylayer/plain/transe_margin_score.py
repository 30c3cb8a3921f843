import paddle
from paddle.autograd import PyLayer


class TransE(PyLayer):
    """smooth norm sqrt(|h + r - t|^2 + 1e-3) for index triples"""

    @staticmethod
    def forward(ctx, ent, rel, h, r, t):
        d = paddle.gather(ent, h) + paddle.gather(rel, r) - paddle.gather(ent, t)
        s = paddle.sqrt((d * d).sum(1) + 1e-3)
        ctx.save_for_backward(d, s, h, r, t)
        ctx.sizes = ent.shape[0], rel.shape[0]
        return s

    @staticmethod
    def backward(ctx, g):
        d, s, h, r, t = ctx.saved_tensor()
        u = (g / s).unsqueeze(1) * d
        ge = paddle.zeros([ctx.sizes[0], d.shape[1]], dtype=d.dtype)
        gr = paddle.zeros([ctx.sizes[1], d.shape[1]], dtype=d.dtype)
        ge = paddle.index_add(ge, h, 0, u)
        ge = paddle.index_add(ge, t, 0, u)
        gr = paddle.index_add(gr, r, 0, u)
        return ge, gr, None, None, None
