import math

import paddle
from paddle.autograd import PyLayer


def _fit(g, shape):
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for i, s in enumerate(shape):
        if s == 1 and g.shape[i] != 1:
            g = g.sum(axis=i, keepdim=True)
    return g


class CELU(PyLayer):
    @staticmethod
    def forward(ctx, x, alpha=1.0):
        if alpha <= 0:
            raise ValueError("alpha must be positive")
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        neg = alpha * paddle.expm1(paddle.clip(x, max=0.0) / alpha)
        return paddle.clip(x, min=0.0) + neg

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * paddle.exp(paddle.clip(x, max=0.0) / ctx.alpha)


class ScaledSoftsign(PyLayer):
    @staticmethod
    def forward(ctx, x, k=1.0):
        if k <= 0:
            raise ValueError("k must be positive")
        ctx.save_for_backward(x)
        ctx.k = k
        return x / (k + paddle.abs(x))

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy / paddle.square(ctx.k + paddle.abs(x))


class GeGLU(PyLayer):
    @staticmethod
    def forward(ctx, x):
        if x.ndim < 1 or x.shape[-1] % 2 or x.shape[-1] == 0:
            raise ValueError("last axis must be even")
        a, b = paddle.split(x, 2, axis=-1)
        ctx.save_for_backward(a, b)
        return a * b * 0.5 * (1 + paddle.erf(b / math.sqrt(2)))

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensor()
        cdf = 0.5 * (1 + paddle.erf(b / math.sqrt(2)))
        pdf = paddle.exp(-0.5 * b * b) / math.sqrt(2 * math.pi)
        return paddle.concat([dy * b * cdf, dy * a * (cdf + b * pdf)], axis=-1)


class GatedLinear(PyLayer):
    @staticmethod
    def forward(ctx, x, theta=1.0):
        if theta < 0:
            raise ValueError("theta must not be negative")
        ctx.save_for_backward(x)
        return paddle.where(x > theta, x, paddle.zeros_like(x))

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return paddle.where(x > 0, dy, paddle.zeros_like(dy))


class LearnedSwish(PyLayer):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * paddle.nn.functional.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, dy):
        x, beta = ctx.saved_tensor()
        s = paddle.nn.functional.sigmoid(beta * x)
        ds = s * (1 - s)
        return _fit(dy * (s + x * beta * ds), x.shape), _fit(dy * x * x * ds, beta.shape)


class PieceMax(PyLayer):
    @staticmethod
    def forward(ctx, x, pieces=2):
        if x.ndim != 2 or pieces < 1 or x.shape[1] % pieces or x.shape[1] == 0:
            raise ValueError("channels must be divisible by pieces")
        n, c = x.shape
        r = x.reshape([n, c // pieces, pieces])
        hot = paddle.nn.functional.one_hot(paddle.argmax(r, axis=2), pieces).astype(x.dtype)
        ctx.save_for_backward(hot)
        return r.max(axis=2)

    @staticmethod
    def backward(ctx, dy):
        (hot,) = ctx.saved_tensor()
        d = (hot * dy.unsqueeze(2)).transpose([0, 2, 1])
        return d.reshape([dy.shape[0], -1])


class HardGate(PyLayer):
    @staticmethod
    def forward(ctx, x, slope=0.2):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return paddle.clip(slope * x + 0.5, 0.0, 1.0)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        u = ctx.slope * x + 0.5
        inside = paddle.logical_and(u > 0, u < 1).astype(dy.dtype)
        return dy * ctx.slope * inside


class GuardedLogit(PyLayer):
    @staticmethod
    def forward(ctx, p, eps=1e-4):
        if not 0 < eps < 0.5:
            raise ValueError("eps lies between 0 and 0.5")
        q = paddle.clip(p, eps, 1 - eps)
        ctx.save_for_backward(p, q)
        ctx.eps = eps
        return paddle.log(q) - paddle.log1p(-q)

    @staticmethod
    def backward(ctx, dy):
        p, q = ctx.saved_tensor()
        inside = paddle.logical_and(p > ctx.eps, p < 1 - ctx.eps).astype(dy.dtype)
        return dy * inside / (q * (1 - q))


class SineLayer(PyLayer):
    @staticmethod
    def forward(ctx, x, omega=1.0):
        ctx.save_for_backward(x)
        ctx.omega = omega
        return paddle.sin(omega * x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * paddle.cos(ctx.omega * x)


class TanhCubed(PyLayer):
    @staticmethod
    def forward(ctx, x):
        t = paddle.tanh(x)
        ctx.save_for_backward(t)
        return t * t * t

    @staticmethod
    def backward(ctx, dy):
        (t,) = ctx.saved_tensor()
        return dy * 3 * t * t * paddle.square(1 - t)
