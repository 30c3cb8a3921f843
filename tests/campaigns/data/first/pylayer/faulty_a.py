import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class MishFn(PyLayer):
    """x * tanh(softplus(x))"""

    @staticmethod
    def forward(ctx, x):
        t = paddle.tanh(F.softplus(x))
        ctx.save_for_backward(x, t)
        return x * t

    @staticmethod
    def backward(ctx, dy):
        x, t = ctx.saved_tensor()
        return dy * (t + x * (1 - t.square()))


class Snake(PyLayer):
    """Periodic activation x + sin^2(a x) / a with one a per channel (axis 1)."""

    @staticmethod
    def forward(ctx, x, a):
        if x.ndim < 2 or a.ndim != 1 or a.shape[0] != x.shape[1]:
            raise ValueError("x [N, C, ...], a [C]")
        a = a.reshape([1, -1] + [1] * (x.ndim - 2))
        ctx.save_for_backward(x, a)
        return x + paddle.sin(a * x).square() / a

    @staticmethod
    def backward(ctx, dy):
        x, a = ctx.saved_tensor()
        s2 = paddle.sin(2 * a * x)
        red = [0] + list(range(2, x.ndim))
        return dy * (1 + s2), (dy * x * s2 / a).sum(axis=red)


class SoftThreshold(PyLayer):
    @staticmethod
    def forward(ctx, x, lam):
        if lam.size != 1:
            raise ValueError("scalar lam only")
        mag = F.relu(x.abs() - lam.reshape([]))
        ctx.save_for_backward((mag > 0).astype(x.dtype))
        ctx.lam_shape = lam.shape
        return x.sign() * mag

    @staticmethod
    def backward(ctx, dy):
        on, = ctx.saved_tensor()
        dx = dy * on
        return dx, -dx.sum().reshape(ctx.lam_shape)


def _reduce_like(g, ref):
    extra = g.ndim - ref.ndim
    if extra > 0:
        g = g.sum(axis=list(range(extra)))
    return g


class Magnitude(PyLayer):
    """sqrt(a^2 + b^2) with numpy broadcasting"""

    @staticmethod
    def forward(ctx, a, b):
        r = paddle.sqrt(a * a + b * b)
        ctx.save_for_backward(a, b, r)
        return r

    @staticmethod
    def backward(ctx, dr):
        a, b, r = ctx.saved_tensor()
        k = dr / r.clip(min=1e-12)
        return _reduce_like(k * a, a), _reduce_like(k * b, b)


class SiLU(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = x * F.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensor()
        s = F.sigmoid(x)
        return dy * s * (1 + x * (1 - s))


class SELU(PyLayer):
    """Self-normalising ELU; backward works from the output to save memory."""

    alpha = 1.6732632423543772
    scale = 1.0507009873554805

    @staticmethod
    def forward(ctx, x):
        neg = SELU.alpha * paddle.expm1(x.clip(max=0.0))
        y = SELU.scale * paddle.where(x > 0, x, neg)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        y, = ctx.saved_tensor()
        return dy * paddle.where(y > 0, paddle.full_like(y, SELU.scale), y + SELU.alpha)


class CELU(PyLayer):
    @staticmethod
    def forward(ctx, x, alpha=1.0):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        a = x.numpy()
        return paddle.to_tensor(np.maximum(a, 0) + np.minimum(0, alpha * np.expm1(a / alpha)))

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensor()
        a = x.numpy()
        d = np.where(a > 0, 1.0, np.exp(np.minimum(a, 0))).astype(a.dtype)
        return dy * paddle.to_tensor(d)


class LogAddExp(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        if a.shape != b.shape:
            raise ValueError("shapes differ")
        m = paddle.maximum(a, b)
        ctx.save_for_backward(a, b)
        return m + paddle.log1p(paddle.exp(-(a - b).abs()))

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensor()
        w = F.sigmoid(b - a)
        return g * w, g * (1 - w)


class N(PyLayer):
    @staticmethod
    def forward(ctx, x, p=3.0, axis=-1):
        y = (x.abs() ** p).sum(axis=axis, keepdim=True) ** (1.0 / p)
        ctx.save_for_backward(x, y)
        ctx.p, ctx.axis = p, axis
        return y.squeeze(axis)

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensor()
        r = (x.abs() / y.clip(min=1e-12)) ** (ctx.p - 1)
        return dy.unsqueeze(ctx.axis) * r
