import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class MaskedSoftmax(PyLayer):
    @staticmethod
    def forward(ctx, x, mask):
        p = F.softmax(x + mask, axis=-1)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensor()
        dx = p * (g - paddle.sum(p * g, axis=-1, keepdim=True))
        return dx, dx


class RelBias(PyLayer):
    """scores (H, N, N) + table (2N - 1, H) looked up at i - j + N - 1."""

    @staticmethod
    def forward(ctx, s, table):
        n = s.shape[-1]
        i = paddle.arange(n)
        idx = (i.unsqueeze(1) - i.unsqueeze(0) + n - 1).reshape([-1])
        ctx.n, ctx.m = n, table.shape
        b = paddle.index_select(table, idx, axis=0).reshape([n, n, -1]).transpose([2, 0, 1])
        return s + b

    @staticmethod
    def backward(ctx, g):
        n = ctx.n
        i = paddle.arange(n)
        idx = (i.unsqueeze(1) - i.unsqueeze(0) + n - 1).reshape([-1, 1])
        flat = g.transpose([1, 2, 0]).reshape([n * n, -1])
        dt = paddle.scatter_nd_add(paddle.zeros(ctx.m, dtype=g.dtype), idx, flat)
        return g, dt


class PartialRope(PyLayer):
    """Rotates the first 2 * r features of x (N, D), cos and sin being (N, r); the rest passes."""

    @staticmethod
    def forward(ctx, x, cos, sin):
        r = cos.shape[-1]
        a, b, rest = x[:, :r], x[:, r : 2 * r], x[:, 2 * r :]
        ctx.save_for_backward(cos, sin)
        return paddle.concat([a * cos - b * sin, a * sin + b * cos, rest], axis=1)

    @staticmethod
    def backward(ctx, g):
        cos, sin = ctx.saved_tensor()
        r = cos.shape[-1]
        a, b, rest = g[:, :r], g[:, r : 2 * r], g[:, 2 * r :]
        return paddle.concat([a * cos + b * sin, b * cos - a * sin, paddle.zeros_like(rest)], axis=1), None, None


class LoraLinear(PyLayer):
    @staticmethod
    def forward(ctx, x, w, a, b, scale=0.5):
        xa = paddle.matmul(x, a)
        ctx.save_for_backward(x, w, a, b, xa)
        ctx.scale = scale
        return paddle.matmul(x, w) + scale * paddle.matmul(xa, b)

    @staticmethod
    def backward(ctx, g):
        x, w, a, b, xa = ctx.saved_tensor()
        gb = ctx.scale * paddle.matmul(g, b, transpose_y=True)
        dx = paddle.matmul(g, w, transpose_y=True) + paddle.matmul(gb, a, transpose_y=True)
        dw = paddle.matmul(x, g, transpose_x=True)
        da = paddle.matmul(x, gb, transpose_x=True)
        db = ctx.scale * paddle.matmul(xa, g, transpose_x=True)
        return dx, dw, da, db
