import paddle
import numpy as np
from paddle.autograd import PyLayer, PyLayerContext


class cus_cumprod(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.cumprod(x, dim=-1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensor()
        w = dy * y
        rev = paddle.flip(paddle.cumsum(paddle.flip(w, [-1]), -1), [-1])
        return rev / x


class logdet_solve(PyLayer):
    """(x^T A^-1 x + log|det A|) for a matrix and a vector"""

    @staticmethod
    def forward(ctx, A, x):
        a, v = A.numpy(), x.numpy()
        if a.ndim != 2 or a.shape[0] != a.shape[1] or v.shape != (a.shape[0],):
            raise ValueError("matrix and vector")
        ai = np.linalg.inv(a)
        ctx.t = (ai, v)
        return paddle.to_tensor(v @ ai @ v + np.linalg.slogdet(a)[1], dtype=A.dtype)

    @staticmethod
    def backward(ctx, g):
        ai, v = ctx.t
        k = float(g)
        u = ai @ v
        dA = -np.outer(u, u) + ai.T
        return paddle.to_tensor(k * dA), paddle.to_tensor(k * (ai + ai.T) @ v)


class quantile_mean(PyLayer):
    """mean of the entries above the q quantile of each row (CVaR)"""

    @staticmethod
    def forward(ctx, x, k=2):
        a = x.numpy()
        if a.shape[-1] < k:
            raise ValueError("row too short")
        order = np.argsort(a, -1)[..., -k:]
        ctx.order, ctx.k, ctx.shape = order, k, a.shape
        return paddle.to_tensor(np.take_along_axis(a, order, -1).mean(-1))

    @staticmethod
    def backward(ctx, g):
        g = np.asarray(g.numpy())
        out = np.zeros(ctx.shape, g.dtype)
        np.put_along_axis(out, ctx.order, np.broadcast_to(g[..., None] / ctx.k, ctx.order.shape), -1)
        return paddle.to_tensor(out)


class fft_lowpass(PyLayer):
    """keeps the lowest m frequencies of the last axis"""

    @staticmethod
    def forward(ctx, x, m=2):
        a = x.numpy()
        n = a.shape[-1]
        f = np.fft.rfft(a)
        f[..., m:] = 0
        ctx.m = m
        return paddle.to_tensor(np.fft.irfft(f, n))

    @staticmethod
    def backward(ctx, g):
        a = g.numpy()
        f = np.fft.rfft(a)
        f[..., ctx.m:] = 0
        return paddle.to_tensor(np.fft.irfft(f))


class lennard_jones(PyLayer):
    """total energy of points (N, 3)"""

    @staticmethod
    def forward(ctx, pos, sigma=1.0, eps=1.0):
        if pos.ndim != 2 or pos.shape[0] < 2:
            raise ValueError
        p = pos.numpy()
        d = p[:, None] - p[None]
        r2 = (d ** 2).sum(-1)
        np.fill_diagonal(r2, 1.0)
        s6 = (sigma ** 2 / r2) ** 3
        np.fill_diagonal(s6, 0.0)
        ctx.keep = (d, r2, s6)
        ctx.e = eps
        return paddle.to_tensor(2 * eps * (s6 ** 2 - s6).sum(), dtype=pos.dtype)

    @staticmethod
    def backward(ctx, g):
        d, r2, s6 = ctx.keep
        f = 4 * ctx.e * (-12 * s6 ** 2 + 6 * s6) / r2
        return paddle.to_tensor(float(g) * (f[..., None] * d).sum(1))


class masked_fill_mean(PyLayer):
    """mean over the kept entries; those that are dropped are filled with that mean"""

    @staticmethod
    def forward(ctx, x, keep):
        k = keep.astype(x.dtype)
        n = k.sum(-1, keepdim=True)
        m = (x * k).sum(-1, keepdim=True) / n
        ctx.save_for_backward(k, n)
        return x * k + m * (1 - k)

    @staticmethod
    def backward(ctx, g):
        k, n = ctx.saved_tensor()
        return g * k + (g * (1 - k)).mean(-1, keepdim=True) * k / n, None


class stack_mix(PyLayer):
    """weighted sum of a list of tensors, weights (len,)"""

    @staticmethod
    def forward(ctx, a, b, c, w):
        if not (a.shape == b.shape == c.shape) or w.shape != [3]:
            raise ValueError
        ctx.save_for_backward(a, b, c, w)
        return a * w[0] + b * w[1] + c * w[2]

    @staticmethod
    def backward(ctx, g):
        a, b, c, w = ctx.saved_tensor()
        gw = paddle.stack([(g * a).sum(), (g * c).sum(), (g * b).sum()]).reshape([3])
        return g * w[0], g * w[1], g * w[2], gw


class accum_hist(PyLayer):
    """x (N,), bucket (N,) int -> out[b] = prod of the entries of bucket b"""

    @staticmethod
    def forward(ctx, x, bucket, nb=4):
        a, b = x.numpy(), bucket.numpy()
        if a.ndim != 1 or a.shape != b.shape or (b < 0).any() or (b >= nb).any():
            raise ValueError
        out = np.ones(nb, a.dtype)
        np.multiply.at(out, b, a)
        ctx.s = (a, b, out)
        return paddle.to_tensor(out)

    @staticmethod
    def backward(ctx, g):
        a, b, out = ctx.s
        return paddle.to_tensor(g.numpy()[b] * out[b] / a), None


class norm_clip(PyLayer):
    """x * min(1, c / ||x||)"""

    @staticmethod
    def forward(ctx, x, c=1.0):
        n = paddle.sqrt((x * x).sum())
        ctx.save_for_backward(x)
        ctx.n, ctx.c = float(n), c
        return x * (c / n) if ctx.n > c else x * 1.0

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensor()
        if ctx.n > ctx.c:
            return g * (ctx.c / ctx.n)
        return g


class theta_step(PyLayer):
    """implicit step y = (I - h A)^-1 x, x (n,) or (n, m)"""

    @staticmethod
    def forward(ctx, A, x, h=0.1):
        a = A.numpy()
        M = np.eye(a.shape[0], dtype=a.dtype) - h * a
        y = np.linalg.solve(M, x.numpy())
        ctx.s = (M, y)
        ctx.h = h
        return paddle.to_tensor(y)

    @staticmethod
    def backward(ctx, g):
        M, y = ctx.s
        u = np.linalg.solve(M.T, g.numpy())
        dA = ctx.h * (np.outer(u, y) if y.ndim == 1 else u @ y.T)
        return paddle.to_tensor(dA), paddle.to_tensor(u)


class tensor_norm_rows(PyLayer):
    """log of the row norms, with a state for the running maximum"""
    peak = {}

    @staticmethod
    def forward(ctx, x, axis=-1):
        n = paddle.sqrt((x * x).sum(axis, keepdim=True) + 1e-8)
        tensor_norm_rows.peak[tuple(x.shape)] = n
        ctx.save_for_backward(x)
        return paddle.log(n).squeeze(axis)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensor()
        n = tensor_norm_rows.peak[tuple(x.shape)]
        if n.ndim == g.ndim + 1:
            ax = [i for i in range(x.ndim) if n.shape[i] == 1 and x.shape[i] != 1]
            g = g.reshape(n.shape)
        return g * x / (n * n)
