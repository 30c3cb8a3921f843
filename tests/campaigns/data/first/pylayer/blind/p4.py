import paddle
from paddle.autograd import PyLayer


class ScaledEmbedding(PyLayer):
    @staticmethod
    def forward(ctx, table, ids, scale=2.0):
        if table.ndim != 2 or ids.ndim != 1:
            raise ValueError("expected table (V, D) and ids (N,)")
        ctx.save_for_backward(table, ids)
        ctx.scale = scale
        return scale * paddle.gather(table, ids, axis=0)

    @staticmethod
    def backward(ctx, dy):
        table, ids = ctx.saved_tensor()
        d = paddle.scatter_nd_add(paddle.zeros_like(table), ids.unsqueeze(1), ctx.scale * dy)
        return d, None


class GroupTotals(PyLayer):
    @staticmethod
    def forward(ctx, x, group, n=4):
        if x.ndim != 2 or group.ndim != 1 or group.shape[0] != x.shape[0]:
            raise ValueError("expected x (N, D) and group (N,)")
        out = paddle.zeros([n, x.shape[1]], dtype=x.dtype)
        ctx.save_for_backward(group)
        return paddle.scatter_nd_add(out, group.unsqueeze(1), x)

    @staticmethod
    def backward(ctx, dy):
        (group,) = ctx.saved_tensor()
        return paddle.gather(dy, group, axis=0), None


class PickPairs(PyLayer):
    @staticmethod
    def forward(ctx, x, rows, cols):
        if x.ndim != 2 or rows.ndim != 1 or cols.shape != rows.shape:
            raise ValueError("expected x (N, M), rows (K,), cols (K,)")
        flat = rows * x.shape[1] + cols
        ctx.save_for_backward(flat)
        ctx.dims = list(x.shape)
        return paddle.gather(x.reshape([-1]), flat)

    @staticmethod
    def backward(ctx, dy):
        (flat,) = ctx.saved_tensor()
        n, m = ctx.dims
        d = paddle.scatter(paddle.zeros([n * m], dtype=dy.dtype), flat, dy, overwrite=True)
        return d.reshape([n, m]), None, None


class BlockMean(PyLayer):
    @staticmethod
    def forward(ctx, x, k=2):
        if x.ndim != 2 or k < 1 or x.shape[1] % k:
            raise ValueError("length must be divisible by k")
        ctx.k = k
        return x.reshape([x.shape[0], x.shape[1] // k, k]).mean(axis=2)

    @staticmethod
    def backward(ctx, dy):
        return paddle.repeat_interleave(dy / ctx.k, ctx.k, axis=1)


class SlidingMax(PyLayer):
    @staticmethod
    def forward(ctx, x, kernel=2, stride=2):
        if x.ndim != 1 or kernel < 1 or stride < 1 or x.shape[0] < kernel:
            raise ValueError("expected a signal with kernel samples at least")
        n = (x.shape[0] - kernel) // stride + 1
        w = paddle.stack([x[i * stride:i * stride + kernel] for i in range(n)])
        ctx.save_for_backward(paddle.argmax(w, axis=1))
        ctx.n, ctx.kernel, ctx.size = n, kernel, x.shape[0]
        return w.max(axis=1)

    @staticmethod
    def backward(ctx, dy):
        (arg,) = ctx.saved_tensor()
        pos = paddle.arange(ctx.n) * ctx.kernel + arg
        pos = paddle.clip(pos, max=ctx.size - 1)
        return paddle.scatter_nd_add(paddle.zeros([ctx.size], dtype=dy.dtype), pos.unsqueeze(1), dy)


class LastStep(PyLayer):
    @staticmethod
    def forward(ctx, x, lengths):
        if x.ndim != 3 or lengths.ndim != 1 or lengths.shape[0] != x.shape[0]:
            raise ValueError("expected x (N, T, D) and lengths (N,)")
        step = paddle.arange(x.shape[1]).astype("int64").unsqueeze(0)
        hot = (step == lengths.astype("int64").unsqueeze(1) - 1).astype(x.dtype).unsqueeze(2)
        ctx.save_for_backward(hot)
        return (x * hot).sum(axis=1)

    @staticmethod
    def backward(ctx, dy):
        (hot,) = ctx.saved_tensor()
        return hot * dy.unsqueeze(1), None


class MirrorPad(PyLayer):
    @staticmethod
    def forward(ctx, x, pad=1):
        if x.ndim != 1 or pad < 0 or pad >= x.shape[0]:
            raise ValueError("pad is smaller than the signal")
        ctx.pad, ctx.n = pad, x.shape[0]
        if pad == 0:
            return x + 0
        return paddle.concat([paddle.flip(x[1:pad + 1], [0]), x, paddle.flip(x[-pad - 1:-1], [0])])

    @staticmethod
    def backward(ctx, dy):
        return dy[ctx.pad:ctx.pad + ctx.n]


class LagDifference(PyLayer):
    @staticmethod
    def forward(ctx, x, lag=1):
        if x.ndim < 1:
            raise ValueError("expected an axis")
        ctx.lag = lag
        return x - paddle.roll(x, lag, axis=-1)

    @staticmethod
    def backward(ctx, dy):
        return dy - paddle.roll(dy, ctx.lag, axis=-1)


class ExclusiveSum(PyLayer):
    @staticmethod
    def forward(ctx, x):
        if x.ndim != 2:
            raise ValueError("expected (N, T)")
        return paddle.cumsum(x, axis=1) - x

    @staticmethod
    def backward(ctx, dy):
        return dy.sum(axis=1, keepdim=True) - paddle.cumsum(dy, axis=1)


class Ranked(PyLayer):
    @staticmethod
    def forward(ctx, x):
        if x.ndim != 1:
            raise ValueError("expected a vector")
        order = paddle.argsort(x)
        ctx.save_for_backward(order)
        return paddle.gather(x, order)

    @staticmethod
    def backward(ctx, dy):
        (order,) = ctx.saved_tensor()
        return paddle.gather(dy, order)


class RepeatUp(PyLayer):
    @staticmethod
    def forward(ctx, x, factor=3):
        if x.ndim != 2 or factor < 1:
            raise ValueError("expected (N, L) and a positive factor")
        ctx.factor = factor
        return paddle.repeat_interleave(x, factor, axis=1)

    @staticmethod
    def backward(ctx, dy):
        f = ctx.factor
        return dy.reshape([dy.shape[0], dy.shape[1] // f, f]).sum(axis=2)
