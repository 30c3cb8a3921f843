import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class LayerNormLast(PyLayer):
    @staticmethod
    def forward(ctx, x, gamma, beta, epsilon=1e-5):
        if gamma.shape != [x.shape[-1]] or beta.shape != [x.shape[-1]]:
            raise ValueError("gamma and beta must be [D]")
        xc = x - x.mean(axis=-1, keepdim=True)
        rstd = paddle.rsqrt((xc * xc).mean(axis=-1, keepdim=True) + epsilon)
        xhat = xc * rstd
        ctx.save_for_backward(xhat, rstd, gamma)
        return xhat * gamma + beta

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, gamma = ctx.saved_tensor()
        d = xhat.shape[-1]
        g = dy * gamma
        dx = rstd * (g - g.mean(axis=-1, keepdim=True))
        flat = dy.reshape([-1, d])
        return dx, (flat * xhat.reshape([-1, d])).sum(axis=0), flat.sum(axis=0)


class RMSNormRef(PyLayer):
    """numpy reference of T5 layer norm"""

    @staticmethod
    def forward(ctx, x, w, eps=1e-6):
        xn, wn = x.numpy(), w.numpy()
        if wn.ndim != 1 or wn.shape[0] != xn.shape[-1]:
            raise ValueError("w must be [D]")
        r = 1.0 / np.sqrt(np.mean(xn ** 2, -1, keepdims=True) + eps)
        ctx.keep = (xn, wn, r)
        return paddle.to_tensor((xn * r * wn).astype(xn.dtype))

    @staticmethod
    def backward(ctx, dy):
        x, w, r = ctx.keep
        g = dy.numpy()
        gw = g * w
        dx = r * gw - x * r ** 3 * np.sum(gw * x, -1, keepdims=True)
        dw = (g * x * r).reshape(-1, x.shape[-1]).sum(0)
        return paddle.to_tensor(dx.astype(x.dtype)), paddle.to_tensor(dw.astype(w.dtype))


class UnitNorm(PyLayer):
    """x / max(||x||_2, eps) along `axis`"""

    @staticmethod
    def forward(ctx, x, axis=-1, eps=1e-12):
        n = paddle.sqrt((x * x).sum(axis=axis, keepdim=True))
        d = paddle.clip(n, min=eps)
        y = x / d
        ctx.save_for_backward(y, d, (n > eps).astype(x.dtype))
        return y

    @staticmethod
    def backward(ctx, dy):
        y, d, live = ctx.saved_tensor()
        return (dy - y * (dy * y).sum(axis=-1, keepdim=True) * live) / d


class RotaryEmbedding(PyLayer):
    """Interleaved rotary embedding. x [B, T, H, D], pos [T] integer."""

    @staticmethod
    def _rotate(x, cos, sin):
        a, b = x[..., 0::2], x[..., 1::2]
        y = paddle.stack([a * cos - b * sin, a * sin + b * cos], axis=-1)
        return y.reshape(x.shape)

    @staticmethod
    def forward(ctx, x, pos, base=10000.0):
        if x.ndim != 4 or x.shape[-1] % 2 or pos.shape != [x.shape[1]]:
            raise ValueError("x [B, T, H, D] with even D, pos [T]")
        h = x.shape[-1] // 2
        inv = base ** (-paddle.arange(h).astype(x.dtype) / h)
        ang = (pos.astype(x.dtype).unsqueeze(1) * inv).unsqueeze(0).unsqueeze(2)
        cos, sin = paddle.cos(ang), paddle.sin(ang)
        ctx.save_for_backward(cos, sin)
        return RotaryEmbedding._rotate(x, cos, sin)

    @staticmethod
    def backward(ctx, dy):
        cos, sin = ctx.saved_tensor()
        return RotaryEmbedding._rotate(dy, cos, sin), None


class BagOfEmbeddings(PyLayer):
    """Mean of table rows, ids [B, L]."""

    @staticmethod
    def forward(ctx, table, ids):
        w, i = table.numpy(), ids.numpy()
        if i.ndim != 2 or w.ndim != 2:
            raise ValueError("table [V, D], ids [B, L]")
        if i.min() < 0 or i.max() >= w.shape[0]:
            raise IndexError("id out of range")
        ctx.ids, ctx.shape = i, w.shape
        return paddle.to_tensor(w[i].mean(1))

    @staticmethod
    def backward(ctx, dy):
        g = dy.numpy()
        b, l = ctx.ids.shape
        dw = np.zeros(ctx.shape, g.dtype)
        dw[ctx.ids.reshape(-1)] += np.repeat(g / l, l, axis=0)
        return paddle.to_tensor(dw), None


class SlidingMax(PyLayer):
    """[N, C, L] -> [N, C, (L - k) // s + 1]"""

    @staticmethod
    def forward(ctx, x, k=3, s=1):
        a = x.numpy()
        if a.ndim != 3 or a.shape[2] < k:
            raise ValueError("bad input for SlidingMax")
        o = (a.shape[2] - k) // s + 1
        pos = np.arange(o)[:, None] * s + np.arange(k)[None, :]
        win = a[:, :, pos]
        ctx.src = win.argmax(-1) + np.arange(o) * s
        ctx.in_shape = a.shape
        return paddle.to_tensor(win.max(-1))

    @staticmethod
    def backward(ctx, dy):
        g = dy.numpy()
        dx = np.zeros(ctx.in_shape, g.dtype)
        np.put_along_axis(dx, ctx.src, g, axis=2)
        return paddle.to_tensor(dx)


class ConvNCL(PyLayer):
    @staticmethod
    def forward(ctx, x, w, stride=1, padding=0):
        if x.ndim != 3 or w.ndim != 3 or x.shape[1] != w.shape[1]:
            raise ValueError("x [N, Ci, L], w [Co, Ci, K]")
        l, k = x.shape[2], w.shape[2]
        xp = np.pad(x.numpy(), ((0, 0), (0, 0), (padding, padding)))
        o = (l + 2 * padding - k) // stride + 1
        if o < 1:
            raise ValueError("kernel larger than input")
        idx = np.arange(o)[:, None] * stride + np.arange(k)
        cols = xp[:, :, idx]
        ctx.cols, ctx.w, ctx.idx = cols, w.numpy(), idx
        ctx.padded, ctx.l = xp.shape, l
        return paddle.to_tensor(np.einsum("ncok,dck->ndo", cols, ctx.w))

    @staticmethod
    def backward(ctx, dy):
        g = dy.numpy()
        dw = np.einsum("ndo,ncok->dck", g, ctx.cols)
        dcol = np.einsum("ndo,dck->ncok", g, ctx.w)
        dxp = np.zeros(ctx.padded, g.dtype)
        np.add.at(dxp, (slice(None), slice(None), ctx.idx), dcol)
        return paddle.to_tensor(np.ascontiguousarray(dxp[:, :, :ctx.l])), paddle.to_tensor(dw)


class SegmentMean(PyLayer):
    """Mean of rows sharing a segment id. x [N, D], seg [N] ints in [0, num)."""

    @staticmethod
    def forward(ctx, x, seg, num):
        a, s = x.numpy(), seg.numpy()
        if a.ndim != 2 or s.shape != a.shape[:1]:
            raise ValueError("x [N, D], seg [N]")
        if s.min() < 0 or s.max() >= num:
            raise IndexError("segment id out of range")
        out = np.zeros((num, a.shape[1]), a.dtype)
        np.add.at(out, s, a)
        cnt = np.maximum(np.bincount(s, minlength=num), 1).astype(a.dtype)
        ctx.s = s
        return paddle.to_tensor(out / cnt[:, None])

    @staticmethod
    def backward(ctx, dy):
        return paddle.to_tensor(dy.numpy()[ctx.s]), None


class BatchStandardize(PyLayer):
    """(x - mean) / std over the batch axis, no affine."""

    xhat = None
    rstd = None

    @classmethod
    def _stats(cls, x, eps):
        mu = x.mean(axis=0, keepdim=True)
        cls.rstd = paddle.rsqrt(((x - mu) ** 2).mean(axis=0, keepdim=True) + eps)
        cls.xhat = (x - mu) * cls.rstd

    @staticmethod
    def forward(ctx, x, eps=1e-5):
        BatchStandardize._stats(x, eps)
        return BatchStandardize.xhat * 1.0

    @staticmethod
    def backward(ctx, dy):
        h, r = BatchStandardize.xhat, BatchStandardize.rstd
        m = dy.mean(axis=0, keepdim=True)
        c = (dy * h).mean(axis=0, keepdim=True)
        return r * (dy - m - h * c)


class AvgPool2D(PyLayer):
    """k x k average pooling, stride k, border windows average real pixels only."""

    @staticmethod
    def forward(ctx, x, k=2, padding=0):
        if x.ndim != 4 or padding >= k:
            raise ValueError("NCHW input, padding < k")
        a = x.numpy()
        n, c, h, w = a.shape
        pw = ((0, 0), (0, 0), (padding, padding), (padding, padding))
        ap = np.pad(a, pw)
        ones = np.pad(np.ones((1, 1, h, w), a.dtype), pw)
        oh, ow = ap.shape[2] // k, ap.shape[3] // k
        if oh < 1 or ow < 1:
            raise ValueError("window larger than input")
        block = lambda m: m[:, :, :oh * k, :ow * k].reshape(m.shape[0], m.shape[1], oh, k, ow, k)
        ctx.cfg = (a.shape, ap.shape, k, padding, oh, ow)
        return paddle.to_tensor(block(ap).sum((3, 5)) / np.maximum(block(ones).sum((3, 5)), 1))

    @staticmethod
    def backward(ctx, dy):
        shape, pshape, k, p, oh, ow = ctx.cfg
        g = dy.numpy() / (k * k)
        gp = np.zeros(pshape, g.dtype)
        gp[:, :, :oh * k, :ow * k] = np.repeat(np.repeat(g, k, 2), k, 3)
        return paddle.to_tensor(np.ascontiguousarray(gp[:, :, p:p + shape[2], p:p + shape[3]]))
