"""PyLayers without cases whose names, formulas or nothing at all say which shapes are meant; and single faults in these.

The oracle of the campaigns has judged each.
"""

from __future__ import annotations

from tests.corpus.layer_model import Fault, Layer, planted

__all__ = ["MEANT", "MEANT_FAULTY"]

L = Layer

ROWS = (
    L("LinearAny", "x, w, b", """
        ctx.x, ctx.w = x.numpy(), w.numpy()
        return paddle.to_tensor(ctx.x @ ctx.w + b.numpy())
        """, """
        g = dy.numpy()
        flat, gf = ctx.x.reshape(-1, ctx.x.shape[-1]), g.reshape(-1, g.shape[-1])
        return paddle.to_tensor(g @ ctx.w.T), paddle.to_tensor(flat.T @ gf), paddle.to_tensor(gf.sum(axis=0))
        """, call="leaf(3, 4), leaf(4, 2), leaf(2)"),
    L("LinearRows", "x, weight, bias", "ctx.save_for_backward(x, weight)\nreturn paddle.matmul(x, weight.t()) + bias",
      "x, weight = ctx.saved_tensor()\nreturn paddle.matmul(dy, weight), paddle.matmul(dy.t(), x), dy.sum(axis=0)", call="leaf(3, 4), leaf(2, 4), leaf(2)"),
    L("KlDiv", "logp, q", "ctx.save_for_backward(q)\nreturn (q * (paddle.log(q) - logp)).sum()",
      "(q,) = ctx.saved_tensor()\nreturn -dy * q, None", call="leaf(3, 4), const(3, 4, low=0.1, high=0.9)"),
    L("PickScore", "scores, labels", """
        n = scores.shape[0]
        ctx.at, ctx.shape = (np.arange(n), labels.numpy()), scores.shape
        return paddle.to_tensor(scores.numpy()[ctx.at].mean())
        """, "dx = np.zeros(ctx.shape, dy.numpy().dtype)\ndx[ctx.at] = dy.numpy() / ctx.shape[0]\nreturn paddle.to_tensor(dx), None", call="leaf(4, 3), ints([0, 2, 1, 1])"),
    L("CrossProduct", "a, b", "ctx.a, ctx.b = a.numpy(), b.numpy()\nreturn paddle.to_tensor(np.cross(ctx.a, ctx.b))",
      "g = dy.numpy()\nreturn paddle.to_tensor(np.cross(ctx.b, g)), paddle.to_tensor(np.cross(g, ctx.a))", call="leaf(4, 3), leaf(4, 3)"),
    L("WeightedTotal", "x, w", "ctx.save_for_backward(x, w)\nreturn (x * w).sum()", "x, w = ctx.saved_tensor()\nreturn dy * w, dy * x", call="leaf(3, 4), leaf(3, 4)"),
    L("BiasGelu", "x, bias", """
        h = (x + bias).numpy()
        t = np.tanh(0.7978845608028654 * (h + 0.044715 * h ** 3))
        ctx.h, ctx.t = h, t
        return paddle.to_tensor(0.5 * h * (1 + t))
        """, """
        h, t = ctx.h, ctx.t
        slope = 0.5 * (1 + t) + 0.5 * h * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * h ** 2)
        dh = dy.numpy() * slope
        return paddle.to_tensor(dh), paddle.to_tensor(dh.reshape(-1, dh.shape[-1]).sum(axis=0))
        """, call="leaf(3, 4), leaf(4)", tags="saves"),
    L("StepDiff", "x", "return x[:, 1:] - x[:, :-1]", """
        g = dy.numpy()
        dx = np.zeros((g.shape[0], g.shape[1] + 1), g.dtype)
        dx[:, 1:] += g
        dx[:, :-1] -= g
        return paddle.to_tensor(dx)
        """),
    L("MarginRank", "s1, s2, label, margin=0.5", """
        gap = margin - label * (s1 - s2)
        ctx.on = (gap > 0).astype(gap.dtype) * label
        return paddle.maximum(gap, paddle.zeros_like(gap)).sum()
        """, "g = dy * ctx.on\nreturn -g, g, None", call="leaf(5), leaf(5), const(5)"),
    L("VecMat", "vec, mat", "ctx.v, ctx.m = vec.numpy(), mat.numpy()\nreturn paddle.to_tensor(ctx.v @ ctx.m)", "g = dy.numpy()\nreturn paddle.to_tensor(ctx.m @ g), paddle.to_tensor(np.outer(ctx.v, g))", call="leaf(3), leaf(3, 4)"),
    L("ScaledResidual", "x, branch, gate", "ctx.save_for_backward(branch, gate)\nreturn x + paddle.tanh(gate) * branch", """
        branch, gate = ctx.saved_tensor()
        t = paddle.tanh(gate)
        return dy, dy * t, dy * branch * (1 - t * t)
        """, call="leaf(3, 4), leaf(3, 4), leaf(3, 4)"),
    L("MahalanobisSq", "x, mu, prec", """
        c = x - mu
        ctx.save_for_backward(c, prec)
        return (paddle.matmul(c, prec) * c).sum(axis=-1)
        """, """
        c, prec = ctx.saved_tensor()
        w = dy.unsqueeze(-1) * c
        dx = paddle.matmul(w, prec + prec.t())
        return dx, -dx.sum(axis=0), paddle.matmul(c.t(), w)
        """, call="leaf(3, 4), leaf(4), leaf(4, 4)", tags="saves"),
    L("SegmentMean", "values, segments", """
        s = segments.numpy()
        n = int(s.max()) + 1
        count = np.maximum(np.bincount(s, minlength=n), 1)[:, None]
        out = np.zeros((n, values.shape[1]), values.numpy().dtype)
        np.add.at(out, s, values.numpy())
        ctx.s, ctx.count = s, count
        return paddle.to_tensor(out / count.astype(out.dtype))
        """, "g = dy.numpy()\nreturn paddle.to_tensor((g / ctx.count.astype(g.dtype))[ctx.s]), None", call="leaf(4, 3), ints([0, 1, 1, 0])"),
    L("BceGuarded", "logits, targets", """
        p = F.sigmoid(logits)
        ctx.save_for_backward(p, targets)
        return -(targets * paddle.log(p + 1e-8) + (1 - targets) * paddle.log(1 - p + 1e-8)).mean()
        """, """
        p, t = ctx.saved_tensor()
        g = (1 - t) / (1 - p + 1e-8) - t / (p + 1e-8)
        return dy * g * p * (1 - p) / p.size, None
        """, call="leaf(3, 4), const(3, 4, low=0.0, high=1.0)", tags="saves"),
)

#: By name.
MEANT: dict[str, Layer] = {row.name: row for row in ROWS}

F = Fault

FAULTS = (
    F("LinearAny", "LinearBiasMean", "subtle", "mean", "gf.sum(axis=0)", "gf.mean(axis=0)"),
    F("LinearRows", "RowsNoBias", "wiring", "x for weight", "paddle.matmul(dy.t(), x)", "paddle.matmul(dy.t(), x) * 2"),
    F("KlDiv", "KlPlus", "gross", "sign", "return -dy * q, None", "return dy * q, None"),
    F("PickScore", "PickColumns", "subtle", "by columns", "/ ctx.shape[0]", "/ ctx.shape[1]"),
    F("CrossProduct", "CrossSign", "gross", "order", "np.cross(g, ctx.a)", "np.cross(ctx.a, g)"),
    F("BiasGelu", "BiasGeluLast", "accumulation", "the last row", "dh.reshape(-1, dh.shape[-1]).sum(axis=0)", "dh.reshape(-1, dh.shape[-1])[-1]"),
    F("StepDiff", "DiffWrites", "accumulation", "overwrites", "dx[:, :-1] -= g", "dx[:, :-1] = -g"),
    F("MarginRank", "RankSame", "wiring", "both signs", "return -g, g, None", "return -g, -g, None"),
    F("VecMat", "VecMatTwice", "wiring", "factor", "paddle.to_tensor(ctx.m @ g)", "paddle.to_tensor(2 * ctx.m @ g)"),
    F("ScaledResidual", "GateSlope", "subtle", "tanh's slope", "dy * branch * (1 - t * t)", "dy * branch * (1 - t)"),
    F("MahalanobisSq", "MahalanobisMu", "accumulation", "mu's sum", "-dx.sum(axis=0)", "-dx[0]"),
    F("SegmentMean", "SegmentNoCount", "subtle", "count", "(g / ctx.count.astype(g.dtype))[ctx.s]", "g[ctx.s]"),
)

#: By name.
MEANT_FAULTY: dict[str, Layer] = {fault.name: planted(fault, MEANT[fault.of]) for fault in FAULTS}
