import math

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class Mish(PyLayer):
    """Memory-lean Mish: recompute softplus/tanh in backward instead of saving them."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * paddle.tanh(F.softplus(x))

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensor()
        t = paddle.tanh(F.softplus(x))
        return dy * (t + x * (1 - t * t) * F.sigmoid(x))


class SwishBeta(PyLayer):
    @staticmethod
    def forward(ctx, x, beta):
        # one learnable slope for the whole layer
        if beta.size != 1:
            raise ValueError("beta must hold a single value")
        b = beta.reshape([])
        s = F.sigmoid(b * x)
        ctx.save_for_backward(x, b, s)
        return x * s

    @staticmethod
    def backward(ctx, dy):
        x, b, s = ctx.saved_tensor()
        ds = s * (1 - s)
        dx = dy * (s + b * x * ds)
        db = (dy * x * x * ds).sum()
        return dx, db.reshape([1])


class SnakeBeta(PyLayer):
    """x + sin(alpha x)^2 / alpha, alpha per channel (axis 1), as in BigVGAN."""

    EPS = 1e-9

    @staticmethod
    def forward(ctx, x, alpha):
        if x.ndim < 2 or alpha.ndim != 1 or alpha.shape[0] != x.shape[1]:
            raise ValueError("expected x [N, C, ...] and alpha [C]")
        a = alpha.reshape([1, -1] + [1] * (x.ndim - 2))
        ctx.save_for_backward(x, a)
        return x + paddle.sin(a * x) ** 2 / (a + SnakeBeta.EPS)

    @staticmethod
    def backward(ctx, dy):
        x, a = ctx.saved_tensor()
        inv = 1.0 / (a + SnakeBeta.EPS)
        s2 = paddle.sin(2 * a * x)
        dx = dy * (1 + a * inv * s2)
        da = dy * (x * s2 * inv - paddle.sin(a * x) ** 2 * inv * inv)
        axes = [i for i in range(x.ndim) if i != 1]
        return dx, da.sum(axis=axes)


class Shrink(PyLayer):
    """Proximal operator of lam * ||x||_1 with a trainable threshold (LISTA)."""

    @staticmethod
    def forward(ctx, x, lam):
        if lam.size != 1:
            raise ValueError("scalar lam only")
        r = x.abs() - lam.reshape([])
        on = (r > 0).astype(x.dtype)
        ctx.save_for_backward(x.sign(), on)
        ctx.lam_shape = lam.shape
        return x.sign() * r * on

    @staticmethod
    def backward(ctx, g):
        sgn, on = ctx.saved_tensor()
        return g * on, -(g * on * sgn).sum().reshape(ctx.lam_shape)


class Sinc(PyLayer):
    """normalised sinc, numpy kernel (CPU only)"""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x.numpy()
        return paddle.to_tensor(np.sinc(ctx.x))

    @staticmethod
    def backward(ctx, dy):
        x = ctx.x
        near = np.abs(x) < 1e-3
        xs = np.where(near, 1.0, x)
        d = (np.cos(math.pi * xs) - np.sinc(xs)) / xs
        p2 = math.pi ** 2
        d0 = -p2 * x / 3 + p2 * p2 * x ** 3 / 30
        g = dy.numpy() * np.where(near, d0, d)
        return paddle.to_tensor(g.astype(x.dtype))


class L(PyLayer):
    @staticmethod
    def forward(ctx, p, eps=1e-6):
        q = paddle.clip(p, eps, 1 - eps)
        ctx.save_for_backward(p, q)
        ctx.eps = eps
        return paddle.log(q) - paddle.log1p(-q)

    @staticmethod
    def backward(ctx, dy):
        p, q = ctx.saved_tensor()
        inside = paddle.logical_and(p > ctx.eps, p < 1 - ctx.eps)
        return dy * inside.astype(dy.dtype) / (q * (1 - q))


class LambertW0(PyLayer):
    """Principal branch on x >= 0, Halley iterations."""

    @staticmethod
    def forward(ctx, x):
        if bool((x < 0).any()):
            raise ValueError("LambertW0 is implemented for x >= 0 only")
        w = paddle.log1p(x)
        for _ in range(12):
            e = paddle.exp(w)
            f = w * e - x
            w = w - f / (e * (w + 1) - (w + 2) * f / (2 * w + 2))
        ctx.save_for_backward(w)
        return w

    @staticmethod
    def backward(ctx, dy):
        w, = ctx.saved_tensor()
        return dy * paddle.exp(-w) / (1 + w)


def _sum_to(g, shape):
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            g = g.sum(axis=i, keepdim=True)
    return g


class Hypot(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        r = paddle.sqrt(a * a + b * b)
        ctx.save_for_backward(a, b, r)
        return r

    @staticmethod
    def backward(ctx, dr):
        a, b, r = ctx.saved_tensor()
        k = dr / r.clip(min=1e-12)
        return _sum_to(k * a, a.shape), _sum_to(k * b, b.shape)
