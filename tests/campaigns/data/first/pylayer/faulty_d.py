import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class MatInv(PyLayer):
    """Batched matrix inverse."""

    @staticmethod
    def forward(ctx, A):
        Y = paddle.inverse(A)
        ctx.save_for_backward(Y)
        return Y

    @staticmethod
    def backward(ctx, G):
        Y, = ctx.saved_tensor()
        return -paddle.matmul(paddle.matmul(Y, G), Y)


def _cross(a, b):
    return paddle.cross(a, b, axis=-1)


class RotateByQuaternion(PyLayer):
    """Rotate v [..., 3] by q [..., 4] (w, x, y, z), any non-zero q."""

    @staticmethod
    def forward(ctx, q, v):
        if q.shape[-1] != 4 or v.shape[-1] != 3 or q.shape[:-1] != v.shape[:-1]:
            raise ValueError("q [..., 4] and v [..., 3] with equal leading axes")
        qn = q / q.norm(axis=-1, keepdim=True)
        w, u = qn[..., :1], qn[..., 1:]
        t = _cross(u, v)
        ctx.save_for_backward(qn, v, t)
        return v + 2 * w * t + 2 * _cross(u, t)

    @staticmethod
    def backward(ctx, dy):
        qn, v, t = ctx.saved_tensor()
        w, u = qn[..., :1], qn[..., 1:]
        gt = 2 * w * dy + 2 * _cross(dy, u)
        gw = 2 * (dy * t).sum(axis=-1, keepdim=True)
        gu = 2 * _cross(t, dy) + _cross(v, gt)
        return paddle.concat([gw, gu], axis=-1), dy + _cross(gt, u)


class LogSumExp(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=-1, keepdim=True):
        m = x.max(axis=axis, keepdim=True)
        lse = m + paddle.log(paddle.exp(x - m).sum(axis=axis, keepdim=True))
        ctx.save_for_backward(x, lse)
        return lse if keepdim else lse.squeeze(axis)

    @staticmethod
    def backward(ctx, dy):
        x, lse = ctx.saved_tensor()
        return dy * paddle.exp(x - lse)


class CartToPolar(PyLayer):
    """(x, y) -> (r, theta)"""

    @staticmethod
    def forward(ctx, x, y):
        if x.shape != y.shape:
            raise ValueError("x and y differ in shape")
        r = paddle.sqrt(x * x + y * y)
        ctx.save_for_backward(x, y, r)
        return r, paddle.atan2(y, x)

    @staticmethod
    def backward(ctx, dr, dtheta):
        x, y, r = ctx.saved_tensor()
        c, s = x / r, y / r
        return dr * c - dtheta * s, dr * s + dtheta * c


class HeatStep(PyLayer):
    """One explicit step of 1-D heat flow with insulated ends.

    u [..., X], kappa: a single value.
    """

    @staticmethod
    def _lap(u):
        up = paddle.concat([u[..., :1], u, u[..., -1:]], axis=-1)
        return up[..., 2:] - 2 * u + up[..., :-2]

    @staticmethod
    def forward(ctx, u, kappa):
        if kappa.size != 1 or u.shape[-1] < 2:
            raise ValueError("kappa is a single value, u has at least two nodes")
        k = kappa.reshape([])
        lap = HeatStep._lap(u)
        ctx.save_for_backward(lap, k)
        ctx.ks = kappa.shape
        return u + k * lap

    @staticmethod
    def backward(ctx, du):
        lap, k = ctx.saved_tensor()
        z = paddle.zeros_like(du[..., :1])
        g = paddle.concat([z, du, z], axis=-1)
        adj = g[..., 2:] - 2 * du + g[..., :-2]
        return du + k * adj, (du * lap).sum().reshape(ctx.ks)


class CoulombEnergy(PyLayer):
    """sum_{i<j} q_i q_j / |r_i - r_j| for pos [N, 3], charge [N]."""

    @staticmethod
    def forward(ctx, pos, charge):
        r, q = pos.numpy(), charge.numpy()
        if r.ndim != 2 or q.shape != r.shape[:1]:
            raise ValueError("pos [N, 3], charge [N]")
        d = r[:, None] - r[None]
        n2 = (d ** 2).sum(-1)
        np.fill_diagonal(n2, 1.0)
        inv = 1.0 / np.sqrt(n2)
        np.fill_diagonal(inv, 0.0)
        ctx.d, ctx.q, ctx.inv = d, q, inv
        return paddle.to_tensor(np.asarray(0.5 * q @ inv @ q, dtype=r.dtype))

    @staticmethod
    def backward(ctx, de):
        d, q, inv = ctx.d, ctx.q, ctx.inv
        e = de.numpy()
        f = -(q[:, None] * q[None] * inv ** 3)[..., None] * d
        return paddle.to_tensor(e * f.sum(1)), paddle.to_tensor(e * 0.5 * (inv @ q))


class GatedUnit(PyLayer):
    """x * sigmoid(g)"""

    @staticmethod
    def forward(ctx, x, g):
        if x.shape != g.shape:
            raise ValueError("x and g must have the same shape")
        s = F.sigmoid(g)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, dy):
        x, s = ctx.saved_tensor()
        dx = dy * s
        dg = x.multiply_(dx).multiply_(1 - s)
        return dx, dg
