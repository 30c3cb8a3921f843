import paddle
from paddle.autograd import PyLayer
import numpy as np


class SpectralShift(PyLayer):
    """delay the last axis by a fractional number of samples (circular), delay one number per row"""

    @staticmethod
    def forward(ctx, x, delay):
        a, d = x.numpy(), delay.numpy()
        if a.ndim != 2 or d.shape != a.shape[:1]:
            raise ValueError("one delay per row")
        n = a.shape[1]
        w = 2 * np.pi * np.fft.rfftfreq(n)
        ph = np.exp(-1j * w * d[:, None])
        f = np.fft.rfft(a) * ph
        ctx.s = (f, ph, w, n)
        return paddle.to_tensor(np.fft.irfft(f, n))

    @staticmethod
    def backward(ctx, g):
        f, ph, w, n = ctx.s
        gn = g.numpy()
        dx = np.fft.irfft(np.fft.rfft(gn) * ph.conj(), n)
        dd = (gn * np.fft.irfft(-1j * w * f, n)).sum(1)
        return paddle.to_tensor(dx), paddle.to_tensor(dd)


class EulerStep(PyLayer):
    """one step of Lotka-Volterra; state (..., 2), params (4,)"""

    @staticmethod
    def forward(ctx, z, theta, dt=0.1):
        if z.shape[-1] != 2 or theta.shape != [4]:
            raise ValueError("state (..., 2), theta (4,)")
        a, b, c, d = theta[0], theta[1], theta[2], theta[3]
        u, v = z[..., 0], z[..., 1]
        ctx.save_for_backward(z, theta)
        ctx.dt = dt
        return paddle.stack([u + dt * (a * u - b * u * v), v + dt * (d * u * v - c * v)], -1)

    @staticmethod
    def backward(ctx, g):
        z, theta = ctx.saved_tensor()
        dt = ctx.dt
        a, b, c, d = theta[0], theta[1], theta[2], theta[3]
        u, v = z[..., 0], z[..., 1]
        gu, gv = g[..., 0], g[..., 1]
        du = gu * (1 + dt * (a - b * v)) + gv * dt * d * v
        dv = -gu * dt * b * u + gv * (1 + dt * (d * u - c))
        dth = paddle.stack([(gu * u).sum(), -(gu * u * v).sum(), -(gv * v).sum(), (gv * u * v).sum()]) * dt
        return paddle.stack([du, dv], -1), dth.reshape([4])


class CropResize(PyLayer):
    """nearest resize of (H, W) by an integer or fractional factor"""

    @staticmethod
    def forward(ctx, x, scale=2.0):
        a = x.numpy()
        if a.ndim != 2:
            raise ValueError
        h, w = int(a.shape[0] * scale), int(a.shape[1] * scale)
        if h < 1 or w < 1:
            raise ValueError("too small")
        iy = np.minimum((np.arange(h) / scale).astype(int), a.shape[0] - 1)
        ix = np.minimum((np.arange(w) / scale).astype(int), a.shape[1] - 1)
        ctx.s = (iy, ix, a.shape)
        return paddle.to_tensor(a[iy][:, ix])

    @staticmethod
    def backward(ctx, g):
        iy, ix, shape = ctx.s
        d = np.zeros(shape, g.numpy().dtype)
        rows = np.zeros((shape[0], len(ix)), d.dtype)
        np.add.at(rows, iy, g.numpy())
        d[:, ix] += rows
        return paddle.to_tensor(d)


class TripleProduct(PyLayer):
    """volume a . (b x c), rows"""

    @staticmethod
    def forward(ctx, a, b, c):
        if not (a.shape == b.shape == c.shape) or a.shape[-1] != 3:
            raise ValueError("rows of three")
        ctx.save_for_backward(a, b, c)
        return (a * paddle.cross(b, c, axis=-1)).sum(-1)

    @staticmethod
    def backward(ctx, g):
        a, b, c = ctx.saved_tensor()
        g = g.unsqueeze(-1)
        x = lambda p, q: paddle.cross(p, q, axis=-1)
        return g * x(b, c), g * x(c, a), g * x(b, a)


class InverseSqrtCov(PyLayer):
    """Mahalanobis distance of rows: sqrt(d' P d), P (D, D) any matrix"""

    @staticmethod
    def forward(ctx, d, P):
        if d.ndim != 2 or P.shape != [d.shape[1], d.shape[1]]:
            raise ValueError("maha")
        q = (d.matmul(P) * d).sum(1)
        y = paddle.sqrt(q)
        ctx.save_for_backward(d, P, y)
        return y

    @staticmethod
    def backward(ctx, g):
        d, P, y = ctx.saved_tensor()
        k = (g / (2 * y)).unsqueeze(1)
        return k * (d.matmul(P) + d.matmul(P.t())), (k * d).t().matmul(d)


class WeightNormRows(PyLayer):
    """w = g v / |v|, norms over all axes but `dim`"""

    @staticmethod
    def forward(ctx, v, g, dim=0):
        ax = [i for i in range(v.ndim) if i != dim]
        shp = [1] * v.ndim
        shp[dim] = v.shape[dim]
        if g.shape != [v.shape[dim]]:
            raise ValueError("g: one per slice")
        n = paddle.sqrt((v * v).sum(ax, keepdim=True)) if ax else paddle.abs(v)
        ctx.save_for_backward(v, g, n)
        ctx.ax, ctx.shp = ax, shp
        return v / n * g.reshape(shp)

    @staticmethod
    def backward(ctx, dw):
        v, g, n = ctx.saved_tensor()
        u = v / n
        p = (dw * u).sum(ctx.ax, keepdim=True) if ctx.ax else dw * u
        return g.reshape(ctx.shp) / n * (dw - p), p.reshape(g.shape)


class SymLogLoss(PyLayer):
    """0.5 mean (symlog(x) - symlog(t))^2, symlog(x) = sign(x) log(1 + |x|)"""

    @staticmethod
    def forward(ctx, x, t):
        if x.shape != t.shape:
            raise ValueError
        f = lambda v: paddle.sign(v) * paddle.log1p(paddle.abs(v))
        d = f(x) - f(t)
        ctx.save_for_backward(x, t, d)
        return 0.5 * (d * d).mean()

    @staticmethod
    def backward(ctx, g):
        x, t, d = ctx.saved_tensor()
        k = g * d / d.size
        return k / (1 + x), -k / (1 + paddle.abs(t))


class ClassCentres(PyLayer):
    """centre loss: 0.5 sum |x_i - c_{y_i}|^2; gradient for x and c"""

    @staticmethod
    def forward(ctx, x, c, y):
        a, cc, yy = x.numpy(), c.numpy(), y.numpy()
        if a.ndim != 2 or cc.ndim != 2 or a.shape[1] != cc.shape[1] or yy.shape != a.shape[:1]:
            raise ValueError("centre loss")
        d = a - cc[yy]
        ctx.s = (d, yy, cc.shape)
        return paddle.to_tensor(0.5 * (d ** 2).sum(), dtype=x.dtype)

    @staticmethod
    def backward(ctx, g):
        d, yy, shape = ctx.s
        k = float(g)
        dc = np.zeros(shape, d.dtype)
        cnt = np.bincount(yy, minlength=shape[0])[:, None]
        np.add.at(dc, yy, -d)
        return paddle.to_tensor(k * d), paddle.to_tensor(k * dc / (1 + cnt)), None


class LateralInhibition(PyLayer):
    """local response normalisation across channels (axis 1)"""

    @staticmethod
    def _win(s, r):
        out = s.copy()
        for k in range(1, r + 1):
            out[:, k:] += s[:, :-k]
            out[:, :-k] += s[:, k:]
        return out

    @staticmethod
    def forward(ctx, x, radius=1, alpha=0.1, beta=0.75):
        a = x.numpy()
        if a.ndim < 2 or radius >= a.shape[1]:
            raise ValueError("LRN")
        b = 1 + alpha * LateralInhibition._win(a * a, radius)
        ctx.s = (a, b, radius, alpha, beta)
        return paddle.to_tensor(a * b ** -beta)

    @staticmethod
    def backward(ctx, g):
        a, b, r, alpha, beta = ctx.s
        g = g.numpy()
        t = LateralInhibition._win(g * a * b ** (-beta - 1), r)
        return paddle.to_tensor(g * b ** -beta - 2 * alpha * beta * a * t)


class MinMaxScale(PyLayer):
    """(x - min) / (max - min) over the last axis"""

    @staticmethod
    def forward(ctx, x):
        a = x.numpy()
        lo, hi = a.min(-1, keepdims=True), a.max(-1, keepdims=True)
        y = (a - lo) / (hi - lo)
        ctx.s = (y, hi - lo)
        return paddle.to_tensor(y)

    @staticmethod
    def backward(ctx, g):
        y, d = ctx.s
        return paddle.to_tensor(g.numpy() / d)


class TopkSoft(PyLayer):
    """softmax over the k largest entries of a row, zero elsewhere"""

    @staticmethod
    def forward(ctx, x, k=2):
        a = x.numpy()
        if k > a.shape[-1]:
            raise ValueError
        thr = np.sort(a, -1)[..., -k][..., None]
        e = np.where(a >= thr, np.exp(a - a.max(-1, keepdims=True)), 0)
        y = e / e.sum(-1, keepdims=True)
        ctx.y = y
        return paddle.to_tensor(y)

    @staticmethod
    def backward(ctx, g):
        y, g = ctx.y, g.numpy()
        return paddle.to_tensor(y * (g - (g * y).sum(-1, keepdims=True)))


class CausalMix(PyLayer):
    """y_t = mean of x_0 .. x_t along axis 1 of (B, T, D)"""

    @staticmethod
    def forward(ctx, x):
        if x.ndim != 3:
            raise ValueError
        n = paddle.arange(1, x.shape[1] + 1).astype(x.dtype).reshape([1, -1, 1])
        return paddle.cumsum(x, 1) / n

    @staticmethod
    def backward(ctx, g):
        T = g.shape[1]
        n = paddle.arange(T, 0, -1).astype(g.dtype).reshape([1, -1, 1])
        return paddle.flip(paddle.cumsum(paddle.flip(g, [1]), 1), [1]) / n


class InplaceScaleGrad(PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        if x.shape != y.shape:
            raise ValueError
        ctx.save_for_backward(x, y)
        return paddle.exp(x) * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensor()
        e = paddle.exp(x)
        y.multiply_(e) if hasattr(y, "multiply_") else None
        return g * e * y / e, g * e


class PatchMerge(PyLayer):
    """space to depth (B, H, W, C) -> (B, H/2, W/2, 4C), Swin order"""

    @staticmethod
    def forward(ctx, x):
        if x.ndim != 4 or x.shape[1] % 2 or x.shape[2] % 2:
            raise ValueError("even sizes")
        return paddle.concat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)

    @staticmethod
    def backward(ctx, g):
        c = g.shape[-1] // 4
        gn = g.numpy()
        b, h, w = gn.shape[:3]
        d = np.empty((b, 2 * h, 2 * w, c), gn.dtype)
        d[:, 0::2, 0::2] = gn[..., :c]
        d[:, 1::2, 0::2] = gn[..., c:2 * c]
        d[:, 0::2, 1::2] = gn[..., 2 * c:3 * c]
        d[:, 1::2, 1::2] = gn[..., 3 * c:]
        return paddle.to_tensor(d)
