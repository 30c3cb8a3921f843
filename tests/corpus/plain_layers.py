"""PyLayers as public code has them: no cases, no checks of shapes, intermediates on ctx; and single faults in these.

Forward takes more shapes than backward was written for in most of them.
"""

from __future__ import annotations

from tests.corpus.layer_model import Fault, Layer, planted

__all__ = ["PLAIN", "PLAIN_FAULTY"]

L = Layer

ROWS = (
    L("TanhShrink", "x", "t = paddle.tanh(x)\nctx.save_for_backward(t)\nreturn x - t", "(t,) = ctx.saved_tensor()\nreturn dy * t * t", tags="saves"),
    L("Celu", "x, alpha=1.0", "ctx.save_for_backward(x)\nctx.alpha = alpha\nreturn paddle.maximum(x, paddle.zeros_like(x)) + paddle.minimum(alpha * (paddle.exp(paddle.minimum(x, paddle.zeros_like(x)) / alpha) - 1), paddle.zeros_like(x))", """
        (x,) = ctx.saved_tensor()
        neg = paddle.exp(paddle.minimum(x, paddle.zeros_like(x)) / ctx.alpha)
        return dy * paddle.where(x > 0, paddle.ones_like(x), neg)
        """, tags="option"),
    L("PRelu", "x, weight", "ctx.save_for_backward(x, weight)\nreturn paddle.where(x > 0, x, x * weight)", """
        x, weight = ctx.saved_tensor()
        pos = (x > 0).astype(x.dtype)
        dx = dy * (pos + (1 - pos) * weight)
        dw = (dy * (1 - pos) * x).sum(axis=list(range(x.ndim - 1)))
        return dx, dw
        """, call="leaf(4, 3), leaf(3)"),
    L("SoftSign", "x", "ctx.d = 1 + paddle.abs(x)\nreturn x / ctx.d", "return dy / (ctx.d * ctx.d)", tags="saves"),
    L("ThresholdedRelu", "x, theta=1.0, value=0.0", "ctx.mask = (x > theta).astype(x.dtype)\nreturn x * ctx.mask + value * (1 - ctx.mask)", "return dy * ctx.mask", tags="saves option"),
    L("LogSigmoid", "x", "ctx.save_for_backward(x)\nreturn paddle.minimum(x, paddle.zeros_like(x)) - paddle.log1p(paddle.exp(-paddle.abs(x)))", "(x,) = ctx.saved_tensor()\nreturn dy * F.sigmoid(-x)"),
    L("Hinge", "pred, label", "ctx.save_for_backward(label)\nctx.active = ((1 - pred * label) > 0).astype(pred.dtype)\nctx.n = pred.shape[0]\nreturn (ctx.active * (1 - pred * label)).mean()", """
        (label,) = ctx.saved_tensor()
        return -dy * label * ctx.active / ctx.n, None
        """, call="leaf(6), paddle.to_tensor(np.sign(RNG.standard_normal(6)).astype(paddle.get_default_dtype()))", tags="saves"),
    L("PoissonNll", "log_rate, target", "rate = paddle.exp(log_rate)\nctx.save_for_backward(rate, target)\nctx.size = log_rate.size\nreturn (rate - target * log_rate).mean()", "rate, target = ctx.saved_tensor()\nreturn dy * (rate - target) / ctx.size, None", call="leaf(3, 4), const(3, 4, low=0.0, high=3.0)", tags="saves"),
    L("TripletMargin", "anchor, positive, negative, margin=1.0", """
        dp, dn = anchor - positive, anchor - negative
        gap = (dp * dp).sum(axis=-1) - (dn * dn).sum(axis=-1) + margin
        ctx.on = (gap > 0).astype(gap.dtype)
        ctx.save_for_backward(dp, dn)
        return (gap * ctx.on).mean()
        """, """
        dp, dn = ctx.saved_tensor()
        w = (ctx.on * (dy * 2.0 / ctx.on.size)).unsqueeze(-1)
        return w * (dp - dn), -w * dp, w * dn
        """, call="leaf(4, 3), leaf(4, 3), leaf(4, 3)", tags="saves option"),
    L("SmoothL1", "pred, target, beta=1.0", """
        d = (pred - target).numpy()
        ctx.d, ctx.beta = d, beta
        a = np.abs(d)
        return paddle.to_tensor(np.where(a < beta, 0.5 * d * d / beta, a - 0.5 * beta).sum())
        """, """
        g = np.where(np.abs(ctx.d) < ctx.beta, ctx.d / ctx.beta, np.sign(ctx.d)) * dy.numpy()
        return paddle.to_tensor(g), paddle.to_tensor(-g)
        """, call="leaf(3, 4), leaf(3, 4)", tags="saves option"),
    L("Tversky", "p, g, a=0.3, b=0.7", """
        tp = (p * g).sum()
        fp = (p * (1 - g)).sum()
        fn = ((1 - p) * g).sum()
        den = tp + a * fp + b * fn + 1e-6
        ctx.save_for_backward(g)
        ctx.tp, ctx.den, ctx.a, ctx.b = tp, den, a, b
        return 1 - tp / den
        """, """
        (g,) = ctx.saved_tensor()
        dden = g + ctx.a * (1 - g) - ctx.b * g
        return dy * (ctx.tp * dden - g * ctx.den) / (ctx.den * ctx.den), None
        """, call="leaf(3, 4, low=0.05, high=0.95), paddle.to_tensor((RNG.uniform(size=(3, 4)) > 0.5).astype(paddle.get_default_dtype()))", tags="saves option"),
    L("NllGather", "logp, index", """
        rows = np.arange(logp.shape[0])
        ctx.rows, ctx.cols, ctx.shape = rows, index.numpy(), logp.shape
        return paddle.to_tensor(-logp.numpy()[rows, index.numpy()])
        """, "dx = np.zeros(ctx.shape, dy.numpy().dtype)\ndx[ctx.rows, ctx.cols] = -dy.numpy()\nreturn paddle.to_tensor(dx), None", call="leaf(4, 3), ints([0, 2, 1, 1])"),
    L("GroupNorm", "x, weight, bias, groups=1, eps=1e-5", """
        n, c = x.shape[0], x.shape[1]
        data = x.numpy().reshape(n, groups, -1)
        mean = data.mean(axis=2, keepdims=True)
        rstd = 1 / np.sqrt(data.var(axis=2, keepdims=True) + eps)
        hat = ((data - mean) * rstd).reshape(x.shape)
        ctx.hat, ctx.rstd, ctx.groups = hat, rstd, groups
        ctx.w = weight.numpy().reshape(1, c, *[1] * (x.ndim - 2))
        return paddle.to_tensor(hat * ctx.w + bias.numpy().reshape(ctx.w.shape))
        """, """
        g = dy.numpy()
        n = g.shape[0]
        dh = (g * ctx.w).reshape(n, ctx.groups, -1)
        hat = ctx.hat.reshape(dh.shape)
        dx = ctx.rstd * (dh - dh.mean(axis=2, keepdims=True) - hat * (dh * hat).mean(axis=2, keepdims=True))
        axes = (0, *range(2, g.ndim))
        return paddle.to_tensor(dx.reshape(g.shape)), paddle.to_tensor((g * ctx.hat).sum(axis=axes)), paddle.to_tensor(g.sum(axis=axes))
        """, call="leaf(2, 4, 3), leaf(4), leaf(4), 2", tags="saves option"),
    L("InstanceNorm", "x, eps=1e-5", """
        mean = x.mean(axis=[2, 3], keepdim=True)
        c = x - mean
        ctx.inv = 1.0 / paddle.sqrt((c * c).mean(axis=[2, 3], keepdim=True) + eps)
        ctx.y = c * ctx.inv
        return ctx.y * 1.0
        """, """
        y = ctx.y
        return ctx.inv * (dy - dy.mean(axis=[2, 3], keepdim=True) - y * (dy * y).mean(axis=[2, 3], keepdim=True))
        """, call="leaf(2, 3, 4, 4)", tags="saves option"),
    L("L2Normalize", "x, eps=1e-12", "n = paddle.sqrt((x * x).sum(axis=1, keepdim=True) + eps)\ny = x / n\nctx.save_for_backward(y, n)\nreturn y", "y, n = ctx.saved_tensor()\nreturn (dy - y * (dy * y).sum(axis=1, keepdim=True)) / n", tags="saves option"),
    L("WeightNorm", "v, g", """
        norm = paddle.sqrt((v * v).sum(axis=1, keepdim=True))
        ctx.save_for_backward(v, g, norm)
        return v * (g.unsqueeze(-1) / norm)
        """, """
        v, g, norm = ctx.saved_tensor()
        u = v / norm
        dg = (dy * u).sum(axis=1)
        dv = g.unsqueeze(-1) / norm * (dy - u * dg.unsqueeze(-1))
        return dv, dg
        """, call="leaf(3, 4), leaf(3)", tags="saves"),
    L("BatchNormEval", "x, mean, var, weight, bias", """
        ctx.inv = 1.0 / paddle.sqrt(var + 1e-5)
        ctx.hat = (x - mean) * ctx.inv
        ctx.save_for_backward(weight)
        return ctx.hat * weight + bias
        """, """
        (weight,) = ctx.saved_tensor()
        return dy * weight * ctx.inv, None, None, (dy * ctx.hat).sum(axis=0), dy.sum(axis=0)
        """, call="leaf(5, 3), const(3), const(3, low=0.5, high=2.0), leaf(3), leaf(3)", tags="saves"),
    L("Bilinear", "x, w, y", "ctx.save_for_backward(x, w, y)\nreturn (paddle.matmul(x, w) * y).sum(axis=-1)", """
        x, w, y = ctx.saved_tensor()
        g = dy.unsqueeze(-1)
        return g * paddle.matmul(y, w.t()), paddle.matmul((g * x).t(), y), g * paddle.matmul(x, w)
        """, call="leaf(4, 3), leaf(3, 2), leaf(4, 2)"),
    L("BatchedMatmul", "a, b", "ctx.save_for_backward(a, b)\nreturn paddle.bmm(a, b)", """
        a, b = ctx.saved_tensor()
        return paddle.bmm(dy, b.transpose([0, 2, 1])), paddle.bmm(a.transpose([0, 2, 1]), dy)
        """, call="leaf(2, 3, 4), leaf(2, 4, 5)"),
    L("FactorMachine", "x, v", """
        xv = paddle.matmul(x, v)
        ctx.save_for_backward(x, v, xv)
        return 0.5 * (xv * xv - paddle.matmul(x * x, v * v)).sum(axis=1)
        """, """
        x, v, xv = ctx.saved_tensor()
        g = dy.unsqueeze(1)
        dx = paddle.matmul(g * xv, v.t()) - g * x * (v * v).sum(axis=1).unsqueeze(0)
        dv = paddle.matmul(x.t(), g * xv) - v * (g * x * x).sum(axis=0).unsqueeze(1)
        return dx, dv
        """, call="leaf(4, 3), leaf(3, 2)", tags="saves"),
    L("CrossLayer", "x0, x, w, b", """
        s = paddle.matmul(x, w).unsqueeze(-1)
        ctx.save_for_backward(x0, x, w, s)
        return x0 * s + b + x
        """, """
        x0, x, w, s = ctx.saved_tensor()
        ds = (dy * x0).sum(axis=1)
        return dy * s, ds.unsqueeze(-1) * w + dy, (ds.unsqueeze(-1) * x).sum(axis=0), dy.sum(axis=0)
        """, call="leaf(4, 3), leaf(4, 3), leaf(3), leaf(3)", tags="saves"),
    L("TakeAlong", "x, index, axis=1", "ctx.index, ctx.axis, ctx.shape = index.numpy(), axis, x.shape\nreturn paddle.to_tensor(np.take_along_axis(x.numpy(), ctx.index, axis))", """
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        where = list(np.ogrid[tuple(slice(n) for n in ctx.index.shape)])
        where[ctx.axis] = ctx.index
        np.add.at(dx, tuple(where), dy.numpy())
        return paddle.to_tensor(dx), None
        """, call="leaf(3, 4), ints([[0, 1], [3, 3], [2, 0]])", tags="option"),
    L("LookupScaled", "weight, ids", "ctx.ids, ctx.shape = ids.numpy(), weight.shape\nctx.scale = math.sqrt(weight.shape[1])\nreturn paddle.to_tensor(weight.numpy()[ctx.ids] * ctx.scale)", """
        dw = np.zeros(ctx.shape, dy.numpy().dtype)
        np.add.at(dw, ctx.ids, dy.numpy() * ctx.scale)
        return paddle.to_tensor(dw), None
        """, call="leaf(5, 3), ints([[0, 1, 1], [4, 2, 0]])"),
    L("FakeQuant", "x, scale=0.1, bits=8", """
        hi = 2 ** (bits - 1) - 1
        q = x / scale
        ctx.inside = ((q > -hi) & (q < hi)).astype(x.dtype)
        return paddle.clip(paddle.round(q), -hi, hi) * scale
        """, "return dy * ctx.inside", tags="saves option", declares='SURROGATE_NAME = {"forward": lambda x, scale=0.1, bits=8: paddle.clip(x, -(2 ** (bits - 1) - 1) * scale, (2 ** (bits - 1) - 1) * scale)}'),
    L("BinarizeSte", "w", "ctx.save_for_backward(w)\nreturn paddle.sign(w)", "(w,) = ctx.saved_tensor()\nreturn dy * (paddle.abs(w) <= 1).astype(w.dtype)", declares='SURROGATE_NAME = {"forward": lambda w: paddle.clip(w, -1, 1)}'),
    L("GradScale", "x, factor=0.5", "ctx.factor = factor\nreturn x.clone()", "return dy * ctx.factor", declares='SURROGATE_NAME = {"forward": lambda x, factor=0.5: x * factor}', tags="option"),
    L("OuterSum", "a, b", "return a.unsqueeze(1) + b.unsqueeze(0)", "return dy.sum(axis=1), dy.sum(axis=0)", call="leaf(3), leaf(4)"),
    L("LogDet", "a", "ctx.inv = np.linalg.inv(a.numpy())\nreturn paddle.to_tensor(np.linalg.slogdet(a.numpy())[1])", "return paddle.to_tensor(ctx.inv.T * dy.numpy())", call="given([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.0, 0.5, 1.8]])", tags="saves"),
    L("PNorm", "x, p=2.0, axis=-1", """
        a = np.abs(x.numpy())
        norm = (a ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        ctx.x, ctx.norm, ctx.p, ctx.axis = x.numpy(), norm, p, axis
        return paddle.to_tensor(norm.squeeze(axis))
        """, """
        g = np.expand_dims(dy.numpy(), ctx.axis)
        return paddle.to_tensor(g * np.sign(ctx.x) * (np.abs(ctx.x) / np.maximum(ctx.norm, 1e-300)) ** (ctx.p - 1))
        """, tags="saves option"),
    L("LogCumSumExp", "x", """
        data = x.numpy()
        ctx.x = data
        ctx.y = np.logaddexp.accumulate(data, axis=-1)
        return paddle.to_tensor(ctx.y)
        """, """
        g = dy.numpy()
        n = g.shape[-1]
        share = np.tril(np.ones((n, n), g.dtype)) * np.exp(np.minimum(ctx.x[..., None, :] - ctx.y[..., :, None], 0))
        return paddle.to_tensor((g[..., :, None] * share).sum(axis=-2))
        """, tags="saves"),
    L("Unfold1d", "x, size=2, step=1", """
        ctx.shape, ctx.size, ctx.step = x.shape, size, step
        ctx.starts = range(0, x.shape[-1] - size + 1, step)
        return paddle.stack([x[..., s:s + size] for s in ctx.starts], axis=-2)
        """, """
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        for k, s in enumerate(ctx.starts):
            dx[..., s:s + ctx.size] += dy.numpy()[..., k, :]
        return paddle.to_tensor(dx)
        """, call="leaf(2, 6), 3, 2", tags="option"),
    L("SwiGlu", "x, gate", "s = F.sigmoid(gate)\nctx.save_for_backward(x, gate, s)\nreturn x * gate * s", """
        x, gate, s = ctx.saved_tensor()
        return dy * gate * s, dy * x * (s + gate * s * (1 - s))
        """, call="leaf(3, 4), leaf(3, 4)", tags="saves"),
    L("MaxOut", "x, pieces=2", """
        n, c = x.shape
        parts = x.numpy().reshape(n, c // pieces, pieces)
        ctx.arg, ctx.shape = parts.argmax(axis=-1), parts.shape
        return paddle.to_tensor(parts.max(axis=-1))
        """, """
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        np.put_along_axis(dx, ctx.arg[..., None], dy.numpy()[..., None], axis=-1)
        return paddle.to_tensor(dx.reshape(ctx.shape[0], -1))
        """, call="leaf(3, 4)", tags="saves option"),
    L("SelectWhere", "cond, a, b", "ctx.save_for_backward(cond)\nreturn paddle.where(cond, a, b)", """
        (cond,) = ctx.saved_tensor()
        zero = paddle.zeros_like(dy)
        return None, paddle.where(cond, dy, zero), paddle.where(cond, zero, dy)
        """, call="paddle.to_tensor(RNG.uniform(size=(3, 4)) > 0.5), leaf(3, 4), leaf(3, 4)"),
    L("Lerp", "start, end, weight", "ctx.save_for_backward(start, end, weight)\nreturn start + weight * (end - start)", """
        start, end, weight = ctx.saved_tensor()
        return dy * (1 - weight), dy * weight, dy * (end - start)
        """, call="leaf(3, 4), leaf(3, 4), leaf(3, 4)"),
    L("LogAddExp", "a, b", "m = paddle.maximum(a, b)\nctx.save_for_backward(a, b)\nreturn m + paddle.log1p(paddle.exp(-paddle.abs(a - b)))", """
        a, b = ctx.saved_tensor()
        s = F.sigmoid(a - b)
        return dy * s, dy * (1 - s)
        """, call="leaf(5), leaf(5)"),
    L("Atan2", "y, x", "ctx.save_for_backward(y, x)\nreturn paddle.atan2(y, x)", """
        y, x = ctx.saved_tensor()
        r = x * x + y * y
        return g * x / r, -g * y / r
        """, gets="g", call="leaf(3, 4), leaf(3, 4)"),
    L("MinMaxRows", "x", """
        data = x.numpy()
        lo, hi = data.min(axis=1, keepdims=True), data.max(axis=1, keepdims=True)
        ctx.span = hi - lo
        ctx.y = (data - lo) / ctx.span
        ctx.lo, ctx.hi = data.argmin(axis=1), data.argmax(axis=1)
        return paddle.to_tensor(ctx.y)
        """, """
        g = dy.numpy() / ctx.span
        dx = g.copy()
        rows = np.arange(len(g))
        dx[rows, ctx.hi] -= (g * ctx.y).sum(axis=1)
        dx[rows, ctx.lo] -= (g * (1 - ctx.y)).sum(axis=1)
        return paddle.to_tensor(dx)
        """, tags="saves"),
    L("MeanAndSpread", "x", """
        m = x.mean(axis=-1, keepdim=True)
        c = x - m
        s = paddle.sqrt((c * c).mean(axis=-1, keepdim=True) + 1e-8)
        ctx.save_for_backward(c, s)
        ctx.n = x.shape[-1]
        return m, s
        """, "c, s = ctx.saved_tensor()\nreturn (dm + ds * c / s) / ctx.n + 0 * c", gets="dm, ds", tags="saves"),
    L("LayerScale", "x, branch, gamma", "ctx.save_for_backward(branch, gamma)\nreturn x + gamma * branch", """
        branch, gamma = ctx.saved_tensor()
        dg = (dy * branch).reshape([-1, branch.shape[-1]]).sum(axis=0)
        return dy, dy * gamma, dg
        """, call="leaf(2, 3, 4), leaf(2, 3, 4), leaf(4)"),
    L("QuickGelu", "x", "s = F.sigmoid(1.702 * x)\nctx.save_for_backward(x, s)\nreturn x * s", "x, s = ctx.saved_tensor()\nreturn dy * (s + 1.702 * x * s * (1 - s))", tags="saves"),
    L("Isru", "x, alpha=1.0", "ctx.r = 1.0 / paddle.sqrt(1.0 + alpha * x * x)\nreturn x * ctx.r", "return dy * ctx.r * ctx.r * ctx.r", tags="saves option"),
    L("Snake", "x, a", "ctx.save_for_backward(x, a)\nreturn x + paddle.sin(a * x) ** 2 / a", """
        x, a = ctx.saved_tensor()
        s2 = paddle.sin(2 * a * x)
        dx = dy * (1 + s2)
        da = (dy * (x * s2 / a - paddle.sin(a * x) ** 2 / (a * a))).sum(axis=0)
        return dx, da
        """, call="leaf(4, 3), leaf(3, low=0.5, high=1.5)"),
    L("SoftmaxT", "x, temperature=1.0", """
        z = x.numpy() / temperature
        z = np.exp(z - z.max(axis=-1, keepdims=True))
        ctx.p, ctx.t = z / z.sum(axis=-1, keepdims=True), temperature
        return paddle.to_tensor(ctx.p)
        """, "g = dy.numpy()\nreturn paddle.to_tensor(ctx.p * (g - (g * ctx.p).sum(axis=-1, keepdims=True)) / ctx.t)", tags="saves option"),
    L("CriticGap", "real, fake", "ctx.n, ctx.m = real.shape, fake.shape\nreturn fake.mean() - real.mean()", """
        n, m = int(np.prod(ctx.n)), int(np.prod(ctx.m))
        return paddle.full(ctx.n, -1.0 / n, dtype=dy.dtype) * dy, paddle.full(ctx.m, 1.0 / m, dtype=dy.dtype) * dy
        """, call="leaf(4, 1), leaf(3, 1)"),
    L("Pinball", "pred, target, q=0.9", """
        d = target - pred
        ctx.w = paddle.where(d > 0, paddle.full_like(d, q), paddle.full_like(d, q - 1.0))
        return (ctx.w * d).mean()
        """, "return -dy * ctx.w / ctx.w.size, None", call="leaf(5), const(5)", tags="saves option"),
    L("WeightedBce", "logits, labels, pos_weight", """
        p = F.sigmoid(logits)
        ctx.save_for_backward(p, labels, pos_weight)
        sp = paddle.log1p(paddle.exp(-paddle.abs(logits))) + paddle.maximum(-logits, paddle.zeros_like(logits))
        return (1 - labels) * logits + (1 + (pos_weight - 1) * labels) * sp
        """, """
        p, labels, pos_weight = ctx.saved_tensor()
        return dy * ((1 - labels) - (1 + (pos_weight - 1) * labels) * (1 - p)), None, None
        """, call="leaf(4, 3), paddle.to_tensor((RNG.uniform(size=(4, 3)) > 0.5).astype(paddle.get_default_dtype())), const(3, low=0.5, high=2.0)", tags="saves"),
    L("GeM", "x, p=3.0", """
        n, c = x.shape[:2]
        a = np.maximum(x.numpy().reshape(n, c, -1), 1e-6)
        m = (a ** p).mean(axis=2, keepdims=True)
        ctx.a, ctx.m, ctx.p, ctx.shape = a, m, p, x.shape
        ctx.on = x.numpy().reshape(n, c, -1) > 1e-6
        return paddle.to_tensor((m ** (1 / p))[:, :, 0])
        """, """
        g = dy.numpy()[:, :, None] * ctx.m ** (1 / ctx.p - 1) * ctx.a ** (ctx.p - 1) / ctx.a.shape[2]
        return paddle.to_tensor((g * ctx.on).reshape(ctx.shape))
        """, call="leaf(2, 3, 2, 2, low=0.1, high=2.0)", tags="saves option"),
    L("AddNorm", "x, residual, gamma, beta", """
        h = x + residual
        mu = h.mean(axis=-1, keepdim=True)
        inv = 1.0 / paddle.sqrt(((h - mu) ** 2).mean(axis=-1, keepdim=True) + 1e-5)
        hat = (h - mu) * inv
        ctx.save_for_backward(hat, inv, gamma)
        return hat * gamma + beta
        """, """
        hat, inv, gamma = ctx.saved_tensor()
        g = dy * gamma
        dh = inv * (g - g.mean(axis=-1, keepdim=True) - hat * (g * hat).mean(axis=-1, keepdim=True))
        axes = list(range(dy.ndim - 1))
        return dh, dh, (dy * hat).sum(axis=axes), dy.sum(axis=axes)
        """, call="leaf(4, 3), leaf(4, 3), leaf(3), leaf(3)", tags="saves"),
    L("ScaleShift", "x, scale, shift", "ctx.save_for_backward(x, scale)\nreturn x * scale.reshape([1, -1, 1, 1]) + shift.reshape([1, -1, 1, 1])", """
        x, scale = ctx.saved_tensor()
        return dy * scale.reshape([1, -1, 1, 1]), (dy * x).sum(axis=[0, 2, 3]), dy.sum(axis=[0, 2, 3])
        """, call="leaf(2, 3, 2, 2), leaf(3), leaf(3)"),
    L("RowGather", "x, rows, cols", "ctx.at, ctx.shape = (rows.numpy(), cols.numpy()), x.shape\nreturn paddle.to_tensor(x.numpy()[ctx.at])", """
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        np.add.at(dx, ctx.at, dy.numpy())
        return paddle.to_tensor(dx), None, None
        """, call="leaf(4, 3), ints([0, 1, 1, 3]), ints([2, 0, 0, 1])"),
    L("SparseMatmul", "values, rows, cols, dense", """
        v, r, c, d = values.numpy(), rows.numpy(), cols.numpy(), dense.numpy()
        ctx.kept = v, r, c, d
        out = np.zeros((int(r.max()) + 1, d.shape[1]), v.dtype)
        np.add.at(out, r, v[:, None] * d[c])
        return paddle.to_tensor(out)
        """, """
        v, r, c, d = ctx.kept
        g = dy.numpy()
        dd = np.zeros_like(d)
        np.add.at(dd, c, v[:, None] * g[r])
        return paddle.to_tensor((g[r] * d[c]).sum(axis=1)), None, None, paddle.to_tensor(dd)
        """, call="leaf(4), ints([0, 1, 1, 2]), ints([1, 0, 2, 2]), leaf(3, 2)", tags="saves"),
    L("RotatePairs", "x, theta", """
        c, s = paddle.cos(theta), paddle.sin(theta)
        u, v = x[:, 0], x[:, 1]
        ctx.save_for_backward(u, v, c, s)
        return paddle.stack([u * c - v * s, u * s + v * c], axis=1)
        """, """
        u, v, c, s = ctx.saved_tensor()
        a, b = dy[:, 0], dy[:, 1]
        dx = paddle.stack([a * c + b * s, b * c - a * s], axis=1)
        return dx, a * (-u * s - v * c) + b * (u * c - v * s)
        """, call="leaf(4, 2), leaf(4)", tags="saves"),
    L("TraceQuadratic", "a, x", "ctx.save_for_backward(a, x)\nreturn (x * paddle.matmul(a, x)).sum()", """
        a, x = ctx.saved_tensor()
        return dy * paddle.matmul(x, x.t()), dy * (paddle.matmul(a, x) + paddle.matmul(a.t(), x))
        """, call="leaf(3, 3), leaf(3, 2)"),
    L("PositionAdd", "x, table", "ctx.rows, ctx.shape = x.shape[1], table.shape\nreturn x + table[: x.shape[1]]", """
        dt = paddle.zeros(ctx.shape, dtype=dy.dtype).numpy()
        dt[: ctx.rows] = dy.numpy().sum(axis=0)
        return dy * 1.0, paddle.to_tensor(dt)
        """, call="leaf(2, 3, 4), leaf(5, 4)"),
    L("HardArgmax", "logits", """
        z = logits.numpy()
        hot = (z == z.max(axis=-1, keepdims=True)).astype(z.dtype)
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        ctx.p = e / e.sum(axis=-1, keepdims=True)
        return paddle.to_tensor(hot)
        """, "g = dy.numpy()\nreturn paddle.to_tensor(ctx.p * (g - (g * ctx.p).sum(axis=-1, keepdims=True)))",
      declares='SURROGATE_NAME = {"forward": lambda logits: F.softmax(logits, axis=-1)}', tags="saves"),
    L("Lookup1d", "x, knots, values", """
        k, v = knots.numpy(), values.numpy()
        i = np.clip(np.searchsorted(k, x.numpy()) - 1, 0, len(k) - 2)
        w = (x.numpy() - k[i]) / (k[i + 1] - k[i])
        ctx.i, ctx.w, ctx.slope, ctx.n = i, w, (v[i + 1] - v[i]) / (k[i + 1] - k[i]), len(v)
        return paddle.to_tensor((1 - w) * v[i] + w * v[i + 1])
        """, """
        g = dy.numpy()
        dv = np.zeros(ctx.n, g.dtype)
        np.add.at(dv, ctx.i, g * (1 - ctx.w))
        np.add.at(dv, ctx.i + 1, g * ctx.w)
        return paddle.to_tensor(g * ctx.slope), None, paddle.to_tensor(dv)
        """, call="leaf(5, low=0.1, high=2.9), paddle.to_tensor(np.arange(4).astype(paddle.get_default_dtype())), leaf(4)", tags="saves"),
    L("MedianRow", "x", """
        order = np.argsort(x.numpy(), axis=-1)
        ctx.at = order[..., x.shape[-1] // 2][..., None]
        ctx.shape = x.shape
        return paddle.to_tensor(np.take_along_axis(x.numpy(), ctx.at, -1)[..., 0])
        """, "dx = np.zeros(ctx.shape, dy.numpy().dtype)\nnp.put_along_axis(dx, ctx.at, dy.numpy()[..., None], axis=-1)\nreturn paddle.to_tensor(dx)", call="leaf(3, 5)", tags="saves"),
    L("TopKPair", "x, k=2", """
        at = np.argsort(-x.numpy(), axis=-1)[..., :k]
        ctx.at, ctx.shape = at, x.shape
        return paddle.to_tensor(np.take_along_axis(x.numpy(), at, -1)), paddle.to_tensor(at)
        """, "dx = np.zeros(ctx.shape, dv.numpy().dtype)\nnp.put_along_axis(dx, ctx.at, dv.numpy(), axis=-1)\nreturn paddle.to_tensor(dx)", gets="dv, di", call="leaf(3, 5)", tags="saves option"),
    L("MeanOfAll", "*xs", "ctx.n = len(xs)\nout = xs[0]\nfor x in xs[1:]:\n    out = out + x\nreturn out / ctx.n", "return tuple(dy / ctx.n for _ in range(ctx.n))", call="leaf(3, 4), leaf(3, 4), leaf(3, 4)"),
)

#: By name.
PLAIN: dict[str, Layer] = {row.name: row for row in ROWS}

F = Fault

FAULTS = (
    F("TanhShrink", "TanhShrinkOnce", "gross", "t instead of t squared", "dy * t * t", "dy * t"),
    F("Celu", "CeluAlpha", "attribute", "alpha is forgotten", "zeros_like(x)) / ctx.alpha)", "zeros_like(x)) / 1.0)", witness="leaf(3, 4), 2.0", beyond=True),
    F("PRelu", "PReluNoSum", "accumulation", "the weight's sum", ".sum(axis=list(range(x.ndim - 1)))", ""),
    F("PRelu", "PReluSlope", "region", "the negative slope", "pos + (1 - pos) * weight", "pos + (1 - pos)"),
    F("SoftSign", "SoftSignOnce", "gross", "a power", "dy / (ctx.d * ctx.d)", "dy / ctx.d"),
    F("LogSigmoid", "LogSigmoidSide", "gross", "the other sigmoid", "F.sigmoid(-x)", "F.sigmoid(x)"),
    F("Hinge", "HingeDy", "dy", "incoming gradient ignored", "-dy * label", "-1.0 * label"),
    F("PoissonNll", "PoissonSum", "subtle", "mean forgotten", "(rate - target) / ctx.size", "(rate - target)"),
    F("SmoothL1", "SmoothL1Target", "wiring", "the target's sign", "paddle.to_tensor(-g)", "paddle.to_tensor(g)"),
    F("SmoothL1", "SmoothL1Beta", "attribute", "beta", "ctx.d / ctx.beta", "ctx.d / 1.0", beyond=True, witness="leaf(3, 4), leaf(3, 4), 0.5"),
    F("Tversky", "TverskyAB", "attribute", "a for b", "- ctx.b * g", "- ctx.a * g"),
    F("NllGather", "NllSign", "gross", "a sign", "= -dy.numpy()", "= dy.numpy()"),
    F("GroupNorm", "GroupNormMean", "subtle", "the mean part", "dh - dh.mean(axis=2, keepdims=True) -", "dh -"),
    F("GroupNorm", "GroupNormWeight", "accumulation", "sum over the batch alone", "(g * ctx.hat).sum(axis=axes)", "(g * ctx.hat)[0].sum(axis=tuple(range(1, g.ndim - 1)))"),
    F("InstanceNorm", "InstanceNormVar", "subtle", "the variance part", " - y * (dy * y).mean(axis=[2, 3], keepdim=True)", ""),
    F("L2Normalize", "L2NormalizePlain", "subtle", "norm taken for constant", "(dy - y * (dy * y).sum(axis=1, keepdim=True)) / n", "dy / n"),
    F("WeightNorm", "WeightNormG", "subtle", "v's gradient lacks the projection", "(dy - u * dg.unsqueeze(-1))", "dy"),
    F("BatchNormEval", "BatchNormEvalBias", "accumulation", "no sum for bias", "dy.sum(axis=0)", "dy * 1"),
    F("Bilinear", "BilinearT", "gross", "not transposed weights use", "paddle.matmul((g * x).t(), y)", "paddle.matmul(x.t(), y)"),
    F("BatchedMatmul", "BatchedB", "gross", "the other operand", "paddle.bmm(a.transpose([0, 2, 1]), dy)", "paddle.bmm(a.transpose([0, 2, 1]), dy) * 0.5"),
    F("FactorMachine", "FactorMachineV", "subtle", "the square's part", " - v * (g * x * x).sum(axis=0).unsqueeze(1)", ""),
    F("CrossLayer", "CrossLayerResidual", "subtle", "the residual", "ds.unsqueeze(-1) * w + dy", "ds.unsqueeze(-1) * w"),
    F("CrossLayer", "CrossLayerW", "accumulation", "mean for sum", "(ds.unsqueeze(-1) * x).sum(axis=0)", "(ds.unsqueeze(-1) * x).mean(axis=0)"),
    F("TakeAlong", "TakeAlongOnce", "accumulation", "repeated ones count once", "np.add.at(dx, tuple(where), dy.numpy())", "dx[tuple(where)] = dy.numpy()"),
    F("LookupScaled", "LookupUnscaled", "subtle", "the scale", "dy.numpy() * ctx.scale", "dy.numpy()"),
    F("LookupScaled", "LookupOnce", "accumulation", "repeated ids count once", "np.add.at(dw, ctx.ids, dy.numpy() * ctx.scale)", "dw[ctx.ids] += dy.numpy() * ctx.scale"),
    F("FakeQuant", "FakeQuantOpen", "region", "not clipped", "return dy * ctx.inside", "return dy * 1.0", witness="given([0.3, 20.0])", beyond=True),
    F("OuterSum", "OuterSumSwap", "wiring", "axes swapped", "dy.sum(axis=1), dy.sum(axis=0)", "dy.sum(axis=0), dy.sum(axis=1)"),
    F("LogDet", "LogDetT", "gross", "not transposed", "ctx.inv.T", "ctx.inv"),
    F("PNorm", "PNormPower", "subtle", "power p", "** (ctx.p - 1)", "** ctx.p"),
    F("Unfold1d", "UnfoldLast", "accumulation", "overlaps are overwritten", "+= dy.numpy()[..., k, :]", "= dy.numpy()[..., k, :]"),
    F("SwiGlu", "SwiGluGate", "subtle", "a term of the gate", "(s + gate * s * (1 - s))", "(s + gate * s)"),
    F("MinMaxRows", "MinMaxNoLow", "subtle", "the minimum's part", "dx[rows, ctx.lo] -= (g * (1 - ctx.y)).sum(axis=1)", "pass"),
    F("MeanAndSpread", "SpreadForgotten", "wiring", "the second output's gradient", "(dm + ds * c / s)", "(dm + 0 * ds * c / s)"),
    F("LayerScale", "LayerScaleKeeps", "contract", "gamma gets no sum", ".reshape([-1, branch.shape[-1]]).sum(axis=0)", ".sum(axis=0)"),
    F("Atan2", "Atan2Write", "impurity", "writes into the incoming gradient", "return g * x / r, -g * y / r", "h = g.numpy()\nh.flags.writeable = True\nh *= 1.0 + 1e-3\nreturn paddle.to_tensor(h) * x / r, -paddle.to_tensor(h) * y / r"),
    F("Lerp", "LerpSaved", "subtle", "end for the difference", "dy * (end - start)", "dy * end"),
    F("LogAddExp", "LogAddExpTwice", "wiring", "both get the same", "dy * s, dy * (1 - s)", "dy * s, dy * s"),
    F("QuickGelu", "QuickGeluFactor", "subtle", "1.702 is forgotten", "1.702 * x * s * (1 - s)", "x * s * (1 - s)"),
    F("Isru", "IsruPower", "subtle", "a power", "dy * ctx.r * ctx.r * ctx.r", "dy * ctx.r * ctx.r"),
    F("Snake", "SnakeNoSum", "accumulation", "no sum", ".sum(axis=0)", ""),
    F("Snake", "SnakeTerm", "subtle", "one of two terms", " - paddle.sin(a * x) ** 2 / (a * a)", ""),
    F("SoftmaxT", "SoftmaxTForgot", "attribute", "the temperature", " / ctx.t)", ")", witness="leaf(3, 4), 2.0", beyond=True),
    F("CriticGap", "CriticSign", "wiring", "signs", "-1.0 / n", "1.0 / n"),
    F("Pinball", "PinballMean", "subtle", "mean", "-dy * ctx.w / ctx.w.size", "-dy * ctx.w"),
    F("WeightedBce", "BceNoWeight", "attribute", "pos_weight", "(1 + (pos_weight - 1) * labels) * (1 - p)", "(1 - p)"),
    F("GeM", "GeMMean", "subtle", "not the mean", " / ctx.a.shape[2]", ""),
    F("AddNorm", "AddNormResidual", "wiring", "the residual gets dy", "return dh, dh,", "return dh, dy,"),
    F("AddNorm", "AddNormGamma", "accumulation", "mean for sum", "(dy * hat).sum(axis=axes)", "(dy * hat).mean(axis=axes)"),
    F("ScaleShift", "ScaleShiftBatch", "accumulation", "the batch is not summed", "dy.sum(axis=[0, 2, 3])", "dy[0].sum(axis=[1, 2])"),
    F("RowGather", "RowGatherOnce", "accumulation", "repeated places", "np.add.at(dx, ctx.at, dy.numpy())", "dx[ctx.at] = dy.numpy()"),
    F("SparseMatmul", "SparseDense", "gross", "rows for columns", "np.add.at(dd, c, v[:, None] * g[r])", "np.add.at(dd, c, v[:, None] * g[r] * 2)"),
    F("RotatePairs", "RotateSame", "gross", "rotated the same way", "a * c + b * s, b * c - a * s", "a * c - b * s, b * c + a * s"),
    F("TraceQuadratic", "TraceSymmetric", "subtle", "a is taken for symmetric", "paddle.matmul(a, x) + paddle.matmul(a.t(), x)", "2 * paddle.matmul(a, x)"),
    F("PositionAdd", "PositionMean", "accumulation", "mean over the batch", "dy.numpy().sum(axis=0)", "dy.numpy().mean(axis=0)"),
    F("Lookup1d", "LookupSlope", "gross", "a sign", "g * ctx.slope)", "-g * ctx.slope)"),
    F("MedianRow", "MedianEverywhere", "contract", "an axis", "np.put_along_axis(dx, ctx.at, dy.numpy()[..., None], axis=-1)\nreturn paddle.to_tensor(dx)", "np.put_along_axis(dx, ctx.at, dy.numpy()[..., None], axis=-1)\nreturn paddle.to_tensor(dx.sum(axis=-1))"),
    F("TopKPair", "TopKOrder", "wiring", "reversed", "np.put_along_axis(dx, ctx.at, dv.numpy(), axis=-1)", "np.put_along_axis(dx, ctx.at, dv.numpy()[..., ::-1], axis=-1)"),
    F("MeanOfAll", "MeanOfAllSum", "subtle", "not divided", "tuple(dy / ctx.n for", "tuple(dy * 1.0 for"),
)

#: By name.
PLAIN_FAULTY: dict[str, Layer] = {fault.name: planted(fault, PLAIN[fault.of]) for fault in FAULTS}
