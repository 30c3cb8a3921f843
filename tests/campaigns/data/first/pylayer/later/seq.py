import paddle
from paddle.autograd import PyLayer


class RevCumsum(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=0):
        ctx.axis = axis
        return paddle.flip(paddle.cumsum(paddle.flip(x, [axis]), axis=axis), [axis])

    @staticmethod
    def backward(ctx, g):
        return paddle.cumsum(g, axis=ctx.axis)


class PrefixMean(PyLayer):
    """y[:, t] is the mean of x[:, : t + 1]."""

    @staticmethod
    def forward(ctx, x):
        n = x.shape[1]
        ctx.k = paddle.arange(1, n + 1).astype(x.dtype)
        return paddle.cumsum(x, axis=1) / ctx.k

    @staticmethod
    def backward(ctx, g):
        g / ctx.k
        return paddle.flip(paddle.cumsum(paddle.flip(g, [1]), axis=1), [1]) / ctx.k


class MinGRU(PyLayer):
    """h[t] = (1 - z[t]) h[t - 1] + z[t] c[t], from h0; axis 0 is time."""

    @staticmethod
    def forward(ctx, z, c, h0):
        h, hs = h0, []
        for t in range(z.shape[0]):
            h = (1 - z[t]) * h + z[t] * c[t]
            hs.append(h)
        out = paddle.stack(hs)
        ctx.save_for_backward(z, c, h0, out)
        return out

    @staticmethod
    def backward(ctx, g):
        z, c, h0, out = ctx.saved_tensor()
        n = z.shape[0]
        dz, dc = [None] * n, [None] * n
        carry = paddle.zeros_like(h0)
        for t in reversed(range(n)):
            carry = carry + g[t]
            prev = out[t - 1] if t > 0 else h0
            dz[t] = carry * (c[t] - prev)
            dc[t] = carry * z[t]
            carry = carry * (1 - z[t])
        return paddle.stack(dz), paddle.stack(dc), carry


class PreEmphasis(PyLayer):
    """y[t] = x[t] - c x[t - 1] along the last axis."""

    @staticmethod
    def forward(ctx, x, c):
        ctx.save_for_backward(x, c)
        return paddle.concat([x[..., :1], x[..., 1:] - c * x[..., :-1]], axis=-1)

    @staticmethod
    def backward(ctx, g):
        x, c = ctx.saved_tensor()
        dx = paddle.concat([g[..., :1], g[..., 1:] - c * g[..., :-1]], axis=-1)
        return dx, -(g[..., 1:] * x[..., :-1]).sum().reshape(c.shape)


class Conv1dValid(PyLayer):
    """x (B, L), w (K,): y[b, t] = sum_j w[j] x[b, t + j]."""

    @staticmethod
    def forward(ctx, x, w):
        k = w.shape[0]
        n = x.shape[1] - k + 1
        ctx.save_for_backward(x, w)
        cols = paddle.stack([x[:, j : j + n] for j in range(k)], axis=-1)
        return paddle.matmul(cols, w)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensor()
        k, n = w.shape[0], g.shape[1]
        dx = paddle.zeros_like(x)
        dw = []
        for j in range(k):
            pad = [
                paddle.zeros([x.shape[0], j], dtype=x.dtype),
                g * w[j],
                paddle.zeros([x.shape[0], k - 1 - j], dtype=x.dtype),
            ]
            dx = dx + paddle.concat(pad, axis=1)
            dw.append((g * x[:, j : j + n]).sum())
        return dx, paddle.stack(dw)


class SmoothTV(PyLayer):
    """sum sqrt(dx^2 + dy^2 + eps) of an image (H, W)."""

    @staticmethod
    def forward(ctx, u, eps=1e-3):
        a = u[1:, :-1] - u[:-1, :-1]
        b = u[:-1, 1:] - u[:-1, :-1]
        m = paddle.sqrt(a * a + b * b + eps)
        ctx.save_for_backward(u, a, b, m)
        return m.sum()

    @staticmethod
    def backward(ctx, g):
        u, a, b, m = ctx.saved_tensor()
        p, q = g * a / m, g * b / m
        row = paddle.zeros([1, u.shape[1]], dtype=u.dtype)
        col = paddle.zeros([u.shape[0] - 1, 1], dtype=u.dtype)
        down = paddle.concat([row, paddle.concat([p, col], axis=1)], axis=0)
        right = paddle.concat([paddle.concat([col, q], axis=1), row], axis=0)
        here = paddle.concat([paddle.concat([p, col], axis=1), row], axis=0)
        return down + right - here
