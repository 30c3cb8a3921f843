import math

import numpy as np
import paddle
from paddle.autograd import PyLayer


class Inverse(PyLayer):
    """Batched matrix inverse."""

    @staticmethod
    def forward(ctx, A):
        Y = paddle.inverse(A)
        ctx.save_for_backward(Y)
        return Y

    @staticmethod
    def backward(ctx, G):
        Y, = ctx.saved_tensor()
        return -paddle.matmul(paddle.matmul(Y, G, transpose_x=True), Y, transpose_y=True)


class CholeskyLower(PyLayer):
    """Factor of the symmetric part of A (Murray 2016, symbolic reverse mode)."""

    @staticmethod
    def forward(ctx, A):
        a = A.numpy()
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise ValueError("square matrices expected")
        a = 0.5 * (a + np.swapaxes(a, -1, -2))
        l = np.linalg.cholesky(a)
        ctx.l = l
        return paddle.to_tensor(l)

    @staticmethod
    def backward(ctx, dL):
        l = ctx.l
        t = lambda m: np.swapaxes(m, -1, -2)
        p = np.tril(t(l) @ np.tril(dL.numpy()))
        i = np.arange(l.shape[-1])
        p[..., i, i] *= 0.5
        li = np.linalg.inv(l)
        s = t(li) @ p @ li
        return paddle.to_tensor(0.5 * (s + t(s)))


class SymExp(PyLayer):
    """exp of the symmetric part of x through eigh (log-Euclidean layers)."""

    @staticmethod
    def forward(ctx, x):
        s = x.numpy()
        if s.ndim < 2 or s.shape[-1] != s.shape[-2]:
            raise ValueError("square matrices expected")
        s = 0.5 * (s + np.swapaxes(s, -1, -2))
        lam, u = np.linalg.eigh(s)
        ctx.lam, ctx.u = lam, u
        return paddle.to_tensor((u * np.exp(lam)[..., None, :]) @ np.swapaxes(u, -1, -2))

    @staticmethod
    def backward(ctx, dy):
        lam, u = ctx.lam, ctx.u
        ut = np.swapaxes(u, -1, -2)
        half = 0.5 * (lam[..., :, None] - lam[..., None, :])
        mid = 0.5 * (lam[..., :, None] + lam[..., None, :])
        safe = np.where(np.abs(half) < 1e-4, 1.0, half)
        shc = np.where(np.abs(half) < 1e-4, 1 + half ** 2 / 6, np.sinh(safe) / safe)
        k = np.exp(mid) * shc
        g = dy.numpy()
        g = 0.5 * (g + np.swapaxes(g, -1, -2))
        return paddle.to_tensor(u @ (k * (ut @ g @ u)) @ ut)


def _cross(a, b):
    return paddle.cross(a, b, axis=-1)


class QuatRotate(PyLayer):
    """Rotate v [..., 3] by q [..., 4] (w, x, y, z); q is normalised inside."""

    @staticmethod
    def forward(ctx, q, v):
        if q.shape[-1] != 4 or v.shape[-1] != 3 or q.shape[:-1] != v.shape[:-1]:
            raise ValueError("q [..., 4] and v [..., 3] with equal leading axes")
        n = q.norm(axis=-1, keepdim=True)
        qn = q / n
        w, u = qn[..., :1], qn[..., 1:]
        t = _cross(u, v)
        ctx.save_for_backward(n, qn, v, t)
        return v + 2 * w * t + 2 * _cross(u, t)

    @staticmethod
    def backward(ctx, dy):
        n, qn, v, t = ctx.saved_tensor()
        w, u = qn[..., :1], qn[..., 1:]
        gw = 2 * (dy * t).sum(axis=-1, keepdim=True)
        gt = 2 * w * dy + 2 * _cross(dy, u)
        gu = 2 * _cross(t, dy) + _cross(v, gt)
        gv = dy + _cross(gt, u)
        gq = paddle.concat([gw, gu], axis=-1)
        gq = (gq - qn * (gq * qn).sum(axis=-1, keepdim=True)) / n
        return gq, gv


class PairwiseDistance(PyLayer):
    @staticmethod
    def forward(ctx, x, y, eps=1e-12):
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
            raise ValueError("x [N, D], y [M, D]")
        diff = x.unsqueeze(1) - y.unsqueeze(0)
        d = paddle.sqrt((diff * diff).sum(axis=-1) + eps)
        ctx.save_for_backward(diff, d)
        return d

    @staticmethod
    def backward(ctx, dd):
        diff, d = ctx.saved_tensor()
        g = (dd / d).unsqueeze(-1) * diff
        return g.sum(axis=1), -g.sum(axis=0)


class Periodogram(PyLayer):
    """|rfft(x)|^2 / n over the last axis."""

    @staticmethod
    def forward(ctx, x):
        a = x.numpy()
        n = a.shape[-1]
        X = np.fft.rfft(a, axis=-1)
        ctx.X, ctx.n, ctx.dt = X, n, a.dtype
        return paddle.to_tensor((np.abs(X) ** 2 / n).astype(a.dtype))

    @staticmethod
    def backward(ctx, dp):
        X, n = ctx.X, ctx.n
        Z = np.zeros(X.shape[:-1] + (n,), X.dtype)
        Z[..., :X.shape[-1]] = dp.numpy() * X
        return paddle.to_tensor((2 * np.fft.ifft(Z, axis=-1).real).astype(ctx.dt))


class LeakyIntegrator(PyLayer):
    """y[t] = a * y[t-1] + x[t], time on the last axis, one shared leak a."""

    @staticmethod
    def forward(ctx, x, a):
        if a.size != 1:
            raise ValueError("a is a single value")
        av = a.reshape([])
        ys = []
        prev = paddle.zeros(x.shape[:-1], dtype=x.dtype)
        for t in range(x.shape[-1]):
            prev = av * prev + x[..., t]
            ys.append(prev)
        y = paddle.stack(ys, axis=-1)
        ctx.save_for_backward(y, av)
        ctx.ash = a.shape
        return y

    @staticmethod
    def backward(ctx, dy):
        y, a = ctx.saved_tensor()
        T = y.shape[-1]
        lam = paddle.zeros(y.shape[:-1], dtype=y.dtype)
        gx = [None] * T
        ga = paddle.zeros([], dtype=y.dtype)
        for t in reversed(range(T)):
            lam = dy[..., t] + a * lam
            gx[t] = lam
            if t > 0:
                ga = ga + (lam * y[..., t - 1]).sum()
        return paddle.stack(gx, axis=-1), ga.reshape(ctx.ash)


class LSE(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=None, keepdim=False):
        if axis is None:
            axis = list(range(x.ndim))
        m = x.max(axis=axis, keepdim=True)
        s = paddle.exp(x - m).sum(axis=axis, keepdim=True)
        out = m + paddle.log(s)
        ctx.save_for_backward(x, out)
        ctx.full = out.shape
        if keepdim:
            return out
        return paddle.squeeze(out, axis=axis)

    @staticmethod
    def backward(ctx, dy):
        x, lse = ctx.saved_tensor()
        return dy.reshape(ctx.full) * paddle.exp(x - lse)


class Haar(PyLayer):
    """One level of the orthonormal Haar transform: (approximation, detail)."""

    @staticmethod
    def forward(ctx, x):
        if x.shape[-1] % 2:
            raise ValueError("even length needed")
        e, o = x[..., 0::2], x[..., 1::2]
        r = 1 / math.sqrt(2)
        return (e + o) * r, (e - o) * r

    @staticmethod
    def backward(ctx, da, dd):
        r = 1 / math.sqrt(2)
        e, o = (da + dd) * r, (da - dd) * r
        x = paddle.stack([e, o], axis=-1)
        return x.reshape(e.shape[:-1] + [2 * e.shape[-1]])


class Blend(PyLayer):
    """softmax(w)-weighted sum of K feature maps (ELMo style scalar mix)."""

    @staticmethod
    def forward(ctx, w, *xs):
        if w.shape != [len(xs)] or any(x.shape != xs[0].shape for x in xs):
            raise ValueError("w [K] and K tensors of one shape")
        p = paddle.exp(w - w.max())
        p = p / p.sum()
        y = xs[0] * p[0]
        for i in range(1, len(xs)):
            y = y + xs[i] * p[i]
        ctx.save_for_backward(p, *xs)
        return y

    @staticmethod
    def backward(ctx, dy):
        p, *xs = ctx.saved_tensor()
        dots = paddle.stack([(dy * x).sum() for x in xs])
        gw = p * (dots - (p * dots).sum())
        return (gw, *[dy * p[i] for i in range(len(xs))])
