import math

import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class AffineLayerNorm(PyLayer):
    @staticmethod
    def forward(ctx, x, w, b, eps=1e-5):
        if x.ndim != 2 or w.ndim != 1 or w.shape[0] != x.shape[1] or b.shape != w.shape:
            raise ValueError("expected x (N, D), w (D,), b (D,)")
        d = x - x.mean(axis=1, keepdim=True)
        inv = paddle.rsqrt((d * d).mean(axis=1, keepdim=True) + eps)
        ctx.save_for_backward(d, inv, w)
        return d * inv * w + b

    @staticmethod
    def backward(ctx, dy):
        d, inv, w = ctx.saved_tensor()
        xh = d * inv
        g = dy * w
        dx = inv * (g - g.mean(axis=1, keepdim=True) - xh * (g * xh).mean(axis=1, keepdim=True))
        return dx, (dy * d).sum(axis=0), dy.sum(axis=0)


class TrainBatchNorm(PyLayer):
    @staticmethod
    def forward(ctx, x, gamma, beta, eps=1e-5):
        if x.ndim != 2 or gamma.ndim != 1 or gamma.shape[0] != x.shape[1] or beta.shape != gamma.shape:
            raise ValueError("expected x (N, C), gamma (C,), beta (C,)")
        d = x - x.mean(axis=0, keepdim=True)
        inv = paddle.rsqrt((d * d).mean(axis=0, keepdim=True) + eps)
        xh = d * inv
        ctx.save_for_backward(xh, inv, gamma)
        return xh * gamma + beta

    @staticmethod
    def backward(ctx, dy):
        xh, inv, gamma = ctx.saved_tensor()
        g = dy * gamma
        dx = inv * (g - g.mean(axis=0, keepdim=True) - xh * (g * xh).mean(axis=0, keepdim=True))
        return dx, (dy * xh).sum(axis=0), dy.sum(axis=0)


class InstanceStandard(PyLayer):
    @staticmethod
    def forward(ctx, x, eps=1e-5):
        if x.ndim != 3:
            raise ValueError("expected (N, C, L)")
        d = x - x.mean(axis=2, keepdim=True)
        inv = paddle.rsqrt((d * d).mean(axis=2, keepdim=True) + eps)
        ctx.save_for_backward(d * inv, inv)
        return d * inv

    @staticmethod
    def backward(ctx, dy):
        xh, inv = ctx.saved_tensor()
        return inv * (dy - dy.mean(axis=2, keepdim=True) - xh * (dy * xh).mean(axis=1, keepdim=True))


class AxisSoftmax(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=-1):
        e = paddle.exp(x - x.max(axis=axis, keepdim=True))
        y = e / e.sum(axis=axis, keepdim=True)
        ctx.save_for_backward(y)
        ctx.axis = axis
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return y * (dy - (dy * y).sum(axis=ctx.axis, keepdim=True))


class RowLogSoftmax(PyLayer):
    @staticmethod
    def forward(ctx, x):
        if x.ndim < 1:
            raise ValueError("expected an axis")
        y = F.log_softmax(x, axis=-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return dy - paddle.exp(y) * dy.mean(axis=-1, keepdim=True)


class MaskedAttention(PyLayer):
    @staticmethod
    def forward(ctx, q, k, v, mask):
        if q.ndim != 2 or k.ndim != 2 or v.ndim != 2 or q.shape[1] != k.shape[1] or k.shape[0] != v.shape[0]:
            raise ValueError("expected q (L, D), k (M, D), v (M, E)")
        if list(mask.shape) != [q.shape[0], k.shape[0]]:
            raise ValueError("expected mask (L, M)")
        keep = mask.astype("bool")
        scale = 1 / math.sqrt(q.shape[1])
        s = paddle.matmul(q, k, transpose_y=True) * scale
        s = paddle.where(keep, s, paddle.full_like(s, -1e9))
        a = F.softmax(s, axis=-1)
        ctx.save_for_backward(q, k, v, a, keep)
        ctx.scale = scale
        return paddle.matmul(a, v)

    @staticmethod
    def backward(ctx, dy):
        q, k, v, a, keep = ctx.saved_tensor()
        dv = paddle.matmul(a, dy, transpose_x=True)
        da = paddle.matmul(dy, v, transpose_y=True)
        ds = a * (da - (da * a).sum(axis=-1, keepdim=True))
        ds = paddle.where(keep, ds, paddle.zeros_like(ds)) * ctx.scale
        return paddle.matmul(ds, k), paddle.matmul(ds, q, transpose_x=True), dv, None


class RelativeBias(PyLayer):
    @staticmethod
    def forward(ctx, scores, table):
        if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or scores.shape[0] == 0:
            raise ValueError("expected square scores")
        n = scores.shape[0]
        if table.ndim != 1 or table.shape[0] != 2 * n - 1:
            raise ValueError("expected a table of 2 n - 1 numbers")
        i = paddle.arange(n)
        idx = (i.unsqueeze(1) - i.unsqueeze(0) + n - 1).reshape([-1])
        ctx.save_for_backward(idx, table)
        return scores + paddle.gather(table, idx).reshape([n, n])

    @staticmethod
    def backward(ctx, dy):
        idx, table = ctx.saved_tensor()
        dt = paddle.scatter_nd_add(paddle.zeros_like(table), idx.unsqueeze(1), dy.reshape([-1]))
        return dy, dt


class AttentionPool(PyLayer):
    @staticmethod
    def forward(ctx, x, w):
        if x.ndim != 3 or w.ndim != 1 or w.shape[0] != x.shape[2]:
            raise ValueError("expected x (N, L, D) and w (D,)")
        a = F.softmax((x * w).sum(axis=2), axis=1)
        y = (a.unsqueeze(2) * x).sum(axis=1)
        ctx.save_for_backward(x, w, a)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, a = ctx.saved_tensor()
        da = (x * dy.unsqueeze(1)).sum(axis=2)
        ds = a * (da - (a * da).sum(axis=1, keepdim=True))
        dx = a.unsqueeze(2) * dy.unsqueeze(1)
        dw = (ds.unsqueeze(2) * x).sum(axis=[0, 1])
        return dx, dw


class ResponseNorm(PyLayer):
    @staticmethod
    def forward(ctx, x, alpha=0.1, k=1.0):
        if x.ndim != 2:
            raise ValueError("expected (N, C)")
        if alpha < 0 or k <= 0:
            raise ValueError("alpha and k must be positive")
        inv = paddle.rsqrt(k + alpha * (x * x).sum(axis=1, keepdim=True))
        ctx.save_for_backward(x, inv)
        ctx.alpha = alpha
        return x * inv

    @staticmethod
    def backward(ctx, dy):
        x, inv = ctx.saved_tensor()
        return dy * inv - ctx.alpha * x * inv ** 3 * (dy * x).sum(axis=1, keepdim=True)


class SwitchScale(PyLayer):
    @staticmethod
    def forward(ctx, x, gate, experts):
        if x.ndim != 2 or gate.ndim != 2 or experts.ndim != 2 or gate.shape[0] != x.shape[0]:
            raise ValueError("expected x (N, D), gate (N, E), experts (E, D)")
        if experts.shape[0] != gate.shape[1] or experts.shape[1] != x.shape[1]:
            raise ValueError("experts do not fit")
        p = F.softmax(gate, axis=1)
        hot = F.one_hot(paddle.argmax(gate, axis=1), gate.shape[1]).astype(x.dtype)
        ctx.save_for_backward(x, experts, p, hot)
        return (p * hot).sum(axis=1, keepdim=True) * x * paddle.matmul(hot, experts)

    @staticmethod
    def backward(ctx, dy):
        x, experts, p, hot = ctx.saved_tensor()
        top = (p * hot).sum(axis=1, keepdim=True)
        w = paddle.matmul(hot, experts)
        dtop = (dy * x * w).sum(axis=1, keepdim=True)
        dgate = dtop * hot * p * (1 - p)
        return dy * top * w, dgate, paddle.matmul(hot, dy * top * x, transpose_x=True)
