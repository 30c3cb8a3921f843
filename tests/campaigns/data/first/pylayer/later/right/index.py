import paddle
from paddle.autograd import PyLayer


class GatherRows(PyLayer):
    @staticmethod
    def forward(ctx, x, idx):
        ctx.save_for_backward(idx)
        ctx.shape = x.shape
        return paddle.gather(x, idx, axis=0)

    @staticmethod
    def backward(ctx, g):
        (idx,) = ctx.saved_tensor()
        zero = paddle.zeros(ctx.shape, dtype=g.dtype)
        return paddle.scatter_nd_add(zero, idx.unsqueeze(-1), g), None


class EdgeSum(PyLayer):
    """out[dst[e]] += w[e] * x[src[e]] over the edges of a graph."""

    @staticmethod
    def forward(ctx, x, w, src, dst):
        ctx.save_for_backward(x, w, src, dst)
        msg = paddle.index_select(x, src, axis=0) * w.unsqueeze(1)
        return paddle.scatter_nd_add(paddle.zeros_like(x), dst.unsqueeze(1), msg)

    @staticmethod
    def backward(ctx, g):
        x, w, src, dst = ctx.saved_tensor()
        gd = paddle.index_select(g, dst, axis=0)
        dx = paddle.scatter_nd_add(paddle.zeros_like(x), src.unsqueeze(1), gd * w.unsqueeze(1))
        dw = (paddle.index_select(g, dst, axis=0) * paddle.index_select(x, src, axis=0)).sum(axis=1)
        return dx, dw, None, None


class PixelShuffle2(PyLayer):
    @staticmethod
    def forward(ctx, x, r=2):
        ctx.r = r
        n, c, h, w = x.shape
        y = x.reshape([n, c // (r * r), r, r, h, w]).transpose([0, 1, 4, 2, 5, 3])
        return y.reshape([n, c // (r * r), h * r, w * r])

    @staticmethod
    def backward(ctx, g):
        r = ctx.r
        n, c, h, w = g.shape
        y = g.reshape([n, c, h // r, r, w // r, r]).transpose([0, 1, 3, 5, 2, 4])
        return y.reshape([n, c * r * r, h // r, w // r])


class UpLinear(PyLayer):
    """Doubles axis 1 of x (B, L): samples, and the means of neighbours between them."""

    @staticmethod
    def forward(ctx, x):
        mid = 0.5 * (x[:, :-1] + x[:, 1:])
        ctx.n = x.shape[1]
        y = paddle.stack([x[:, :-1], mid], axis=2).reshape([x.shape[0], -1])
        return paddle.concat([y, x[:, -1:]], axis=1)

    @staticmethod
    def backward(ctx, g):
        even, odd = g[:, ::2], g[:, 1::2]
        zero = paddle.zeros([g.shape[0], 1], dtype=g.dtype)
        return even + 0.5 * (paddle.concat([odd, zero], axis=1) + paddle.concat([zero, odd], axis=1))


class WSum(PyLayer):
    """sum_i w[i] * xs[i] of any number of tensors."""

    @staticmethod
    def forward(ctx, w, *xs):
        ctx.save_for_backward(w, *xs)
        y = w[0] * xs[0]
        for i in range(1, len(xs)):
            y = y + w[i] * xs[i]
        return y

    @staticmethod
    def backward(ctx, g):
        w, *xs = ctx.saved_tensor()
        dw = paddle.stack([(g * x).sum() for x in xs])
        return (dw, *[g * w[i] for i in range(len(xs))])


class LinearOpt(PyLayer):
    @staticmethod
    def forward(ctx, x, w, bias=None):
        ctx.save_for_backward(x, w)
        ctx.has_bias = bias is not None
        y = paddle.matmul(x, w)
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensor()
        dx = paddle.matmul(g, w, transpose_y=True)
        dw = paddle.matmul(x, g, transpose_x=True)
        return (dx, dw, g.sum(axis=0)) if ctx.has_bias else (dx, dw)
