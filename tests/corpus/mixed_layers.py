"""PyLayers of many kinds without cases, and single faults in these.

Attention, losses with reductions, normalisations, quantisers, pooling, gathering, fused and listed inputs, options that may
be left out. The oracle of the campaigns has judged each at the shapes of its typical call.
"""

from __future__ import annotations

from tests.corpus.layer_model import Fault, Layer, planted

__all__ = ["MIXED", "MIXED_FAULTY"]

L = Layer

ROWS = (
    L("DotAttention", "q, k, v, mask=None, scale=None", """
        s = scale if scale is not None else q.shape[-1] ** -0.5
        z = np.matmul(q.numpy(), np.swapaxes(k.numpy(), -1, -2)) * s
        if mask is not None:
            z = z + mask.numpy()
        z = z - z.max(axis=-1, keepdims=True)
        p = np.exp(z)
        p = p / p.sum(axis=-1, keepdims=True)
        ctx.save_for_backward(q, k, v)
        ctx.p, ctx.s, ctx.has_mask = p, s, mask is not None
        return paddle.to_tensor(np.matmul(p, v.numpy()))
        """, """
        q, k, v = (t.numpy() for t in ctx.saved_tensor())
        g = dy.numpy()
        dv = np.matmul(np.swapaxes(ctx.p, -1, -2), g)
        dp = np.matmul(g, np.swapaxes(v, -1, -2))
        dz = ctx.p * (dp - (dp * ctx.p).sum(axis=-1, keepdims=True)) * ctx.s
        grads = paddle.to_tensor(np.matmul(dz, k)), paddle.to_tensor(np.matmul(np.swapaxes(dz, -1, -2), q)), paddle.to_tensor(dv)
        return (*grads, None) if ctx.has_mask else grads
        """, call="leaf(2, 3, 4), leaf(2, 5, 4), leaf(2, 5, 4)", tags="saves option"),
    L("LinearAttention", "q, k, v", """
        a, b, c = q.numpy(), k.numpy(), v.numpy()
        fa = np.where(a > 0, a + 1, np.exp(np.minimum(a, 0)))
        fb = np.where(b > 0, b + 1, np.exp(np.minimum(b, 0)))
        kv = np.einsum("nd,ne->de", fb, c)
        z = fb.sum(axis=0)
        den = fa @ z + 1e-6
        num = fa @ kv
        ctx.t = (a, b, c, fa, fb, kv, z, den, num)
        return paddle.to_tensor(num / den[:, None])
        """, """
        a, b, c, fa, fb, kv, z, den, num = ctx.t
        g = dy.numpy()
        dnum = g / den[:, None]
        dden = -(g * num).sum(axis=1) / den ** 2
        dfa = dnum @ kv.T + dden[:, None] * z
        dkv = fa.T @ dnum
        dz = fa.T @ dden
        dfb = c @ dkv.T + dz
        dc = fb @ dkv
        slope = lambda t: np.where(t > 0, 1.0, np.exp(np.minimum(t, 0))).astype(t.dtype)
        return paddle.to_tensor(dfa * slope(a)), paddle.to_tensor(dfb * slope(b)), paddle.to_tensor(dc)
        """, call="leaf(3, 4), leaf(5, 4), leaf(5, 2)", tags="saves"),
    L("CausalSoftmax", "scores", """
        s = scores.numpy()
        n = s.shape[-1]
        keep = np.tril(np.ones((n, n), dtype=bool))
        z = np.where(keep, s, -np.inf)
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
        ctx.save_for_backward(paddle.to_tensor(p))
        return paddle.to_tensor(p)
        """, """
        (p,) = ctx.saved_tensor()
        return p * (dy - (dy * p).sum(axis=-1, keepdim=True))
        """, call="leaf(2, 4, 4)", tags="saves"),
    L("RopeHalf", "x, base=10000.0", """
        half = x.shape[-1] // 2
        if 2 * half != x.shape[-1]:
            raise ValueError("the last axis must be even")
        freq = base ** (-np.arange(half) / half)
        angle = np.arange(x.shape[-2])[:, None] * freq[None, :]
        v = x.numpy()
        cos, sin = np.cos(angle).astype(v.dtype), np.sin(angle).astype(v.dtype)
        ctx.cos, ctx.sin = cos, sin
        a, b = v[..., :half], v[..., half:]
        return paddle.to_tensor(np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1))
        """, """
        g = dy.numpy()
        half = g.shape[-1] // 2
        a, b = g[..., :half], g[..., half:]
        return paddle.to_tensor(np.concatenate([a * ctx.cos + b * ctx.sin, b * ctx.cos - a * ctx.sin], axis=-1))
        """, call="leaf(2, 3, 4)", tags="option"),
    L("AlibiScores", "scores, slope=0.5", """
        n, m = scores.shape[-2], scores.shape[-1]
        distance = paddle.to_tensor(np.arange(m)[None, :] - np.arange(n)[:, None]).astype(scores.dtype)
        return scores + slope * distance
        """, "return dy", call="leaf(2, 3, 3)", tags="option"),
    L("QuietSoftmax", "x, axis=-1", """
        m = paddle.maximum(x.max(axis=axis, keepdim=True), paddle.zeros([1], x.dtype))
        e = paddle.exp(x - m)
        p = e / (paddle.exp(-m) + e.sum(axis=axis, keepdim=True))
        ctx.save_for_backward(p)
        ctx.axis = axis
        return p
        """, """
        (p,) = ctx.saved_tensor()
        return p * (dy - (dy * p).sum(axis=ctx.axis, keepdim=True))
        """, tags="saves option"),
    L("CeIgnore", "logits, labels, ignore_index=-100, reduction='mean'", """
        z, t = logits.numpy(), labels.numpy()
        valid = t != ignore_index
        if reduction not in ("mean", "sum", "none"):
            raise ValueError("reduction is mean, sum or none")
        lse = np.log(np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)) + z.max(axis=1)
        at = np.where(valid, t, 0)
        loss = np.where(valid, lse - z[np.arange(len(z)), at], 0).astype(z.dtype)
        ctx.p, ctx.at, ctx.valid, ctx.reduction = np.exp(z - lse[:, None]), at, valid, reduction
        if reduction == "none":
            return paddle.to_tensor(loss)
        if reduction == "sum":
            return paddle.to_tensor(loss.sum())
        return paddle.to_tensor(np.asarray(loss.sum() / max(valid.sum(), 1), z.dtype))
        """, """
        d = ctx.p.copy()
        d[np.arange(len(d)), ctx.at] -= 1
        d = d * ctx.valid[:, None]
        g = dy.numpy()
        if ctx.reduction == "none":
            d = d * g[:, None]
        elif ctx.reduction == "sum":
            d = d * g
        else:
            d = d * g / max(ctx.valid.sum(), 1)
        return paddle.to_tensor(d.astype(ctx.p.dtype)), None
        """, call="leaf(4, 3), ints([0, -100, 2, 1])", tags="saves option"),
    L("BceReduced", "logits, target, weight=None, reduction='mean'", """
        ctx.save_for_backward(logits, target)
        ctx.weight, ctx.reduction = weight, reduction
        loss = paddle.maximum(logits, paddle.zeros_like(logits)) - logits * target + paddle.log1p(paddle.exp(-paddle.abs(logits)))
        if weight is not None:
            loss = loss * weight
        if reduction == "mean":
            return loss.mean()
        if reduction == "sum":
            return loss.sum()
        return loss
        """, """
        logits, target = ctx.saved_tensor()
        d = F.sigmoid(logits) - target
        if ctx.weight is not None:
            d = d * ctx.weight
        if ctx.reduction == "mean":
            d = d / logits.size
        return dy * d, (None if target.stop_gradient else dy * -logits * (1.0 if ctx.weight is None else ctx.weight) / (logits.size if ctx.reduction == "mean" else 1))
        """, call="leaf(3, 4), const(3, 4, low=0, high=1)", tags="saves option"),
    L("GaussianNll", "mu, target, var", """
        c = mu - target
        ctx.save_for_backward(c, var)
        return (0.5 * (paddle.log(var) + c * c / var)).mean()
        """, """
        c, var = ctx.saved_tensor()
        n = c.size
        return dy * c / var / n, None, dy * 0.5 * (1 / var - c * c / (var * var)) / n
        """, call="leaf(3, 4), const(3, 4), leaf(3, 4, low=0.5, high=2)"),
    L("CosineEmbedding", "x1, x2, y, margin=0.0", """
        a, b, t = x1.numpy(), x2.numpy(), y.numpy()
        na = np.sqrt((a * a).sum(-1) + 1e-12)
        nb = np.sqrt((b * b).sum(-1) + 1e-12)
        c = (a * b).sum(-1) / (na * nb)
        ctx.t = a, b, na, nb, c, t, margin
        loss = np.where(t > 0, 1 - c, np.maximum(0, c - margin))
        return paddle.to_tensor(np.asarray(loss.mean(), a.dtype))
        """, """
        a, b, na, nb, c, t, margin = ctx.t
        dc = np.where(t > 0, -1.0, (c > margin) * 1.0) * dy.numpy() / len(c)
        da = dc[:, None] * (b / (na * nb)[:, None] - a * (c / na ** 2)[:, None])
        db = dc[:, None] * (a / (na * nb)[:, None] - b * (c / nb ** 2)[:, None])
        return paddle.to_tensor(da.astype(a.dtype)), paddle.to_tensor(db.astype(a.dtype)), None
        """, call="leaf(4, 3), leaf(4, 3), paddle.to_tensor(np.array([1, -1, 1, -1]))", tags="option"),
    L("InfoNce", "z1, z2, temperature=0.2", """
        a, b = z1.numpy(), z2.numpy()
        s = a @ b.T / temperature
        s = s - s.max(axis=1, keepdims=True)
        p = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
        ctx.a, ctx.b, ctx.p, ctx.t = a, b, p, temperature
        n = len(a)
        return paddle.to_tensor(np.asarray(-np.log(p[np.arange(n), np.arange(n)]).mean(), a.dtype))
        """, """
        n = len(ctx.a)
        ds = (ctx.p - np.eye(n)) / n / ctx.t * dy.numpy()
        return paddle.to_tensor((ds @ ctx.b).astype(ctx.a.dtype)), paddle.to_tensor((ds.T @ ctx.a).astype(ctx.a.dtype))
        """, call="leaf(4, 3), leaf(4, 3)", tags="saves option"),
    L("WingLoss", "pred, target, omega=2.0, epsilon=0.5", """
        d = pred.numpy() - target.numpy()
        c = omega - omega * np.log1p(omega / epsilon)
        a = np.abs(d)
        ctx.d, ctx.omega, ctx.epsilon = d, omega, epsilon
        return paddle.to_tensor(np.where(a < omega, omega * np.log1p(a / epsilon), a - c).astype(d.dtype))
        """, """
        a = np.abs(ctx.d)
        slope = np.where(a < ctx.omega, ctx.omega / (ctx.epsilon + a), 1.0) * np.sign(ctx.d)
        g = paddle.to_tensor((slope * dy.numpy()).astype(ctx.d.dtype))
        return g, -g
        """, call="leaf(3, 4), leaf(3, 4)", tags="saves option"),
    L("SmoothCeMean", "logits, label, eps=0.1", """
        logp = F.log_softmax(logits, axis=-1)
        k = logits.shape[-1]
        t = F.one_hot(label, k).astype(logits.dtype) * (1 - eps) + eps / k
        ctx.save_for_backward(logp, t)
        return -(t * logp).sum(axis=-1).mean()
        """, """
        logp, t = ctx.saved_tensor()
        rows = logp.size // logp.shape[-1]
        return dy * (paddle.exp(logp) - t) / rows, None
        """, call="leaf(4, 3), ints([0, 2, 1, 1])", tags="saves option"),
    L("BatchNormMode", "x, gamma, beta, mean, var, training=True, eps=1e-5", """
        v = x.numpy()
        if v.ndim != 2:
            raise ValueError("x must be [N, C]")
        if training:
            m, s = v.mean(axis=0), v.var(axis=0)
        else:
            m, s = mean.numpy(), var.numpy()
        inv = 1 / np.sqrt(s + eps)
        hat = (v - m) * inv
        ctx.hat, ctx.inv, ctx.gamma, ctx.training = hat, inv, gamma.numpy(), training
        return paddle.to_tensor((hat * gamma.numpy() + beta.numpy()).astype(v.dtype))
        """, """
        g = dy.numpy()
        dhat = g * ctx.gamma
        if ctx.training:
            dx = ctx.inv * (dhat - dhat.mean(axis=0) - ctx.hat * (dhat * ctx.hat).mean(axis=0))
        else:
            dx = dhat * ctx.inv
        return paddle.to_tensor(dx), paddle.to_tensor((g * ctx.hat).sum(axis=0)), paddle.to_tensor(g.sum(axis=0)), None, None
        """, call="leaf(5, 3), leaf(3), leaf(3), const(3), const(3, low=0.5, high=2)", tags="saves option"),
    L("FilterResponse", "x, gamma, beta, eps=1e-6", """
        v = x.numpy()
        nu = (v * v).mean(axis=(2, 3), keepdims=True)
        r = 1 / np.sqrt(nu + eps)
        ctx.v, ctx.r, ctx.gamma = v, r, gamma.numpy()
        return paddle.to_tensor((v * r * gamma.numpy()[None, :, None, None] + beta.numpy()[None, :, None, None]).astype(v.dtype))
        """, """
        g = dy.numpy()
        h = g * ctx.gamma[None, :, None, None]
        n = ctx.v.shape[2] * ctx.v.shape[3]
        dx = ctx.r * h - ctx.v * ctx.r ** 3 * (h * ctx.v).sum(axis=(2, 3), keepdims=True) / n
        dgamma = (g * ctx.v * ctx.r).sum(axis=(0, 2, 3))
        return paddle.to_tensor(dx), paddle.to_tensor(dgamma), paddle.to_tensor(g.sum(axis=(0, 2, 3)))
        """, call="leaf(2, 3, 2, 4), leaf(3), leaf(3)", tags="saves option"),
    L("LocalResponse", "x, size=3, alpha=0.1, beta=0.75, k=1.0", """
        v = x.numpy()
        c = v.shape[1]
        half = size // 2
        win = np.array([[1.0 if abs(i - j) <= half else 0.0 for j in range(c)] for i in range(c)], v.dtype)
        d = k + alpha * np.einsum("ij,nj...->ni...", win, v * v)
        ctx.v, ctx.d, ctx.win, ctx.alpha, ctx.beta = v, d, win, alpha, beta
        return paddle.to_tensor((v * d ** -beta).astype(v.dtype))
        """, """
        g = dy.numpy()
        inner = g * ctx.v * ctx.d ** (-ctx.beta - 1)
        back = np.einsum("ij,ni...->nj...", ctx.win, inner)
        dx = g * ctx.d ** -ctx.beta - 2 * ctx.alpha * ctx.beta * ctx.v * back
        return paddle.to_tensor(dx.astype(ctx.v.dtype))
        """, call="leaf(2, 5, 3)", tags="saves option"),
    L("ScaleNorm", "x, g, eps=1e-5", """
        v = x.numpy()
        n = np.sqrt((v * v).sum(axis=-1, keepdims=True))
        m = np.maximum(n, eps)
        ctx.v, ctx.n, ctx.m, ctx.g, ctx.eps = v, n, m, g.numpy(), eps
        return paddle.to_tensor((g.numpy() * v / m).astype(v.dtype))
        """, """
        d = dy.numpy()
        inner = (d * ctx.v).sum(axis=-1, keepdims=True)
        dx = ctx.g * (d / ctx.m - np.where(ctx.n > ctx.eps, ctx.v * inner / ctx.m ** 3, 0))
        dg = (d * ctx.v / ctx.m).sum()
        return paddle.to_tensor(dx.astype(ctx.v.dtype)), paddle.to_tensor(np.asarray(dg, ctx.v.dtype).reshape(ctx.g.shape))
        """, call="leaf(3, 4), leaf(1)", tags="saves option"),
    L("DoReFa", "w, bits=2", """
        t = paddle.tanh(w)
        n = 2 ** bits - 1
        ctx.save_for_backward(w)
        return 2 * paddle.round((t / 2 + 0.5) * n) / n - 1
        """, """
        (w,) = ctx.saved_tensor()
        t = paddle.tanh(w)
        return dy * (1 - t * t)
        """, declares="SURROGATE_NAME = {'forward': lambda w, bits=2: paddle.tanh(w)}", tags="option"),
    L("TernaryWeights", "w, delta=0.5", """
        ctx.save_for_backward(w)
        v = w.numpy()
        return paddle.to_tensor(np.where(v > delta, 1.0, np.where(v < -delta, -1.0, 0.0)).astype(v.dtype))
        """, "(w,) = ctx.saved_tensor()\nreturn dy * paddle.cast(paddle.abs(w) <= 1, dy.dtype)",
        declares="SURROGATE_NAME = {'forward': lambda w, delta=0.5: paddle.clip(w, -1, 1)}", tags="option"),
    L("RoundHalf", "x", "return paddle.round(2 * x) / 2", "return dy", declares="SURROGATE_NAME = {'forward': lambda x: 1.0 * x}"),
    L("AdaptiveAvg", "x, bins=2", """
        n = x.shape[-1]
        edges = [(i * n // bins, -(-(i + 1) * n // bins)) for i in range(bins)]
        ctx.edges, ctx.shape = edges, x.shape
        v = x.numpy()
        return paddle.to_tensor(np.stack([v[..., a:b].mean(axis=-1) for a, b in edges], axis=-1))
        """, """
        g = dy.numpy()
        dx = np.zeros(ctx.shape, g.dtype)
        for i, (a, b) in enumerate(ctx.edges):
            dx[..., a:b] += g[..., i:i + 1] / (b - a)
        return paddle.to_tensor(dx)
        """, call="leaf(2, 3, 5)", tags="option"),
    L("LpPool", "x, k=2, p=3.0", """
        n, c, t = x.shape
        v = x.numpy()[:, :, : t // k * k].reshape(n, c, t // k, k)
        s = (np.abs(v) ** p).sum(axis=-1)
        y = s ** (1 / p)
        ctx.v, ctx.y, ctx.k, ctx.p, ctx.t = v, y, k, p, t
        return paddle.to_tensor(y)
        """, """
        g = dy.numpy()
        y = ctx.y[..., None]
        safe = np.where(y == 0, 1, y)
        d = np.where(y == 0, 0, np.sign(ctx.v) * (np.abs(ctx.v) / safe) ** (ctx.p - 1)) * g[..., None]
        out = np.zeros((*d.shape[:2], ctx.t), d.dtype)
        flat = d.reshape(*d.shape[:2], -1)
        out[:, :, : flat.shape[2]] = flat
        return paddle.to_tensor(out)
        """, call="leaf(2, 3, 5)", tags="saves option"),
    L("AvgPoolPad", "x, k=3, stride=1, pad=1", """
        v = np.pad(x.numpy(), ((0, 0), (0, 0), (pad, pad)))
        n = (v.shape[2] - k) // stride + 1
        if n < 1:
            raise ValueError("the window is longer than the input")
        ctx.args = x.shape, k, stride, pad, n
        return paddle.to_tensor(np.stack([v[:, :, i * stride : i * stride + k].mean(axis=2) for i in range(n)], axis=2))
        """, """
        shape, k, stride, pad, n = ctx.args
        g = dy.numpy()
        d = np.zeros((shape[0], shape[1], shape[2] + 2 * pad), g.dtype)
        for i in range(n):
            d[:, :, i * stride : i * stride + k] += g[:, :, i : i + 1] / k
        return paddle.to_tensor(d[:, :, pad : pad + shape[2]])
        """, call="leaf(2, 3, 5)", tags="option"),
    L("EmbeddingPad", "ids, weight, padding_idx=None", """
        ctx.ids, ctx.shape, ctx.pad = ids.numpy(), weight.shape, padding_idx
        out = weight.numpy()[ctx.ids]
        if padding_idx is not None:
            out = np.where((ctx.ids == padding_idx)[..., None], 0, out).astype(out.dtype)
        return paddle.to_tensor(out)
        """, """
        g = dy.numpy()
        dw = np.zeros(ctx.shape, g.dtype)
        np.add.at(dw, ctx.ids, g)
        if ctx.pad is not None:
            dw[ctx.pad] = 0
        return None, paddle.to_tensor(dw)
        """, call="ints([[0, 2], [1, 2]]), leaf(4, 3)", tags="option"),
    L("IndexAddRows", "x, index, src, alpha=1.0", """
        out = x.numpy().copy()
        ctx.index, ctx.alpha = index.numpy(), alpha
        np.add.at(out, ctx.index, alpha * src.numpy())
        return paddle.to_tensor(out)
        """, "return dy, None, paddle.to_tensor(ctx.alpha * dy.numpy()[ctx.index])", call="leaf(4, 3), ints([0, 2, 2]), leaf(3, 3)", tags="option"),
    L("ScatterMean", "src, index, rows=4", """
        i = index.numpy()
        count = np.maximum(np.bincount(i, minlength=rows), 1).astype(src.numpy().dtype)
        out = np.zeros((rows, src.shape[1]), src.numpy().dtype)
        np.add.at(out, i, src.numpy())
        ctx.i, ctx.count = i, count
        return paddle.to_tensor(out / count[:, None])
        """, "return paddle.to_tensor((dy.numpy() / ctx.count[:, None])[ctx.i]), None", call="leaf(5, 3), ints([0, 3, 3, 1, 0])", tags="option"),
    L("PermuteRows", "x, perm", "ctx.perm = perm.numpy()\nreturn paddle.to_tensor(x.numpy()[ctx.perm])", """
        g = dy.numpy()
        dx = np.zeros_like(g)
        dx[ctx.perm] = g
        return paddle.to_tensor(dx), None
        """, call="leaf(4, 3), ints([2, 0, 3, 1])"),
    L("BiasSilu", "x, bias", """
        h = x + bias
        s = F.sigmoid(h)
        ctx.save_for_backward(h, s)
        return h * s
        """, """
        h, s = ctx.saved_tensor()
        d = dy * (s + h * s * (1 - s))
        axes = list(range(d.ndim - 1))
        return d, (d.sum(axis=axes) if axes else d)
        """, call="leaf(3, 4), leaf(4)", tags="saves"),
    L("BiasDropout", "x, bias, keep, rate=0.25", """
        ctx.save_for_backward(keep)
        ctx.scale = 1 / (1 - rate)
        return (x + bias) * keep * ctx.scale
        """, "(keep,) = ctx.saved_tensor()\nd = dy * keep * ctx.scale\nreturn d, d.sum(axis=0), None", call="leaf(3, 4), leaf(4), given([[1., 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 0]]).detach()", tags="option"),
    L("GeGlu", "x", """
        a, b = paddle.split(x, 2, axis=-1)
        c = 0.5 * (1 + paddle.erf(b / math.sqrt(2)))
        ctx.save_for_backward(a, b, c)
        return a * b * c
        """, """
        a, b, c = ctx.saved_tensor()
        pdf = paddle.exp(-0.5 * b * b) / math.sqrt(2 * math.pi)
        return paddle.concat([dy * b * c, dy * a * (c + b * pdf)], axis=-1)
        """, call="leaf(3, 4)", tags="saves"),
    L("MomentPair", "x, axis=-1", """
        v = x.numpy()
        m = v.mean(axis=axis, keepdims=True)
        ctx.c, ctx.axis = v - m, axis
        return paddle.to_tensor(m.squeeze(axis)), paddle.to_tensor(v.var(axis=axis))
        """, """
        n = ctx.c.shape[ctx.axis]
        a, b = np.expand_dims(dm.numpy(), ctx.axis), np.expand_dims(dv.numpy(), ctx.axis)
        return paddle.to_tensor((a + 2 * b * ctx.c) / n)
        """, gets="dm, dv", tags="saves option"),
    L("ProbsAndEntropy", "x", """
        p = F.softmax(x, axis=-1)
        logp = F.log_softmax(x, axis=-1)
        h = -(p * logp).sum(axis=-1)
        ctx.save_for_backward(p, logp, h)
        return p, h
        """, """
        p, logp, h = ctx.saved_tensor()
        d = p * (dp - (dp * p).sum(axis=-1, keepdim=True))
        return d - dh.unsqueeze(-1) * p * (logp + h.unsqueeze(-1))
        """, gets="dp, dh", tags="saves"),
    L("RealImagProduct", "ar, ai, br, bi", """
        ctx.save_for_backward(ar, ai, br, bi)
        return ar * br - ai * bi, ar * bi + ai * br
        """, """
        ar, ai, br, bi = ctx.saved_tensor()
        return gr * br + gi * bi, gi * br - gr * bi, gr * ar + gi * ai, gi * ar - gr * ai
        """, gets="gr, gi", call="leaf(3, 4), leaf(3, 4), leaf(3, 4), leaf(3, 4)"),
    L("ConcatScaled", "parts, axis=-1, scale=1.0", """
        ctx.sizes, ctx.axis, ctx.scale = [p.shape[axis] for p in parts], axis, scale
        return paddle.to_tensor(scale * np.concatenate([p.numpy() for p in parts], axis=axis))
        """, """
        stops = np.cumsum(ctx.sizes)[:-1]
        return [paddle.to_tensor(ctx.scale * part) for part in np.split(dy.numpy(), stops, axis=ctx.axis)]
        """, call="[leaf(3, 4), leaf(3, 2)]", tags="option"),
    L("WeightedListSum", "*xs, weights=(0.5, 0.3, 0.2)", """
        if len(xs) > len(weights):
            raise ValueError("a weight for each input is needed")
        ctx.weights = weights[: len(xs)]
        return sum(w * x for w, x in zip(ctx.weights, xs))
        """, "return tuple(w * dy for w in ctx.weights)", call="leaf(3, 4), leaf(3, 4)", tags="option"),
    L("MaxOfList", "*xs", """
        stack = np.stack([x.numpy() for x in xs])
        ctx.best, ctx.n = stack.argmax(axis=0), len(xs)
        return paddle.to_tensor(stack.max(axis=0))
        """, "g = dy.numpy()\nreturn tuple(paddle.to_tensor(np.where(ctx.best == i, g, 0).astype(g.dtype)) for i in range(ctx.n))", call="leaf(3, 4), leaf(3, 4), leaf(3, 4)"),
    L("ClampOptional", "x, min=None, max=None", """
        v = x.numpy()
        ctx.inside = np.ones(v.shape, bool)
        if min is not None:
            ctx.inside &= v >= min
            v = np.maximum(v, np.asarray(min, v.dtype))
        if max is not None:
            ctx.inside &= v <= max
            v = np.minimum(v, np.asarray(max, v.dtype))
        return paddle.to_tensor(v)
        """, "g = dy.numpy()\nreturn paddle.to_tensor(g * ctx.inside.astype(g.dtype))", tags="option"),
    L("SetRows", "x, update, rows=2", """
        out = x.numpy().copy()
        out[:rows] = update.numpy()
        ctx.rows = rows
        return paddle.to_tensor(out)
        """, """
        g = dy.numpy()
        dx = g.copy()
        dx[: ctx.rows] = 0
        return paddle.to_tensor(dx), paddle.to_tensor(g[: ctx.rows])
        """, call="leaf(4, 3), leaf(2, 3)", tags="option"),
    L("SobelRows", "x", """
        ctx.shape = x.shape
        v = x.numpy()
        return paddle.to_tensor(NAME.TAPS[0] * v[:, :-2] + NAME.TAPS[1] * v[:, 1:-1] + NAME.TAPS[2] * v[:, 2:])
        """, """
        g = dy.numpy()
        d = np.zeros(ctx.shape, g.dtype)
        d[:, :-2] += NAME.TAPS[0] * g
        d[:, 1:-1] += NAME.TAPS[1] * g
        d[:, 2:] += NAME.TAPS[2] * g
        return paddle.to_tensor(d)
        """, methods="TAPS = (-1.0, 0.5, 2.0)", call="leaf(3, 5)"),
    L("YuvFromRgb", "rgb", "m = paddle.to_tensor(MATRIX).astype(rgb.dtype)\nreturn paddle.matmul(rgb, m.t())",
        "return paddle.matmul(dy, paddle.to_tensor(MATRIX).astype(dy.dtype))",
        prelude="MATRIX = np.array([[0.299, 0.587, 0.114], [-0.147, -0.289, 0.436], [0.615, -0.515, -0.1]])", call="leaf(4, 3)"),
    L("VarAxis", "x, axis=None, unbiased=True, keepdim=False", """
        v = x.numpy()
        n = v.size if axis is None else v.shape[axis]
        ctx.n = n - 1 if unbiased else n
        if ctx.n < 1:
            raise ValueError("too few values")
        c = v - v.mean(axis=axis, keepdims=True)
        ctx.c, ctx.axis, ctx.keepdim = c, axis, keepdim
        return paddle.to_tensor(np.asarray((c * c).sum(axis=axis, keepdims=keepdim) / ctx.n, v.dtype))
        """, """
        g = dy.numpy()
        if not ctx.keepdim and ctx.axis is not None:
            g = np.expand_dims(g, ctx.axis)
        return paddle.to_tensor(2 * g * ctx.c / ctx.n)
        """, tags="saves option"),
    L("AngleBetween", "u, v", """
        a, b = u.numpy(), v.numpy()
        c = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        d = (a * b).sum(-1)
        if a.shape[-1] != 2:
            raise ValueError("vectors of the plane are needed")
        ctx.t = a, b, c, d
        return paddle.to_tensor(np.arctan2(c, d))
        """, """
        a, b, c, d = ctx.t
        g = (dy.numpy() / (c * c + d * d))[..., None]
        turn = lambda t: np.stack([t[..., 1], -t[..., 0]], axis=-1)
        da = g * (d[..., None] * turn(b) - c[..., None] * b)
        db = g * (-d[..., None] * turn(a) - c[..., None] * a)
        return paddle.to_tensor(da), paddle.to_tensor(db)
        """, call="leaf(4, 2), leaf(4, 2)", tags="saves"),
    L("DoubleInside", "x", """
        v = x.numpy().astype("float64")
        ctx.v, ctx.dtype = v, x.numpy().dtype
        return paddle.to_tensor((np.log1p(np.exp(-np.abs(v))) + np.maximum(v, 0)).astype(ctx.dtype))
        """, """
        s = 1 / (1 + np.exp(-np.clip(ctx.v, -700, 700)))
        return paddle.to_tensor((dy.numpy().astype("float64") * s).astype(ctx.dtype))
        """, tags="saves"),
    L("MaskCast", "x, limit=0.5", """
        mask = paddle.cast(x > limit, "int32")
        ctx.save_for_backward(mask)
        return x * paddle.cast(mask, x.dtype)
        """, "(mask,) = ctx.saved_tensor()\nreturn dy * paddle.cast(mask, dy.dtype)", tags="saves option"),
    L("LpDistance", "a, b", """
        d = a - b
        n = paddle.sqrt((d * d).sum(axis=-1))
        ctx.save_for_backward(d, n)
        return n
        """, "d, n = ctx.saved_tensor()\ng = (dy / n).unsqueeze(-1) * d\nreturn g, -g", call="leaf(4, 3), leaf(4, 3)", tags="saves"),
    L("GeluErf", "x, approximate=False", """
        v = x.numpy()
        ctx.v, ctx.approximate = v, approximate
        if approximate:
            t = np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v ** 3))
            return paddle.to_tensor((0.5 * v * (1 + t)).astype(v.dtype))
        return paddle.to_tensor(v) * 0.5 * (1 + paddle.erf(paddle.to_tensor(v) / 2 ** 0.5))
        """, """
        v, g = ctx.v, dy.numpy()
        if ctx.approximate:
            c = np.sqrt(2 / np.pi)
            t = np.tanh(c * (v + 0.044715 * v ** 3))
            s = 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * c * (1 + 3 * 0.044715 * v * v)
            return paddle.to_tensor((g * s).astype(v.dtype))
        cdf = 0.5 * (1 + paddle.erf(paddle.to_tensor(v) / 2 ** 0.5))
        pdf = paddle.to_tensor((np.exp(-0.5 * v * v) / np.sqrt(2 * np.pi)).astype(v.dtype))
        return dy * (cdf + paddle.to_tensor(v) * pdf)
        """, tags="saves option"),
    L("LearnedBeta", "x, beta", "s = F.sigmoid(beta * x)\nctx.save_for_backward(x, beta, s)\nreturn x * s", """
        x, beta, s = ctx.saved_tensor()
        d = s * (1 - s)
        return dy * (s + beta * x * d), (dy * x * x * d).sum()
        """, call="leaf(3, 4), given(1.5)", tags="saves"),
    L("LearnedSlope", "x, slope", "ctx.save_for_backward(x, slope)\nreturn paddle.where(x > 0, x, slope * x)", """
        x, slope = ctx.saved_tensor()
        low = (x <= 0).astype(x.dtype)
        return dy * (1 - low) + dy * slope * low, (dy * x * low).sum().reshape([1])
        """, call="leaf(3, 4), given([0.25])"),
    L("OverTemperature", "x, temperature", "ctx.save_for_backward(x, temperature)\nreturn x / temperature",
      "x, t = ctx.saved_tensor()\nreturn dy / t, -(dy * x).sum() / (t * t)", call="leaf(3, 4), given(2.0)"),
    L("Cubic", "x, c0, c1, c2, c3", "ctx.save_for_backward(x, c1, c2, c3)\nreturn c0 + x * (c1 + x * (c2 + x * c3))", """
        x, c1, c2, c3 = ctx.saved_tensor()
        return dy * (c1 + 2 * c2 * x + 3 * c3 * x * x), dy.sum(), (dy * x).sum(), (dy * x ** 2).sum(), (dy * x ** 3).sum()
        """, call="leaf(4), given(0.5), given(-1.0), given(0.3), given(0.2)"),
    L("LineFit", "x, y, w, b", "r = w * x + b - y\nctx.save_for_backward(x, w, r)\nreturn (r * r).mean()", """
        x, w, r = ctx.saved_tensor()
        g = 2 * dy * r / r.size
        return g * w, -g, (g * x).sum(), g.sum()
        """, call="leaf(5), leaf(5), given(0.7), given(-0.2)"),
    L("CosineOfRows", "a, b, eps=1e-8", """
        na = paddle.sqrt((a * a).sum(-1, keepdim=True) + eps)
        nb = paddle.sqrt((b * b).sum(-1, keepdim=True) + eps)
        c = (a * b).sum(-1, keepdim=True) / (na * nb)
        ctx.save_for_backward(a, b, na, nb, c)
        return c.squeeze(-1)
        """, """
        a, b, na, nb, c = ctx.saved_tensor()
        g = dy.unsqueeze(-1)
        return g * (b / (na * nb) - c * a / na ** 2), g * (a / (na * nb) - c * b / nb ** 2)
        """, call="leaf(3, 4), leaf(3, 4)", tags="saves"),
    L("KlToNormal", "mu, logvar", "ctx.save_for_backward(mu, logvar)\nreturn -0.5 * (1 + logvar - mu * mu - paddle.exp(logvar)).sum()",
      "mu, logvar = ctx.saved_tensor()\nreturn dy * mu, 0.5 * dy * (paddle.exp(logvar) - 1)", call="leaf(3, 4), leaf(3, 4)"),
    L("OuterOfVectors", "u, v", "ctx.save_for_backward(u, v)\nreturn paddle.outer(u, v)",
      "u, v = ctx.saved_tensor()\nreturn paddle.matmul(dy, v), paddle.matmul(u, dy)", call="leaf(3), leaf(4)"),
    L("SwishGated", "a, b", """
        # silu(a) * b, both [tokens, hidden]
        s = F.sigmoid(a)
        ctx.save_for_backward(a, b, s)
        return a * s * b
        """, "a, b, s = ctx.saved_tensor()\nreturn dy * b * s * (1 + a * (1 - s)), dy * a * s", call="leaf(3, 4), leaf(3, 4)", tags="saves"),
    L("SmoothMax", "a, b", """
        m = paddle.maximum(a, b)
        z = m + paddle.log(paddle.exp(a - m) + paddle.exp(b - m))
        ctx.save_for_backward(a, b, z)
        return z
        """, "a, b, z = ctx.saved_tensor()\nreturn dy * paddle.exp(a - z), dy * paddle.exp(b - z)", call="leaf(3, 4), leaf(3, 4)", tags="saves",
      declares="def demo_NAME():\n    a, b = paddle.randn([4, 6]), paddle.randn([4, 6])\n    return NAME.apply(a, b)\n"),
)

#: By name.
MIXED: dict[str, Layer] = {row.name: row for row in ROWS}

F = Fault

FAULTS = (
    F("DotAttention", "DotNoScale", "attribute", "scale forgotten in backward", "keepdims=True)) * ctx.s", "keepdims=True))"),
    F("DotAttention", "DotFixedScale", "attribute", "backward uses the default scale", "keepdims=True)) * ctx.s", "keepdims=True)) * q.shape[-1] ** -0.5", beyond=True, witness="leaf(2, 3, 4), leaf(2, 5, 4), leaf(2, 5, 4), None, 0.9"),
    F("LinearAttention", "LinearNoNorm", "gross", "the normaliser's gradient is left out", " + dden[:, None] * z", ""),
    F("LinearAttention", "LinearSlope", "region", "slope of elu taken as 1", "paddle.to_tensor(dfb * slope(b))", "paddle.to_tensor(dfb)"),
    F("CausalSoftmax", "CausalMean", "gross", "mean for sum", "(dy * p).sum(axis=-1, keepdim=True)", "(dy * p).mean(axis=-1, keepdim=True)"),
    F("RopeHalf", "RopeForward", "wiring", "rotates forward again", "[a * ctx.cos + b * ctx.sin, b * ctx.cos - a * ctx.sin]", "[a * ctx.cos - b * ctx.sin, b * ctx.cos + a * ctx.sin]"),
    F("AlibiScores", "AlibiTransposed", "wiring", "transposed", "return dy", "return dy.transpose([0, 2, 1]) if dy.ndim == 3 else dy.t()"),
    F("QuietSoftmax", "QuietAxis", "attribute", "axis ignored", "(dy * p).sum(axis=ctx.axis, keepdim=True)", "(dy * p).sum(axis=-1, keepdim=True)", beyond=True, witness="leaf(3, 4), 0"),
    F("CeIgnore", "CeCountsAll", "subtle", "divides by all rows", "d = d * g / max(ctx.valid.sum(), 1)", "d = d * g / len(d)"),
    F("CeIgnore", "CeNotMasked", "region", "ignored rows get a gradient", "d = d * ctx.valid[:, None]", "d = d * 1"),
    F("BceReduced", "BceSumAsMean", "attribute", "divides for every reduction", 'if ctx.reduction == "mean":\n    d = d / logits.size', "d = d / logits.size", beyond=True, witness="leaf(3, 4), const(3, 4, low=0, high=1), None, 'sum'"),
    F("BceReduced", "BceWeightLost", "attribute", "weight forgotten", "d = d * ctx.weight", "d = d * 1", beyond=True, witness="leaf(3, 4), const(3, 4, low=0, high=1), 2.0"),
    F("GaussianNll", "NllVarSign", "gross", "sign in the variance's gradient", "(1 / var - c * c / (var * var))", "(1 / var + c * c / (var * var))"),
    F("CosineEmbedding", "CosineMargin", "region", "margin not looked at", "(c > margin) * 1.0", "1.0"),
    F("InfoNce", "NceTemperature", "attribute", "temperature forgotten", "/ n / ctx.t * dy.numpy()", "/ n * dy.numpy()"),
    F("InfoNce", "NceTransposed", "wiring", "ds for ds.T", "ds.T @ ctx.a", "ds @ ctx.a"),
    F("WingLoss", "WingOuter", "region", "slope outside is omega", "(ctx.epsilon + a), 1.0)", "(ctx.epsilon + a), ctx.omega / 1.9)", call="leaf(3, 4, low=-4, high=4), leaf(3, 4)"),
    F("SmoothCeMean", "SmoothBatch", "subtle", "divides by classes", "rows = logp.size // logp.shape[-1]", "rows = logp.shape[-1]"),
    F("BatchNormMode", "BnNoMean", "subtle", "mean term left out", "(dhat - dhat.mean(axis=0) - ctx.hat", "(dhat - ctx.hat"),
    F("BatchNormMode", "BnEvalInv", "attribute", "eval without 1/std", "dx = dhat * ctx.inv", "dx = dhat * 1.0", beyond=True, witness="leaf(5, 3), leaf(3), leaf(3), const(3), const(3, low=0.5, high=2), False"),
    F("FilterResponse", "FrnGamma", "accumulation", "gamma's sum lacks the batch", "(g * ctx.v * ctx.r).sum(axis=(0, 2, 3))", "(g * ctx.v * ctx.r)[0].sum(axis=(1, 2))"),
    F("LocalResponse", "LrnFactor", "subtle", "factor 2 missing", "- 2 * ctx.alpha", "- ctx.alpha"),
    F("ScaleNorm", "ScaleNormCube", "subtle", "power of the norm", "ctx.m ** 3", "ctx.m ** 2"),
    F("DoReFa", "DoReFaSlope", "gross", "slope 1 - t", "(1 - t * t)", "(1 - t)"),
    F("TernaryWeights", "TernaryOpen", "region", "the clip is not there", "paddle.cast(paddle.abs(w) <= 1, dy.dtype)", "paddle.cast(paddle.abs(w) <= 2, dy.dtype)", call="leaf(3, 4, low=-3, high=3)"),
    F("AdaptiveAvg", "AdaptiveOverwrites", "accumulation", "overlaps overwrite", "dx[..., a:b] += g", "dx[..., a:b] = g"),
    F("LpPool", "LpSign", "region", "sign lost", "np.sign(ctx.v) * (np.abs", "(np.abs"),
    F("AvgPoolPad", "PoolCounts", "subtle", "divides by k - 1", "g[:, :, i : i + 1] / k", "g[:, :, i : i + 1] / (k - 1)"),
    F("EmbeddingPad", "EmbedRepeats", "accumulation", "repeated ids overwrite", "np.add.at(dw, ctx.ids, g)", "dw[ctx.ids] += g"),
    F("EmbeddingPad", "EmbedPadGrad", "attribute", "padding row gets a gradient", "dw[ctx.pad] = 0", "pass", beyond=True, witness="ints([[0, 2], [1, 2]]), leaf(4, 3), 2"),
    F("IndexAddRows", "IndexAlpha", "attribute", "alpha forgotten", "ctx.alpha * dy.numpy()", "1 * dy.numpy()", beyond=True, witness="leaf(4, 3), ints([0, 2, 2]), leaf(3, 3), 2.0"),
    F("ScatterMean", "ScatterNoCount", "gross", "count forgotten", "(dy.numpy() / ctx.count[:, None])", "(dy.numpy())"),
    F("PermuteRows", "PermuteAgain", "wiring", "permutes forward again", "dx[ctx.perm] = g", "dx = g[ctx.perm]"),
    F("BiasSilu", "BiasSiluLinear", "gross", "slope lacks a term", "(s + h * s * (1 - s))", "(s + s * (1 - s))"),
    F("BiasDropout", "DropoutScale", "attribute", "scale forgotten in backward", "d = dy * keep * ctx.scale", "d = dy * keep"),
    F("GeGlu", "GeGluSwap", "wiring", "halves swapped", "[dy * b * c, dy * a * (c + b * pdf)]", "[dy * a * (c + b * pdf), dy * b * c]"),
    F("MomentPair", "MomentMean", "gross", "the mean's gradient is lost", "(a + 2 * b * ctx.c) / n", "(2 * b * ctx.c) / n"),
    F("ProbsAndEntropy", "EntropySign", "gross", "sign of entropy", "return d - dh", "return d + dh"),
    F("RealImagProduct", "ConjugateLost", "wiring", "sign", "gi * br - gr * bi", "gi * br + gr * bi"),
    F("ConcatScaled", "ConcatScaleLost", "attribute", "scale forgotten", "paddle.to_tensor(ctx.scale * part)", "paddle.to_tensor(1.0 * part)", beyond=True, witness="[leaf(3, 4), leaf(3, 2)], -1, 2.0"),
    F("WeightedListSum", "ListSumOrder", "wiring", "weights reversed", "w * dy for w in ctx.weights)", "w * dy for w in ctx.weights[::-1])"),
    F("MaxOfList", "MaxListAll", "gross", "all get it", "np.where(ctx.best == i, g, 0)", "np.where(ctx.best >= i, g, 0)"),
    F("ClampOptional", "ClampMaxLost", "attribute", "beyond max too", "ctx.inside &= v <= max", "pass", beyond=True, witness="leaf(3, 4), None, 0.1"),
    F("SetRows", "SetRowsKeeps", "region", "overwritten rows keep their gradient", "dx[: ctx.rows] = 0", "dx[: ctx.rows] *= 1"),
    F("SobelRows", "SobelReversed", "wiring", "taps not reversed", "d[:, 2:] += NAME.TAPS[2] * g", "d[:, 2:] += NAME.TAPS[0] * g"),
    F("YuvFromRgb", "YuvTransposed", "wiring", "not transposed", "paddle.to_tensor(MATRIX).astype(dy.dtype))", "paddle.to_tensor(MATRIX.T.copy()).astype(dy.dtype))"),
    F("VarAxis", "VarBiased", "subtle", "divides by n", "/ ctx.n)\n", "/ (ctx.n + 1))\n"),
    F("AngleBetween", "AngleOrder", "wiring", "sign of the second", "(-d[..., None] * turn(a)", "(d[..., None] * turn(a)"),
    F("DoubleInside", "DoubleCastIn", "contract", "gradient stays float64", "* s).astype(ctx.dtype))", "* s))", call="leaf(3, 4, dtype='float32')"),
    F("MaskCast", "MaskInverted", "region", "mask inverted below 0", "(mask,) = ctx.saved_tensor()\nreturn dy * paddle.cast(mask, dy.dtype)", "(mask,) = ctx.saved_tensor()\nreturn dy * paddle.cast(mask == 0, dy.dtype)"),
    F("LpDistance", "DistanceSquared", "subtle", "divides by n twice", "(dy / n).unsqueeze", "(dy / (n * n)).unsqueeze"),
    F("GeluErf", "GeluApprox", "attribute", "approximate ignored in backward", "s = 0.5 * (1 + t) + 0.5", "s = 0.5 * (1 + t) + 0.4", beyond=True, witness="leaf(3, 4), True"),
    F("LearnedBeta", "BetaMean", "subtle", "mean instead of sum", "(dy * x * x * d).sum()", "(dy * x * x * d).mean()"),
    F("LearnedSlope", "SlopeAll", "region", "positive places too", "(dy * x * low).sum()", "(dy * x).sum()"),
    F("OverTemperature", "TemperatureSign", "gross", "sign", "-(dy * x).sum()", "(dy * x).sum()"),
    F("Cubic", "CubicSlope", "subtle", "factor", "3 * c3 * x * x", "c3 * x * x"),
    F("LineFit", "FitTwice", "subtle", "factor lost", "g.sum()\n", "dy * 2 * r.sum()\n"),
    F("CosineOfRows", "CosinePart", "subtle", "norm to the first power", "c * a / na ** 2", "c * a / na"),
    F("KlToNormal", "KlVariance", "subtle", "the 1 is lost", "(paddle.exp(logvar) - 1)", "paddle.exp(logvar)"),
    F("OuterOfVectors", "OuterSwapped", "wiring", "operands swapped", "paddle.matmul(u, dy)", "paddle.matmul(dy, u)"),
    Layer("TimesCalled", "x, y", "ctx.save_for_backward(x, y)\nreturn x * y", "x, y = ctx.saved_tensor()\nreturn dy * y, dy * x", fault="accumulation",
          why="no sum over rows", call="leaf(3, 4), leaf(4)", declares="def demo_NAME():\n    return NAME.apply(paddle.randn([8, 4]), paddle.randn([4]))\n"),
    Layer("BiasAllSummed", "x, bias", "return x + bias", "return dy, dy.sum()", fault="accumulation", why="summed over columns too", call="leaf(3, 4), leaf(4)"),
)

#: By name.
MIXED_FAULTY: dict[str, Layer] = {
    fault.name: fault if isinstance(fault, Layer) else planted(fault, MIXED[fault.of]) for fault in FAULTS
}
