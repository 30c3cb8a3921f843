import math

import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


def _fit(g, shape):
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for i, s in enumerate(shape):
        if s == 1 and g.shape[i] != 1:
            g = g.sum(axis=i, keepdim=True)
    return g


class MomentumStep(PyLayer):
    @staticmethod
    def forward(ctx, w, grad, vel, lr=0.1, mu=0.9, nesterov=False):
        if w.shape != grad.shape or w.shape != vel.shape:
            raise ValueError("shapes differ")
        ctx.lr, ctx.mu, ctx.nesterov = lr, mu, nesterov
        v = mu * vel + grad
        step = grad + mu * v if nesterov else v
        return w - lr * step

    @staticmethod
    def backward(ctx, dy):
        lr, mu = ctx.lr, ctx.mu
        if ctx.nesterov:
            return dy, -lr * dy * (1 + mu), -lr * dy * mu
        return dy, -lr * dy, -lr * dy * mu


class AverageCall(PyLayer):
    @staticmethod
    def forward(ctx, paths, strike):
        if paths.ndim != 2 or paths.shape[0] == 0 or paths.shape[1] == 0 or list(strike.shape) != [1]:
            raise ValueError("expected paths (N, T) and one strike")
        v = paths.mean(axis=1) - strike
        on = (v > 0).astype(paths.dtype)
        ctx.save_for_backward(paths, on)
        return (v * on).mean()

    @staticmethod
    def backward(ctx, dy):
        paths, on = ctx.saved_tensor()
        n, t = paths.shape
        d = dy * on / n
        return paddle.ones_like(paths) * d.unsqueeze(1) / t, -d.sum().reshape([1])


class DampedWave(PyLayer):
    @staticmethod
    def forward(ctx, t, gamma, omega):
        if t.shape != gamma.shape or t.shape != omega.shape:
            raise ValueError("shapes differ")
        ctx.save_for_backward(t, gamma, omega)
        return paddle.exp(-gamma * t) * paddle.cos(omega * t)

    @staticmethod
    def backward(ctx, dy):
        t, gamma, omega = ctx.saved_tensor()
        e = dy * paddle.exp(-gamma * t)
        c, s = paddle.cos(omega * t), paddle.sin(omega * t)
        return -e * (gamma * c + omega * s), -e * t * c, -e * omega * s


class ChargeEnergy(PyLayer):
    @staticmethod
    def forward(ctx, pos, charge, soft=0.01):
        if pos.ndim != 2 or charge.ndim != 1 or charge.shape[0] != pos.shape[0]:
            raise ValueError("expected pos (N, D) and charge (N,)")
        if soft <= 0:
            raise ValueError("soft must be positive")
        n = pos.shape[0]
        d = pos.unsqueeze(1) - pos.unsqueeze(0)
        off = 1 - paddle.eye(n, dtype=pos.dtype)
        inv = off * paddle.rsqrt((d * d).sum(axis=2) + soft)
        ctx.save_for_backward(d, charge, inv)
        return 0.5 * (charge.unsqueeze(1) * charge.unsqueeze(0) * inv).sum()

    @staticmethod
    def backward(ctx, dy):
        d, charge, inv = ctx.saved_tensor()
        qq = charge.unsqueeze(1) * charge.unsqueeze(0)
        dpos = -(qq * inv ** 3).unsqueeze(2) * d
        return dy * dpos.sum(axis=1), dy * (charge.unsqueeze(0) * inv).sum(axis=1)


class Saturation(PyLayer):
    @staticmethod
    def forward(ctx, s, vmax, km):
        ctx.save_for_backward(s, vmax, km)
        return vmax * s / (km + s)

    @staticmethod
    def backward(ctx, dy):
        s, vmax, km = ctx.saved_tensor()
        den = km + s
        ds = dy * vmax * km / (den * den)
        dk = -dy * vmax * s / (den * den)
        return _fit(ds, s.shape), _fit(dy * s / den, vmax.shape), _fit(dk, km.shape)


class BetaLogPdf(PyLayer):
    @staticmethod
    def forward(ctx, x, a, b):
        if x.shape != a.shape or x.shape != b.shape:
            raise ValueError("shapes differ")
        ctx.save_for_backward(x, a, b)
        norm = paddle.lgamma(a) + paddle.lgamma(b) - paddle.lgamma(a + b)
        return (a - 1) * paddle.log(x) + (b - 1) * paddle.log(1 - x) - norm

    @staticmethod
    def backward(ctx, dy):
        x, a, b = ctx.saved_tensor()
        dx = dy * ((a - 1) / x - (b - 1) / (1 - x))
        s = paddle.digamma(a + b)
        return dx, dy * (paddle.log(x) - paddle.digamma(a) + s), dy * (paddle.log(1 - x) - paddle.digamma(b) + s)


class Sinc(PyLayer):
    @staticmethod
    def forward(ctx, x):
        u = math.pi * x
        small = paddle.abs(u) < 0.1
        safe = paddle.where(small, paddle.ones_like(u), u)
        u2 = u * u
        series = 1 - u2 / 6 * (1 - u2 / 20 * (1 - u2 / 42 * (1 - u2 / 72 * (1 - u2 / 110))))
        ctx.save_for_backward(u)
        return paddle.where(small, series, paddle.sin(safe) / safe)

    @staticmethod
    def backward(ctx, dy):
        (u,) = ctx.saved_tensor()
        small = paddle.abs(u) < 0.1
        safe = paddle.where(small, paddle.ones_like(u), u)
        u2 = u * u
        series = -u / 3 * (1 - u2 / 10 * (1 - u2 / 28 * (1 - u2 / 54 * (1 - u2 / 88))))
        exact = (paddle.cos(safe) - paddle.sin(safe) / safe) / safe
        return dy * math.pi * paddle.where(small, series, exact)


class ColumnStats(PyLayer):
    @staticmethod
    def forward(ctx, x):
        if x.ndim != 2 or x.shape[0] == 0:
            raise ValueError("expected (N, D)")
        mean = x.mean(axis=0)
        d = x - mean
        ctx.save_for_backward(d)
        return mean, (d * d).mean(axis=0)

    @staticmethod
    def backward(ctx, dmean, dvar):
        (d,) = ctx.saved_tensor()
        return (dmean + dvar * d) / d.shape[0]


class LeakyIntegrator(PyLayer):
    @staticmethod
    def forward(ctx, x, a):
        if x.ndim != 1 or x.shape[0] == 0 or list(a.shape) != [1]:
            raise ValueError("expected a signal and one coefficient")
        y = [x[0:1]]
        for t in range(1, x.shape[0]):
            y.append(a * y[-1] + x[t:t + 1])
        y = paddle.concat(y)
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        a, y = ctx.saved_tensor()
        n = y.shape[0]
        carry = paddle.zeros_like(a)
        da = paddle.zeros_like(a)
        dx = []
        for t in range(n - 1, -1, -1):
            carry = a * carry + dy[t:t + 1]
            dx.append(carry)
            if t > 0:
                da = da + carry * y[t - 1:t]
        return paddle.concat(dx[::-1]), da


class WindowedEnergy(PyLayer):
    @staticmethod
    def forward(ctx, x):
        if x.ndim != 1 or x.shape[0] < 3:
            raise ValueError("expected three samples at least")
        n = x.shape[0]
        w = 0.5 - 0.5 * paddle.cos(2 * math.pi * paddle.arange(n).astype(x.dtype) / (n - 1))
        ctx.save_for_backward(x, w)
        return ((w * x) ** 2).sum()

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensor()
        return 2 * dy * w * x


class RangeSigmoid(PyLayer):
    @staticmethod
    def forward(ctx, x, lo, hi):
        if list(lo.shape) != [1] or list(hi.shape) != [1]:
            raise ValueError("lo and hi are single numbers")
        s = F.sigmoid(x)
        ctx.save_for_backward(s, lo, hi)
        return lo + (hi - lo) * s

    @staticmethod
    def backward(ctx, dy):
        s, lo, hi = ctx.saved_tensor()
        dx = dy * (hi - lo) * s * (1 - s)
        return dx, (dy * s).sum().reshape([1]), (dy * (1 - s)).sum().reshape([1])
