import numpy as np
import paddle
from paddle.autograd import PyLayer


class PadModes(PyLayer):
    """pads the last axis on both sides; mode constant, reflect, replicate or circular"""

    @staticmethod
    def forward(ctx, x, pad=1, mode="constant", value=0.0):
        a = x.numpy()
        n = a.shape[-1]
        w = [(0, 0)] * (a.ndim - 1) + [(pad, pad)]
        if mode == "constant":
            y = np.pad(a, w, constant_values=value)
        elif mode == "reflect":
            if pad >= n:
                raise ValueError("reflect: pad < n")
            y = np.pad(a, w, "reflect")
        elif mode == "replicate":
            y = np.pad(a, w, "edge")
        elif mode == "circular":
            if pad > n:
                raise ValueError("circular: pad <= n")
            y = np.pad(a, w, "wrap")
        else:
            raise ValueError("mode must be 'constant', 'reflect', 'replicate' or 'circular'")
        ctx.p, ctx.mode, ctx.n = pad, mode, n
        return paddle.to_tensor(y)

    @staticmethod
    def backward(ctx, g):
        g, p, n = g.numpy(), ctx.p, ctx.n
        d = g[..., p:p + n].copy()
        if p and ctx.mode == "reflect":
            d[..., 1:p + 1] += g[..., :p][..., ::-1]
            d[..., n - p - 1:n - 1] += g[..., p + n:][..., ::-1]
        elif p and ctx.mode == "replicate":
            d[..., 0] += g[..., :p].sum(-1)
            d[..., -1] += g[..., p + n:].sum(-1)
        elif p and ctx.mode == "circular":
            d[..., :p] += g[..., :p]
            d[..., -p:] += g[..., p + n:]
        return paddle.to_tensor(d)


class MeanPoolLengths(PyLayer):
    """mean over the first `lengths[b]` steps of x (B, T, D)"""

    @staticmethod
    def forward(ctx, x, lengths):
        a, l = x.numpy(), lengths.numpy()
        if a.ndim != 3 or l.shape != a.shape[:1] or (l < 1).any() or (l > a.shape[1]).any():
            raise ValueError("lengths in [1, T]")
        m = (np.arange(a.shape[1])[None] < l[:, None]).astype(a.dtype)
        ctx.w = m / l[:, None]
        return paddle.to_tensor((a * ctx.w[..., None]).sum(1))

    @staticmethod
    def backward(ctx, g):
        return paddle.to_tensor(ctx.w[..., None] * g.numpy()[:, None]), None


class LastStep(PyLayer):
    """the last valid step of each sequence: x (B, T, D), lengths (B,)"""

    @staticmethod
    def forward(ctx, x, lengths):
        a, l = x.numpy(), lengths.numpy()
        if a.ndim != 3 or l.shape != a.shape[:1] or (l < 1).any() or (l > a.shape[1]).any():
            raise ValueError("lengths in [1, T]")
        ctx.s = (a.shape, l)
        return paddle.to_tensor(a[np.arange(len(l)), l - 1])

    @staticmethod
    def backward(ctx, g):
        shape, l = ctx.s
        d = np.zeros(shape, g.numpy().dtype)
        d[:, l.max() - 1] = g.numpy()
        return paddle.to_tensor(d), None


class Kahan(PyLayer):
    """mean absolute percentage error with a floor on |t|"""

    @staticmethod
    def forward(ctx, p, t, floor=0.5):
        if p.shape != t.shape:
            raise ValueError
        den = paddle.clip(paddle.abs(t), min=floor)
        r = (p - t) / den
        ctx.save_for_backward(r, den, t)
        ctx.floor = floor
        return paddle.abs(r).mean()

    @staticmethod
    def backward(ctx, g):
        r, den, t = ctx.saved_tensor()
        k = g * paddle.sign(r) / den / r.size
        grow = (den > ctx.floor).astype(r.dtype)
        dt = -k - k * r * paddle.sign(t)
        return k, dt


class TwoHeads(PyLayer):
    """returns (x W, (x W)^2 summed over rows)"""

    @staticmethod
    def forward(ctx, x, w):
        if x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[0]:
            raise ValueError
        y = x.matmul(w)
        ctx.save_for_backward(x, w, y)
        return y, (y * y).sum(0)

    @staticmethod
    def backward(ctx, g1, g2):
        x, w, y = ctx.saved_tensor()
        g = g1 + y * g2
        return g.matmul(w.t()), x.t().matmul(g)


class AxisNorm(PyLayer):
    """x / sum|x| over one axis or several"""

    @staticmethod
    def forward(ctx, x, axis=-1):
        s = paddle.abs(x).sum(axis, keepdim=True)
        ctx.save_for_backward(x, s)
        ctx.axis = axis if isinstance(axis, int) else axis[0]
        return x / s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensor()
        return g / s - paddle.sign(x) * (g * x).sum(ctx.axis, keepdim=True) / (s * s)
