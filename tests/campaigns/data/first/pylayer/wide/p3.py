# -*- coding: utf-8 -*-
import math

import numpy as np
import paddle
from paddle import nn
from paddle.autograd import PyLayer


class LinearCrossEntropy(PyLayer):
    """fused  x @ W -> CE,  x (N, D), W (D, V), labels (N,) int64, sum over rows"""

    @staticmethod
    def forward(ctx, x, w, labels):
        xn, wn, y = x.numpy(), w.numpy(), labels.numpy()
        if xn.ndim != 2 or wn.ndim != 2 or y.shape != (xn.shape[0],):
            raise ValueError("bad shapes")
        z = xn @ wn
        z = z - z.max(1, keepdims=True)
        e = np.exp(z)
        p = e / e.sum(1, keepdims=True)
        rows = np.arange(len(y))
        loss = -(z[rows, y] - np.log(e.sum(1))).sum()
        p[rows, y] -= 1
        ctx.cache = (xn, wn, p)
        return paddle.to_tensor(loss, dtype=x.dtype)

    @staticmethod
    def backward(ctx, g):
        xn, wn, p = ctx.cache
        k = float(g)
        return paddle.to_tensor(k * p @ wn.T), paddle.to_tensor(k * xn.T @ p), None


class InstanceNorm2D(PyLayer):
    @staticmethod
    def forward(ctx, x, eps=1e-5):
        assert x.ndim == 4
        mu = x.mean([2, 3], keepdim=True)
        xc = x - mu
        var = (xc * xc).mean([2, 3], keepdim=True)
        rstd = (var + eps) ** -0.5
        ctx.save_for_backward(xc * rstd, rstd)
        return xc * rstd

    @staticmethod
    def backward(ctx, dy):
        y, rstd = ctx.saved_tensor()
        m1 = dy.mean([2, 3], keepdim=True)
        m2 = (dy * y).mean([2, 3], keepdim=True)
        return rstd * (dy - m1 - y * m2)


class BatchNormTrain(PyLayer):
    """x (N, C, ...) with gamma, beta; training statistics"""

    @staticmethod
    def forward(ctx, x, gamma, beta, eps=1e-5):
        ax = [i for i in range(x.ndim) if i != 1]
        shp = [1, -1] + [1] * (x.ndim - 2)
        mu = x.mean(ax, keepdim=True)
        var = ((x - mu) ** 2).mean(ax, keepdim=True)
        inv = 1.0 / paddle.sqrt(var + eps)
        xh = (x - mu) * inv
        ctx.save_for_backward(xh, inv, gamma)
        ctx.ax, ctx.shp = ax, shp
        return xh * gamma.reshape(shp) + beta.reshape(shp)

    @staticmethod
    def backward(ctx, dy):
        xh, inv, gamma = ctx.saved_tensor()
        n = xh.size / xh.shape[1]
        dg = (dy * xh).sum(ctx.ax)
        db = dy.sum(ctx.ax)
        dx = gamma.reshape(ctx.shp) * inv / n * (n * dy - db.reshape(ctx.shp) - dg.reshape(ctx.shp))
        return dx, dg, db


class MatMulRelPos(PyLayer):
    """scores[i, j] = q_i . (k_j + r_{i - j + n - 1})"""

    @staticmethod
    def forward(ctx, q, k, r):
        n, d = q.shape
        if k.shape != [n, d] or r.shape != [2 * n - 1, d]:
            raise ValueError("relpos")
        i = np.arange(n)
        ctx.idx = (i[:, None] - i[None, :]) + n - 1
        rr = r.numpy()[ctx.idx]
        ctx.save_for_backward(q, k, r)
        return q.matmul(k.t()) + paddle.to_tensor(np.einsum("id,ijd->ij", q.numpy(), rr))

    @staticmethod
    def backward(ctx, g):
        q, k, r = ctx.saved_tensor()
        gn = g.numpy()
        rr = r.numpy()[ctx.idx]
        dq = g.matmul(k) + paddle.to_tensor(np.einsum("ij,ijd->id", gn, rr))
        dk = g.t().matmul(q)
        dr = np.zeros(r.shape, gn.dtype)
        np.add.at(dr, ctx.idx, gn[:, :, None] * q.numpy()[:, None, :])
        return dq, dk, paddle.to_tensor(dr)


class MaxPool2x2(PyLayer):
    @staticmethod
    def forward(ctx, x):
        n, c, h, w = x.shape
        a = x.numpy()[:, :, : h // 2 * 2, : w // 2 * 2]
        a = a.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        ctx.arg = a.argmax(-1)
        ctx.shape = [n, c, h, w]
        return paddle.to_tensor(a.max(-1))

    @staticmethod
    def backward(ctx, g):
        n, c, h, w = ctx.shape
        g = g.numpy()
        out = np.zeros((n, c, h // 2, w // 2, 4), g.dtype)
        np.put_along_axis(out, ctx.arg[..., None], g[..., None], -1)
        out = out.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        out = out.reshape(n, c, h // 2 * 2, w // 2 * 2)
        full = np.zeros(ctx.shape, g.dtype)
        full[:, :, : out.shape[2], : out.shape[3]] = out
        return paddle.to_tensor(full)


class WeightedBCELogits(PyLayer):
    @staticmethod
    def forward(ctx, z, y, pos_weight=1.0, reduction="mean"):
        if z.shape != y.shape:
            raise ValueError("shape")
        lw = 1 + (pos_weight - 1) * y
        loss = (1 - y) * z + lw * (paddle.log1p(paddle.exp(-paddle.abs(z))) + paddle.clip(-z, min=0))
        ctx.save_for_backward(z, y)
        ctx.pw, ctx.red = pos_weight, reduction
        if reduction == "none":
            return loss
        return loss.mean() if reduction == "mean" else loss.sum()

    @staticmethod
    def backward(ctx, g):
        z, y = ctx.saved_tensor()
        lw = 1 + (ctx.pw - 1) * y
        d = (1 - y) - lw * nn.functional.sigmoid(-z)
        if ctx.red != "none":
            d = d / z.size
        return g * d, None


class LeakyClampGate(PyLayer):
    """x for x in [-1, 1], slope s beyond"""

    @staticmethod
    def forward(ctx, x, s=0.1):
        c = paddle.clip(x, -1.0, 1.0)
        ctx.save_for_backward(x)
        ctx.s = s
        return c + s * (x - c)

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensor()
        return paddle.where(x <= 1.0, dy, ctx.s * dy)


class Depthwise3(PyLayer):
    """three-tap smoothing of a signal along the last axis, zero borders, weights w (3,)"""

    @staticmethod
    def forward(ctx, x, w):
        if w.shape != [3]:
            raise ValueError("three taps")
        ctx.save_for_backward(x, w)
        z = paddle.zeros_like(x[..., :1])
        l = paddle.concat([z, x[..., :-1]], -1)
        r = paddle.concat([x[..., 1:], z], -1)
        return w[0] * l + w[1] * x + w[2] * r

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensor()
        z = paddle.zeros_like(x[..., :1])
        gl = paddle.concat([z, g[..., :-1]], -1)
        gr = paddle.concat([g[..., 1:], z], -1)
        dx = w[0] * gl + w[1] * g + w[2] * gr
        xl = paddle.concat([z, x[..., :-1]], -1)
        xr = paddle.concat([x[..., 1:], z], -1)
        dw = paddle.stack([(g * xl).sum(), (g * x).sum(), (g * xr).sum()])
        return dx, dw.reshape([3])


class GumbelHardless(PyLayer):
    """softmax((logits + noise) / tau); noise is given"""

    @staticmethod
    def forward(ctx, logits, noise, tau=1.0):
        if logits.shape != noise.shape:
            raise ValueError
        y = nn.functional.softmax((logits + noise) / tau, -1)
        ctx.save_for_backward(y)
        ctx.tau = tau
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensor()
        d = y * (g - (g * y).sum(-1, keepdim=True))
        return d, d


class DotProductPool(PyLayer):
    """attention pooling with one query: x (B, T, D), q (D,) -> (B, D)"""

    @staticmethod
    def forward(ctx, x, q):
        if x.ndim != 3 or q.shape != [x.shape[2]]:
            raise ValueError("pool")
        s = (x * q).sum(-1)
        a = nn.functional.softmax(s, -1)
        ctx.save_for_backward(x, q, a)
        return (a.unsqueeze(-1) * x).sum(1)

    @staticmethod
    def backward(ctx, g):
        x, q, a = ctx.saved_tensor()
        ga = (g.unsqueeze(1) * x).sum(-1)
        gs = a * (ga - (ga * a).sum(-1, keepdim=True))
        gx = a.unsqueeze(-1) * g.unsqueeze(1) + gs.unsqueeze(-1) * q
        gq = (gs.unsqueeze(-1) * x).sum([0, 1])
        return gx, gq
