import paddle
import paddle.nn.functional as F
import numpy as np
from paddle.autograd import PyLayer


class SpatialPyramid(PyLayer):
    """adaptive average pooling of the last axis to `bins` (uneven bins)"""

    @staticmethod
    def forward(ctx, x, bins=3):
        a = x.numpy()
        n = a.shape[-1]
        if bins > n:
            raise ValueError("more bins than samples")
        ctx.edges = [(i * n // bins, -(-(i + 1) * n // bins)) for i in range(bins)]
        ctx.shape = a.shape
        return paddle.to_tensor(np.stack([a[..., s:e].mean(-1) for s, e in ctx.edges], -1))

    @staticmethod
    def backward(ctx, g):
        g = g.numpy()
        d = np.zeros(ctx.shape, g.dtype)
        for i, (s, e) in enumerate(ctx.edges):
            d[..., s:e] = g[..., i:i + 1] / (e - s)
        return paddle.to_tensor(d)


class RotateImageTwice(PyLayer):
    """np.rot90 k times in the last two axes"""

    @staticmethod
    def forward(ctx, x, k=1):
        if x.ndim < 2:
            raise ValueError
        ctx.k = k
        return paddle.to_tensor(np.ascontiguousarray(np.rot90(x.numpy(), k, (-2, -1))))

    @staticmethod
    def backward(ctx, g):
        return paddle.to_tensor(np.ascontiguousarray(np.rot90(g.numpy(), -ctx.k, (-2, -1))))


class SegmentMaxSorted(PyLayer):
    """x (N, D), ids (N,) sorted; max of each segment; empty segments give 0"""

    @staticmethod
    def forward(ctx, x, ids, num=4):
        a, s = x.numpy(), ids.numpy()
        if a.ndim != 2 or s.shape != a.shape[:1] or (len(s) and (s.min() < 0 or s.max() >= num)):
            raise ValueError("segments")
        out = np.zeros((num, a.shape[1]), a.dtype)
        arg = np.full((num, a.shape[1]), -1)
        for k in range(num):
            rows = np.nonzero(s == k)[0]
            if len(rows):
                j = a[rows].argmax(0)
                arg[k] = rows[j]
                out[k] = a[rows].max(0)
        ctx.arg, ctx.shape = arg, a.shape
        return paddle.to_tensor(out)

    @staticmethod
    def backward(ctx, g):
        g = g.numpy()
        d = np.zeros(ctx.shape, g.dtype)
        for k in range(g.shape[0]):
            for c in range(g.shape[1]):
                if ctx.arg[k, c] >= 0:
                    d[ctx.arg[k, c], c] += g[k, c]
        return paddle.to_tensor(d), None


class PReLUChannels(PyLayer):
    @staticmethod
    def forward(ctx, x, a):
        # a has one slope per channel (axis 1)
        if x.ndim < 2 or a.shape != [x.shape[1]]:
            raise ValueError("one slope per channel")
        w = a.reshape([1, -1] + [1] * (x.ndim - 2))
        ctx.save_for_backward(x, w)
        return paddle.where(x > 0, x, w * x)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensor()
        neg = (x <= 0).astype(x.dtype)
        dx = g * (1 - neg) + g * neg * w
        da = (g * x * neg).sum([0] + list(range(2, x.ndim)))
        return dx, da


class QKNorm(PyLayer):
    """l2-normalise the last axis and scale by a learnt number"""

    @staticmethod
    def forward(ctx, x, s, eps=1e-6):
        if s.size != 1:
            raise ValueError("s is one number")
        r = paddle.rsqrt((x * x).sum(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, r, s)
        return x * r * s

    @staticmethod
    def backward(ctx, g):
        x, r, s = ctx.saved_tensor()
        h = x * r
        dx = s * r * (g - h * (g * h).sum(-1, keepdim=True))
        return dx, (g * h).sum().reshape(s.shape)


class HarmonicMean(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=-1, keepdim=False):
        y = x.shape[axis] / (1 / x).sum(axis, keepdim=True)
        ctx.save_for_backward(x, y)
        ctx.axis, ctx.keep = axis, keepdim
        return y if keepdim else y.squeeze(axis)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensor()
        g = g.reshape(y.shape)
        return g * (y / x) ** 2 / x.shape[ctx.axis]


class Conv2dIm2col(PyLayer):
    """valid convolution of one image (C, H, W) with (O, C, kh, kw)"""

    @staticmethod
    def _cols(a, kh, kw, s):
        C, H, W = a.shape
        oh, ow = (H - kh) // s + 1, (W - kw) // s + 1
        cols = np.empty((C, kh, kw, oh, ow), a.dtype)
        for i in range(kh):
            for j in range(kw):
                cols[:, i, j] = a[:, i:i + s * oh:s, j:j + s * ow:s]
        return cols

    @staticmethod
    def forward(ctx, x, w, stride=1):
        a, k = x.numpy(), w.numpy()
        if a.ndim != 3 or k.ndim != 4 or k.shape[1] != a.shape[0] or k.shape[2] > a.shape[1] or k.shape[3] > a.shape[2]:
            raise ValueError("conv")
        cols = Conv2dIm2col._cols(a, k.shape[2], k.shape[3], stride)
        ctx.save = (a.shape, k, cols, stride)
        return paddle.to_tensor(np.einsum("ocij,cijhw->ohw", k, cols))

    @staticmethod
    def backward(ctx, g):
        shape, k, cols, s = ctx.save
        g = g.numpy()
        dk = np.einsum("ohw,cijhw->ocij", g, cols)
        dc = np.einsum("ohw,ocij->cijhw", g, k)
        d = np.zeros(shape, g.dtype)
        oh, ow = g.shape[1:]
        for i in range(k.shape[2]):
            for j in range(k.shape[3]):
                d[:, i:i + s * oh:s, j:j + s * ow:s] += dc[:, i, j]
        return paddle.to_tensor(d), paddle.to_tensor(dk)


class LogCosine(PyLayer):
    """periodic kernel exp(-2 sin^2(pi |x - y| / p) / l^2); p, l are 0-d or [1] tensors"""

    @staticmethod
    def forward(ctx, x, y, p, l):
        if x.shape != y.shape or p.size != 1 or l.size != 1:
            raise ValueError("kernel")
        a = np.pi * (x - y) / p
        s = paddle.sin(a)
        k = paddle.exp(-2 * s * s / (l * l))
        ctx.save_for_backward(x, y, p, l, s, k)
        return k

    @staticmethod
    def backward(ctx, g):
        x, y, p, l, s, k = ctx.saved_tensor()
        a = np.pi * (x - y) / p
        ds = -4 * s / (l * l) * k * g
        da = ds * paddle.cos(a)
        dx = da * np.pi / p
        dp = -(da * a / p).sum().reshape(p.shape)
        dl = (g * k * 4 * s * s / (l * l * l)).sum().reshape(l.shape)
        return dx, -dx, dp, dl
