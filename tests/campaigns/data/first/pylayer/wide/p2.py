import paddle
import numpy as np
from paddle.autograd import PyLayer


class ChannelAffine(PyLayer):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        if x.ndim != 4 or list(gamma.shape) != [x.shape[1]] or list(beta.shape) != [x.shape[1]]:
            raise ValueError("NCHW")
        ctx.save_for_backward(x, gamma)
        return x * gamma.reshape([1, -1, 1, 1]) + beta.reshape([1, -1, 1, 1])

    @staticmethod
    def backward(ctx, dy):
        x, gamma = ctx.saved_tensor()
        return dy * gamma.reshape([1, -1, 1, 1]), (dy * x).sum([0, 2, 3]), dy.sum([0, 2, 3])


class SoftThreshold(PyLayer):
    lam_grad_scale = 1.0

    @staticmethod
    def forward(ctx, x, lam):
        if lam.size != 1:
            raise ValueError("lam must be a single number")
        y = paddle.sign(x) * paddle.clip(paddle.abs(x) - lam, min=0.0)
        ctx.save_for_backward(x, y)
        ctx.lshape = lam.shape
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensor()
        on = (y != 0).astype(g.dtype)
        return g * on, (g * on).sum().reshape(ctx.lshape)


class Gather2d(PyLayer):
    @staticmethod
    def forward(ctx, x, rows, cols):
        ctx.rows, ctx.cols = rows.numpy(), cols.numpy()
        ctx.shape = x.shape
        return paddle.to_tensor(x.numpy()[ctx.rows, ctx.cols])

    @staticmethod
    def backward(ctx, g):
        g = g.numpy()
        dx = np.zeros(ctx.shape, g.dtype)
        dx[ctx.rows, ctx.cols] += g
        return paddle.to_tensor(dx), None, None


class RunningCov(PyLayer):
    """covariance of the columns"""

    @staticmethod
    def forward(ctx, x, ddof=1):
        if x.ndim != 2:
            raise ValueError
        c = x - x.mean(0, keepdim=True)
        ctx.save_for_backward(c)
        ctx.k = x.shape[0] - ddof
        return c.t().matmul(c) / ctx.k

    @staticmethod
    def backward(ctx, g):
        c, = ctx.saved_tensor()
        d = c.matmul(g + g.t()) / ctx.k
        return d - d.mean(0, keepdim=True)


class LayerNormAffine(PyLayer):
    @staticmethod
    def forward(ctx, x, w, b, epsilon=1e-5):
        assert w.shape == x.shape[-1:] and b.shape == w.shape
        mu = x.mean(-1, keepdim=True)
        var = ((x - mu) ** 2).mean(-1, keepdim=True)
        inv = 1 / paddle.sqrt(var + epsilon)
        h = (x - mu) * inv
        ctx.save_for_backward(h, inv, w)
        return h * w + b

    @staticmethod
    def backward(ctx, g):
        h, inv, w = ctx.saved_tensor()
        n = h.shape[-1]
        gh = g * w
        dx = inv * (gh - gh.mean(-1, keepdim=True) - h * (gh * h).mean(-1, keepdim=True))
        return dx, (g * h).reshape([-1, n]).sum(0), g.sum(0)


class FakeQuantPerTensor(PyLayer):
    """true derivative of the rounding in x is 0; only the clipped zone and the scale matter here"""

    @staticmethod
    def forward(ctx, x, scale, bits=4):
        if scale.size != 1:
            raise ValueError("per tensor")
        q = 2 ** (bits - 1)
        v = paddle.clip(paddle.round(x / scale), -q, q - 1)
        ctx.save_for_backward(v)
        ctx.shape = scale.shape
        return v * scale

    @staticmethod
    def backward(ctx, g):
        v, = ctx.saved_tensor()
        return paddle.zeros_like(v), (g * v).mean().reshape(ctx.shape)


class MishVariant(PyLayer):
    # x * tanh(log(1 + a e^x)), a option
    @staticmethod
    def forward(ctx, x, a=1.0):
        ctx.save_for_backward(x)
        ctx.a = a
        sp = paddle.log1p(a * paddle.exp(x))
        return x * paddle.tanh(sp)

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensor()
        sp = paddle.log1p(ctx.a * paddle.exp(x))
        t = paddle.tanh(sp)
        ds = 1 / (1 + paddle.exp(-x))
        return dy * (t + x * (1 - t * t) * ds)


class Affinity(PyLayer):
    """exp(-gamma |x_i - y_j|^2); gamma is an option"""

    @staticmethod
    def forward(ctx, x, y, gamma=0.5):
        d2 = (x * x).sum(1, keepdim=True) + (y * y).sum(1) - 2 * x.matmul(y.t())
        k = paddle.exp(-gamma * d2)
        ctx.save_for_backward(x, y, k)
        ctx.gamma = gamma
        return k

    @staticmethod
    def backward(ctx, g):
        x, y, k = ctx.saved_tensor()
        w = g * k * (-2 * ctx.gamma)
        gx = w.sum(1, keepdim=True) * x - w.matmul(y)
        gy = w.sum(0).unsqueeze(1) * y - w.t().matmul(x)
        return gx, gy


class LiftPoints(PyLayer):
    """pinhole projection: (N, 3) -> (N, 2) pixels and depth"""

    @staticmethod
    def forward(ctx, pts, focal, center):
        if pts.shape[1] != 3 or focal.shape != [2] or center.shape != [2]:
            raise ValueError("pinhole")
        z = pts[:, 2:]
        uv = pts[:, :2] / z * focal + center
        ctx.save_for_backward(pts, focal)
        return uv, z.squeeze(1)

    @staticmethod
    def backward(ctx, guv, gz):
        pts, focal = ctx.saved_tensor()
        z = pts[:, 2:]
        n = pts[:, :2] / z
        gn = guv * focal
        gxy = gn / z
        gzz = -(gn * n).sum(1, keepdim=True) / z
        return paddle.concat([gxy, gzz], 1), (guv * n).sum(0), guv.sum(0)


class PolyHorner(PyLayer):
    """y = sum_k c[k] x^k"""

    @staticmethod
    def forward(ctx, x, coef):
        if coef.ndim != 1:
            raise ValueError("coef is a vector")
        y = paddle.zeros_like(x)
        for k in range(coef.shape[0] - 1, -1, -1):
            y = y * x + coef[k]
        ctx.save_for_backward(x, coef)
        return y

    @staticmethod
    def backward(ctx, g):
        x, coef = ctx.saved_tensor()
        d = paddle.zeros_like(x)
        for k in range(coef.shape[0] - 1, 0, -1):
            d = d * x + k * coef[k]
        dc = [(g * x ** k).sum() for k in range(coef.shape[0])]
        return g * d, paddle.stack(dc).reshape(coef.shape)
