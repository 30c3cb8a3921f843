import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class FusedLayerNorm(PyLayer):
    """LayerNorm over the last axis with affine parameters."""

    @staticmethod
    def forward(ctx, x, gamma, beta, epsilon=1e-5):
        if gamma.shape != [x.shape[-1]] or beta.shape != [x.shape[-1]]:
            raise ValueError("gamma and beta must be [D]")
        mu = x.mean(axis=-1, keepdim=True)
        xc = x - mu
        rstd = paddle.rsqrt((xc * xc).mean(axis=-1, keepdim=True) + epsilon)
        xhat = xc * rstd
        ctx.save_for_backward(xhat, rstd, gamma)
        return xhat * gamma + beta

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, gamma = ctx.saved_tensor()
        d = xhat.shape[-1]
        dxhat = dy * gamma
        dx = rstd * (dxhat - dxhat.mean(axis=-1, keepdim=True)
                     - xhat * (dxhat * xhat).mean(axis=-1, keepdim=True))
        dgamma = (dy * xhat).reshape([-1, d]).sum(axis=0)
        dbeta = dy.reshape([-1, d]).sum(axis=0)
        return dx, dgamma, dbeta


class RMSNorm(PyLayer):
    # reference numpy kernel, used to validate the CUDA one
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
        dx = r * gw - x * r ** 3 * np.mean(gw * x, -1, keepdims=True)
        dw = (g * x * r).reshape(-1, x.shape[-1]).sum(0)
        return paddle.to_tensor(dx.astype(x.dtype)), paddle.to_tensor(dw.astype(w.dtype))


class L2Normalize(PyLayer):
    """x / max(||x||_2, eps) along `axis`"""

    @staticmethod
    def forward(ctx, x, axis=1, eps=1e-12):
        n = paddle.sqrt((x * x).sum(axis=axis, keepdim=True))
        d = paddle.clip(n, min=eps)
        y = x / d
        ctx.save_for_backward(y, d, (n > eps).astype(x.dtype))
        ctx.axis = axis
        return y

    @staticmethod
    def backward(ctx, dy):
        y, d, live = ctx.saved_tensor()
        proj = (dy * y).sum(axis=ctx.axis, keepdim=True) * live
        return (dy - y * proj) / d


class ScaledDotProductAttention(PyLayer):
    """q, k, v: [B, H, T, Dh]. Optional boolean mask, True = may attend."""

    @staticmethod
    def forward(ctx, q, k, v, mask=None, causal=False):
        if not (q.ndim == k.ndim == v.ndim == 4):
            raise ValueError("4-D tensors expected")
        if not (q.shape[:2] == k.shape[:2] == v.shape[:2] and k.shape[2] == v.shape[2]):
            raise ValueError("q, k, v do not match")
        scale = q.shape[-1] ** -0.5
        s = paddle.matmul(q, k, transpose_y=True) * scale
        allow = paddle.ones(s.shape, dtype="bool")
        if mask is not None:
            if mask.dtype != paddle.bool:
                raise TypeError("boolean mask expected")
            allow = paddle.broadcast_to(mask, s.shape)
        if causal:
            tri = paddle.tril(paddle.ones(s.shape[-2:], dtype="int32")).astype("bool")
            allow = paddle.logical_and(allow, paddle.broadcast_to(tri, s.shape))
        s = paddle.where(allow, s, paddle.full_like(s, -1e9))
        p = F.softmax(s, axis=-1)
        ctx.save_for_backward(q, k, v, p, allow.astype(q.dtype))
        ctx.scale = scale
        ctx.with_mask = mask is not None
        return paddle.matmul(p, v)

    @staticmethod
    def backward(ctx, do):
        q, k, v, p, allow = ctx.saved_tensor()
        dv = paddle.matmul(p, do, transpose_x=True)
        dp = paddle.matmul(do, v, transpose_y=True)
        ds = p * (dp - (dp * p).sum(axis=-1, keepdim=True)) * allow * ctx.scale
        dq = paddle.matmul(ds, k)
        dk = paddle.matmul(ds, q, transpose_x=True)
        if ctx.with_mask:
            return dq, dk, dv, None
        return dq, dk, dv


class RoPE(PyLayer):
    """Rotary embedding, half-split layout. x [B, T, H, D], position_ids [T]."""

    @staticmethod
    def forward(ctx, x, position_ids, base=10000.0):
        if x.ndim != 4 or x.shape[-1] % 2:
            raise ValueError("x must be [B, T, H, D] with even D")
        if position_ids.shape != [x.shape[1]]:
            raise ValueError("one position per token")
        h = x.shape[-1] // 2
        inv = base ** (-paddle.arange(h).astype(x.dtype) / h)
        ang = position_ids.astype(x.dtype).unsqueeze(1) * inv.unsqueeze(0)
        cos, sin = (f(ang).unsqueeze(0).unsqueeze(2) for f in (paddle.cos, paddle.sin))
        ctx.save_for_backward(cos, sin)
        ctx.h = h
        a, b = x[..., :h], x[..., h:]
        return paddle.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)

    @staticmethod
    def backward(ctx, dy):
        cos, sin = ctx.saved_tensor()
        a, b = dy[..., :ctx.h], dy[..., ctx.h:]
        return paddle.concat([a * cos + b * sin, b * cos - a * sin], axis=-1), None


class EmbeddingBagMean(PyLayer):
    @staticmethod
    def forward(ctx, weight, ids, padding_idx=None):
        w = weight.numpy()
        i = ids.numpy()
        if i.ndim != 2 or w.ndim != 2:
            raise ValueError("weight [V, D], ids [B, L]")
        if i.min() < 0 or i.max() >= w.shape[0]:
            raise IndexError("id out of range")
        m = np.ones(i.shape, w.dtype) if padding_idx is None else (i != padding_idx).astype(w.dtype)
        m = m / np.maximum(m.sum(1, keepdims=True), 1)
        ctx.i, ctx.m, ctx.shape = i, m, w.shape
        return paddle.to_tensor((w[i] * m[..., None]).sum(1))

    @staticmethod
    def backward(ctx, dy):
        g = dy.numpy()
        dw = np.zeros(ctx.shape, g.dtype)
        np.add.at(dw, ctx.i, ctx.m[..., None] * g[:, None, :])
        return paddle.to_tensor(dw), None


class MaxPool1D(PyLayer):
    """[N, C, L] -> [N, C, (L - k) // s + 1]"""

    @staticmethod
    def forward(ctx, x, k=3, s=1):
        a = x.numpy()
        if a.ndim != 3 or a.shape[2] < k:
            raise ValueError("bad input for MaxPool1D")
        n, c, l = a.shape
        o = (l - k) // s + 1
        pos = np.arange(o)[:, None] * s + np.arange(k)[None, :]
        win = a[:, :, pos]
        am = win.argmax(-1)
        ctx.src = am + np.arange(o) * s
        ctx.in_shape = a.shape
        return paddle.to_tensor(win.max(-1))

    @staticmethod
    def backward(ctx, dy):
        g = dy.numpy()
        n, c, l = ctx.in_shape
        dx = np.zeros(ctx.in_shape, g.dtype)
        bi = np.arange(n)[:, None, None]
        ci = np.arange(c)[None, :, None]
        np.add.at(dx, (bi, ci, ctx.src), g)
        return paddle.to_tensor(dx)


class Conv1D(PyLayer):
    @staticmethod
    def forward(ctx, x, w, b=None, stride=1, padding=0):
        if x.ndim != 3 or w.ndim != 3 or x.shape[1] != w.shape[1]:
            raise ValueError("x [N, Ci, L], w [Co, Ci, K]")
        if b is not None and b.shape != [w.shape[0]]:
            raise ValueError("b [Co]")
        n, ci, l = x.shape
        co, _, k = w.shape
        xp = F.pad(x, [padding, padding], data_format="NCL") if padding else x
        o = (l + 2 * padding - k) // stride + 1
        if o < 1:
            raise ValueError("kernel larger than input")
        y = 0
        for j in range(k):
            y = y + paddle.einsum("ncl,oc->nol", xp[:, :, j:j + (o - 1) * stride + 1:stride], w[:, :, j])
        if b is not None:
            y = y + b.reshape([1, co, 1])
        ctx.save_for_backward(xp, w)
        ctx.cfg = (stride, padding, o, l, b is not None)
        return y

    @staticmethod
    def backward(ctx, dy):
        xp, w = ctx.saved_tensor()
        stride, padding, o, l, has_b = ctx.cfg
        k = w.shape[2]
        g = dy.numpy()
        gx = np.zeros(xp.shape, g.dtype)
        gw = []
        for j in range(k):
            sl = slice(j, j + (o - 1) * stride + 1, stride)
            gx[:, :, sl] += np.einsum("nol,oc->ncl", g, w[:, :, j].numpy())
            gw.append(paddle.einsum("nol,ncl->oc", dy, xp[:, :, sl]))
        dx = paddle.to_tensor(np.ascontiguousarray(gx[:, :, padding:padding + l]))
        dw = paddle.stack(gw, axis=-1)
        return (dx, dw, dy.sum(axis=[0, 2])) if has_b else (dx, dw)


class CumProd(PyLayer):
    """Inclusive cumulative product whose gradient survives zeros in x."""

    @staticmethod
    def forward(ctx, x, axis=-1):
        a = np.moveaxis(x.numpy(), axis, 0)
        ctx.a, ctx.axis = a, axis
        return paddle.to_tensor(np.ascontiguousarray(np.moveaxis(np.cumprod(a, 0), 0, axis)))

    @staticmethod
    def backward(ctx, dy):
        a = ctx.a
        g = np.moveaxis(dy.numpy(), ctx.axis, 0)
        out = np.zeros_like(a)
        pre = np.ones_like(a[0])
        for j in range(a.shape[0]):
            run = pre
            for i in range(j, a.shape[0]):
                if i > j:
                    run = run * a[i]
                out[j] += g[i] * run
            pre = pre * a[j]
        return paddle.to_tensor(np.ascontiguousarray(np.moveaxis(out, 0, ctx.axis)))
