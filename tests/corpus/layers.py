"""The right PyLayers of the corpus, one row each, by family."""

from __future__ import annotations

from tests.corpus.bounded_layers import BOUNDED
from tests.corpus.layer_model import Layer
from tests.corpus.meant_layers import MEANT
from tests.corpus.mixed_layers import MIXED
from tests.corpus.plain_layers import PLAIN
from tests.corpus.told_layers import TOLD

__all__ = ["LAYERS"]

L = Layer

ELEMENTWISE = (
    L("Tanh", "x", "y = paddle.tanh(x)\nctx.save_for_backward(y)\nreturn y",
      "(y,) = ctx.saved_tensor()\nreturn dy * (1 - y * y)", tags="saves"),
    L("Sigmoid", "x", """
        z = np.exp(-np.abs(x.numpy()))
        y = paddle.to_tensor(np.where(x.numpy() >= 0, 1 / (1 + z), z / (1 + z)))
        ctx.save_for_backward(y)
        return y
        """, "(y,) = ctx.saved_tensor()\nreturn dy * y * (1 - y)", tags="saves"),
    L("Swish", "x, beta=1.0", """
        s = F.sigmoid(x * beta)
        ctx.save_for_backward(x, s)
        ctx.beta = beta
        return x * s
        """, "x, s = ctx.saved_tensor()\nreturn dy * (s + ctx.beta * x * s * (1 - s))", tags="saves option"),
    L("GeluTanh", "x", """
        t = paddle.tanh(0.7978845608 * (x + 0.044715 * x * x * x))
        ctx.save_for_backward(x, t)
        return 0.5 * x * (1 + t)
        """, """
        x, t = ctx.saved_tensor()
        slope = 0.7978845608 * (1 + 0.134145 * x * x)
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
        """, tags="saves"),
    L("Softplus", "x, beta=1.0", """
        if beta <= 0:
            raise ValueError("beta must be positive")
        ctx.x, ctx.beta = x.numpy(), beta
        return paddle.to_tensor((np.logaddexp(0, ctx.x * beta) / beta).astype(ctx.x.dtype))
        """, "return dy * F.sigmoid(paddle.to_tensor(ctx.x) * ctx.beta)", tags="option"),
    L("Mish", "x", """
        t = paddle.tanh(F.softplus(x))
        ctx.save_for_backward(x, t)
        return x * t
        """, "x, t = ctx.saved_tensor()\nreturn dy * (t + x * (1 - t * t) * F.sigmoid(x))", tags="saves"),
    L("Cube", "x", "ctx.save_for_backward(x)\nreturn x * x * x", "(x,) = ctx.saved_tensor()\nreturn 3 * x * x * dy"),
    L("Exp", "x", "y = paddle.exp(x)\nctx.save_for_backward(y)\nreturn y", "(y,) = ctx.saved_tensor()\nreturn dy * y",
      tags="saves"),
    L("Reciprocal", "x", "y = 1 / x\nctx.save_for_backward(y)\nreturn y", "(y,) = ctx.saved_tensor()\nreturn -dy * y * y",
      call="leaf(3, 4) + 5", cases='yield {"x": rng.uniform(0.3, 2, (3, 4))}\nyield {"x": -rng.uniform(0.3, 2, 5)}', tags="saves"),
    L("Log", "x", "ctx.save_for_backward(x)\nreturn paddle.log(x)", "(x,) = ctx.saved_tensor()\nreturn dy / x",
      call="leaf(3, 4, low=0.1, high=3)", cases='yield {"x": rng.uniform(0.1, 3, (3, 4))}'),
    L("Sqrt", "x", "y = paddle.sqrt(x)\nctx.save_for_backward(y)\nreturn y", "(y,) = ctx.saved_tensor()\nreturn 0.5 * dy / y",
      call="leaf(3, 4, low=0.1, high=3)", cases='yield {"x": rng.uniform(0.2, 3, (3, 4))}', tags="saves"),
    L("Acos", "x", "ctx.x = x.numpy()\nreturn paddle.to_tensor(np.arccos(ctx.x))",
      "return paddle.to_tensor(-dy.numpy() / np.sqrt((1 - ctx.x) * (1 + ctx.x)))",
      call="leaf(4, low=-0.8, high=0.8)", cases='yield {"x": rng.uniform(-0.9, 0.9, (2, 3))}'),
    L("Logit", "x", "ctx.save_for_backward(x)\nreturn paddle.log(x) - paddle.log1p(-x)",
      "(x,) = ctx.saved_tensor()\nreturn dy / (x * (1 - x))", call="leaf(3, 4, low=0.1, high=0.9)",
      cases='yield {"x": rng.uniform(0.1, 0.9, (3, 4))}'),
    L("IntPower", "x, n=3", """
        if not isinstance(n, int) or n < 1:
            raise ValueError("n must be a positive integer")
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n
        """, "(x,) = ctx.saved_tensor()\nreturn dy * ctx.n * x ** (ctx.n - 1)", tags="option"),
    L("Scale", "x, k=1.0", "ctx.k = k\nreturn x * k", "return dy * ctx.k", tags="option"),
    L("Affine", "x, *, scale=2.0, shift=0.0", "ctx.scale = scale\nreturn x * scale + shift", "return dy * ctx.scale",
      call="leaf(3, 4), scale=3.0, shift=1.0", tags="option"),
    L("Polynomial", "x, coef=(1.0, -0.5, 0.25)", """
        ctx.x, ctx.coef = x.numpy(), [float(c) for c in coef]
        y = np.zeros_like(ctx.x)
        for c in reversed(ctx.coef):
            y = y * ctx.x + c
        return paddle.to_tensor(y)
        """, """
        slope = np.zeros_like(ctx.x)
        for n in range(len(ctx.coef) - 1, 0, -1):
            slope = slope * ctx.x + n * ctx.coef[n]
        return paddle.to_tensor(dy.numpy() * slope)
        """, tags="option"),
    L("Activation", "x, kind='tanh'", """
        ctx.kind = kind
        if kind == "tanh":
            y = paddle.tanh(x)
        elif kind == "exp":
            y = paddle.exp(x)
        elif kind == "square":
            y = x * x
        else:
            raise ValueError(f"no activation {kind}")
        ctx.save_for_backward(x, y)
        return y
        """, """
        x, y = ctx.saved_tensor()
        if ctx.kind == "tanh":
            return dy * (1 - y * y)
        if ctx.kind == "exp":
            return dy * y
        return 2 * x * dy
        """, tags="saves option"),
    L("Wave", "x, w=2.0, phase=None", """
        ctx.w, ctx.phase = w, 0.0 if phase is None else phase
        ctx.save_for_backward(x)
        return paddle.sin(ctx.w * x + ctx.phase)
        """, "(x,) = ctx.saved_tensor()\nreturn dy * ctx.w * paddle.cos(ctx.w * x + ctx.phase)", tags="option"),
    L("Gauss", "x", """
        y = NAME.bell(x.numpy())
        ctx.x, ctx.y = x.numpy(), y
        return paddle.to_tensor(y)
        """, "return paddle.to_tensor(NAME.slope(ctx.x) * dy.numpy())", methods="""
        @staticmethod
        def bell(x):
            return np.exp(-x * x)

        @staticmethod
        def slope(x):
            return -2 * x * NAME.bell(x)
        """, tags="saves"),
)

KINKED = (
    L("LeakyRelu", "x, slope=0.1", "ctx.mask, ctx.slope = x > 0, slope\nreturn paddle.where(x > 0, x, slope * x)",
      "return paddle.where(ctx.mask, dy, ctx.slope * dy)", tags="saves option"),
    L("Relu6", "x", "ctx.save_for_backward(x)\nreturn paddle.clip(x, 0, 6)", """
        (x,) = ctx.saved_tensor()
        inside = (x.numpy() > 0) & (x.numpy() < 6)
        return paddle.to_tensor(dy.numpy() * inside)
        """),
    L("HardTanh", "x, low=-1.0, high=1.0", """
        if low >= high:
            raise ValueError("low must lie below high")
        ctx.inside = (x.numpy() > low) & (x.numpy() < high)
        return paddle.clip(x, low, high)
        """, "return paddle.to_tensor(np.where(ctx.inside, dy.numpy(), 0).astype(dy.numpy().dtype))", tags="saves option"),
    L("Elu", "x, alpha=1.0", """
        y = np.where(x.numpy() > 0, x.numpy(), alpha * np.expm1(np.minimum(x.numpy(), 0)))
        ctx.x, ctx.alpha = x.numpy(), alpha
        return paddle.to_tensor(y.astype(ctx.x.dtype))
        """, """
        slope = np.where(ctx.x > 0, 1, ctx.alpha * np.exp(np.minimum(ctx.x, 0)))
        return paddle.to_tensor((dy.numpy() * slope).astype(ctx.x.dtype))
        """, tags="option"),
    L("Magnitude", "x", "ctx.save_for_backward(x)\nreturn paddle.abs(x)",
      "(x,) = ctx.saved_tensor()\nreturn dy * paddle.sign(x)"),
    L("Larger", "a, b", """
        if a.shape != b.shape:
            raise ValueError("shapes differ")
        ctx.first = (a >= b).astype(a.dtype)
        return paddle.maximum(a, b)
        """, "return dy * ctx.first, dy * (1 - ctx.first)", call="leaf(3, 4), leaf(3, 4)", tags="saves"),
    L("ClipOpen", "x, low=None, high=1.0", """
        keep = np.ones(x.shape, bool)
        y = x.numpy()
        if low is not None:
            keep &= y >= low
            y = np.maximum(y, y.dtype.type(low))
        if high is not None:
            keep &= y <= high
            y = np.minimum(y, y.dtype.type(high))
        ctx.keep = keep
        return paddle.to_tensor(y)
        """, "return paddle.to_tensor(dy.numpy() * ctx.keep)", cases="""
        yield {"x": rng.normal(size=(3, 4)), "low": -0.5}
        yield {"x": rng.normal(size=6), "high": None}
        """, tags="saves option"),
    L("Huber", "x, delta=1.0", """
        if delta <= 0:
            raise ValueError("delta must be positive")
        ctx.x, ctx.delta = x.numpy(), delta
        far = np.abs(ctx.x) > delta
        y = np.where(far, delta * (np.abs(ctx.x) - 0.5 * delta), 0.5 * ctx.x**2)
        return paddle.to_tensor(y.astype(ctx.x.dtype))
        """, "return paddle.to_tensor(dy.numpy() * np.clip(ctx.x, -ctx.delta, ctx.delta).astype(ctx.x.dtype))", tags="option"),
    L("MaxRow", "x", """
        ctx.shape, ctx.at = x.shape, np.argmax(x.numpy(), axis=-1)
        return paddle.max(x, axis=-1)
        """, """
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        np.put_along_axis(dx, ctx.at[..., None], dy.numpy()[..., None], axis=-1)
        return paddle.to_tensor(dx)
        """, cases='yield {"x": rng.normal(size=(3, 4))}\nyield {"x": rng.normal(size=5)}', tags="saves"),
    L("SortRow", "x, descending=False", """
        order = np.argsort(-x.numpy() if descending else x.numpy(), axis=-1, kind="stable")
        ctx.order = order
        return paddle.to_tensor(np.take_along_axis(x.numpy(), order, axis=-1))
        """, """
        dx = np.empty_like(dy.numpy())
        np.put_along_axis(dx, ctx.order, dy.numpy(), axis=-1)
        return paddle.to_tensor(dx)
        """, cases='yield {"x": rng.normal(size=(3, 4))}\nyield {"x": rng.normal(size=(2, 5)), "descending": True}', tags="saves option"),
    L("MaxPool", "x, k=2", """
        n, m = x.shape
        if m % k:
            raise ValueError("rows must be multiples of k")
        parts = x.numpy().reshape(n, m // k, k)
        ctx.at, ctx.k = parts.argmax(-1), k
        return paddle.to_tensor(parts.max(-1))
        """, """
        dx = np.zeros((*ctx.at.shape, ctx.k), dy.numpy().dtype)
        np.put_along_axis(dx, ctx.at[..., None], dy.numpy()[..., None], -1)
        return paddle.to_tensor(dx.reshape(len(dx), -1))
        """, cases='yield {"x": rng.normal(size=(3, 4))}\nyield {"x": rng.normal(size=(2, 6)), "k": 3}', tags="saves option"),
)

REDUCTIONS = (
    L("SumAxis", "x, axis=-1, keepdim=False", """
        ctx.shape, ctx.axis, ctx.keepdim = x.shape, axis, keepdim
        return paddle.sum(x, axis=axis, keepdim=keepdim)
        """, """
        dy = dy if ctx.keepdim else paddle.unsqueeze(dy, ctx.axis)
        return paddle.expand(dy, ctx.shape)
        """, cases="""
        yield {"x": rng.normal(size=(3, 4))}
        yield {"x": rng.normal(size=(2, 3, 2)), "axis": 1, "keepdim": True}
        yield {"x": rng.normal(size=(2, 3)), "axis": 0}
        """, tags="option"),
    L("MeanAll", "x", "ctx.shape = x.shape\nreturn paddle.mean(x)",
      "return paddle.full(ctx.shape, 1 / max(math.prod(ctx.shape), 1), dtype=dy.dtype) * dy",
      cases='yield {"x": rng.normal(size=(3, 4))}\nyield {"x": rng.normal(size=(2, 1, 3))}'),
    L("LogSumExp", "x, axis=-1", """
        top = x.numpy().max(axis=axis, keepdims=True)
        e = np.exp(x.numpy() - top)
        ctx.p, ctx.axis = e / e.sum(axis=axis, keepdims=True), axis
        return paddle.to_tensor((top + np.log(e.sum(axis=axis, keepdims=True))).squeeze(axis))
        """, "return paddle.to_tensor(ctx.p * np.expand_dims(dy.numpy(), ctx.axis))", cases="""
        yield {"x": rng.normal(size=(3, 4))}
        yield {"x": rng.normal(size=(3, 2)), "axis": 0}
        """, tags="saves option"),
    L("RowVariance", "x", """
        if x.ndim != 2:
            raise ValueError("x must be a matrix")
        c = x - paddle.mean(x, axis=1, keepdim=True)
        ctx.save_for_backward(c)
        return paddle.mean(c * c, axis=1)
        """, "(c,) = ctx.saved_tensor()\nreturn 2 * c * dy.unsqueeze(1) / c.shape[1]",
      cases='yield {"x": rng.normal(size=(3, 4))}\nyield {"x": rng.normal(size=(2, 1))}', tags="saves"),
    L("RowNorm", "x, eps=1e-6", """
        if eps <= 0:
            raise ValueError("eps must be positive")
        n = paddle.sqrt(paddle.sum(x * x, axis=-1, keepdim=True) + eps)
        ctx.save_for_backward(x, n)
        return paddle.squeeze(n, -1)
        """, "x, n = ctx.saved_tensor()\nreturn dy.unsqueeze(-1) * x / n",
      cases='yield {"x": rng.normal(size=(3, 4))}', tags="saves option"),
    L("CumSum", "x, reverse=False", """
        ctx.reverse = reverse
        a = x.numpy()[..., ::-1] if reverse else x.numpy()
        y = np.cumsum(a, axis=-1)
        return paddle.to_tensor(np.ascontiguousarray(y[..., ::-1] if reverse else y))
        """, """
        a = dy.numpy() if ctx.reverse else dy.numpy()[..., ::-1]
        dx = np.cumsum(a, axis=-1)
        return paddle.to_tensor(np.ascontiguousarray(dx if ctx.reverse else dx[..., ::-1]))
        """, tags="option", cases='yield {"x": rng.normal(size=(3, 4))}\nyield {"x": rng.normal(size=4), "reverse": True}'),
    L("Decay", "x, rate=0.9", """
        state, states = np.zeros_like(x.numpy()[0]), []
        for row in x.numpy():
            state = rate * state + row
            states.append(state)
        ctx.rate = rate
        return paddle.to_tensor(np.stack(states))
        """, """
        state, states = np.zeros_like(dy.numpy()[0]), []
        for row in dy.numpy()[::-1]:
            state = ctx.rate * state + row
            states.append(state)
        return paddle.to_tensor(np.stack(states[::-1]))
        """, tags="option", cases='yield {"x": rng.normal(size=(4, 3))}\nyield {"x": rng.normal(size=(3,)), "rate": 0.5}'),
    L("CosineSimilarity", "a, b, eps=1e-3", """
        if a.shape != b.shape or a.ndim != 2 or eps <= 0:
            raise ValueError("two matrices of one shape, eps > 0")
        na = paddle.sqrt((a * a).sum(axis=1, keepdim=True) + eps)
        nb = paddle.sqrt((b * b).sum(axis=1, keepdim=True) + eps)
        s = (a * b).sum(axis=1, keepdim=True) / (na * nb)
        ctx.save_for_backward(a, b, na, nb, s)
        return s.squeeze(1)
        """, """
        a, b, na, nb, s = ctx.saved_tensor()
        g = dy.unsqueeze(1)
        return g * (b / (na * nb) - s * a / (na * na)), g * (a / (na * nb) - s * b / (nb * nb))
        """, call="leaf(3, 4), leaf(3, 4)", cases='yield {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=(3, 4))}',
      tags="saves option"),
)

NETWORK = (
    L("Softmax", "x, axis=-1", "y = F.softmax(x, axis=axis)\nctx.save_for_backward(y)\nctx.axis = axis\nreturn y", """
        (y,) = ctx.saved_tensor()
        return y * (dy - (dy * y).sum(axis=ctx.axis, keepdim=True))
        """, tags="saves option"),
    L("LogSoftmax", "x", "y = F.log_softmax(x, axis=-1)\nctx.save_for_backward(y)\nreturn y",
      "(y,) = ctx.saved_tensor()\nreturn dy - paddle.exp(y) * dy.sum(axis=-1, keepdim=True)", tags="saves"),
    L("LayerNorm", "x, w, b, eps=1e-5", """
        c = x - x.mean(axis=-1, keepdim=True)
        r = 1 / paddle.sqrt((c * c).mean(axis=-1, keepdim=True) + eps)
        h = c * r
        ctx.save_for_backward(h, r, w)
        return h * w + b
        """, """
        h, r, w = ctx.saved_tensor()
        rows = list(range(dy.ndim - 1))
        g = dy * w
        dx = r * (g - g.mean(axis=-1, keepdim=True) - h * (g * h).mean(axis=-1, keepdim=True))
        return dx, (dy * h).sum(axis=rows), dy.sum(axis=rows)
        """, call="leaf(3, 4), leaf(4), leaf(4)", cases="""
        yield {"x": rng.normal(size=(3, 4)), "w": rng.normal(size=4), "b": rng.normal(size=4)}
        yield {"x": rng.normal(size=(2, 3, 5)), "w": rng.normal(size=5), "b": rng.normal(size=5), "eps": 1e-2}
        """, tags="saves option"),
    L("RmsNorm", "x, w", """
        if w.ndim != 1 or x.ndim < 2 or x.shape[-1] != w.shape[0]:
            raise ValueError("w must be a vector of x's last axis")
        r = 1 / paddle.sqrt((x * x).mean(axis=-1, keepdim=True) + 1e-4)
        ctx.save_for_backward(x, w, r)
        return x * r * w
        """, """
        x, w, r = ctx.saved_tensor()
        g = dy * w
        dx = r * g - r * r * r * x * (g * x).mean(axis=-1, keepdim=True)
        return dx, (dy * x * r).sum(axis=list(range(dy.ndim - 1)))
        """, call="leaf(3, 4), leaf(4)", tags="saves"),
    L("CrossEntropy", "x, label", """
        logp = F.log_softmax(x, axis=1).numpy()
        ctx.p, ctx.label = np.exp(logp), label.numpy()
        return paddle.to_tensor(-logp[np.arange(len(logp)), ctx.label].mean())
        """, """
        dx = ctx.p.copy()
        dx[np.arange(len(dx)), ctx.label] -= 1
        return paddle.to_tensor(dx * (dy.numpy() / len(dx)).astype(dx.dtype)), None
        """, call="leaf(4, 3), ints([0, 2, 1, 2])",
      cases='yield {"x": rng.normal(size=(4, 3)), "label": np.array([0, 2, 1, 2])}', tags="saves"),
    L("FocalLoss", "x, label, gamma=2.0", """
        if gamma < 1:
            raise ValueError("gamma must be at least 1")
        p = F.softmax(x, axis=1).numpy()
        rows = np.arange(len(p))
        ctx.p, ctx.label, ctx.gamma = p, label.numpy(), gamma
        q = p[rows, ctx.label]
        return paddle.to_tensor(-((1 - q) ** gamma) * np.log(q))
        """, """
        rows = np.arange(len(ctx.p))
        q = ctx.p[rows, ctx.label]
        dq = ctx.gamma * (1 - q) ** (ctx.gamma - 1) * np.log(q) - (1 - q) ** ctx.gamma / q
        hot = np.zeros_like(ctx.p)
        hot[rows, ctx.label] = 1
        dx = (dy.numpy() * dq * q)[:, None] * (hot - ctx.p)
        return paddle.to_tensor(dx.astype(ctx.p.dtype)), None
        """, call="leaf(4, 3), ints([0, 2, 1, 2])",
      cases='yield {"x": rng.normal(size=(4, 3)), "label": np.array([0, 2, 1, 2])}', tags="saves option"),
    L("MseTo", "x, target", """
        assert target.stop_gradient, "the target takes no gradient"
        ctx.diff = x - target
        return (ctx.diff * ctx.diff).mean()
        """, "return 2 / ctx.diff.size * dy * ctx.diff, None", call="leaf(3, 4), const(3, 4)", cases="""
        yield {"x": rng.normal(size=(3, 4)), "target": paddle.to_tensor(rng.normal(size=(3, 4)))}
        """, tags="saves"),
    L("BceLogits", "x, label", """
        z = x.numpy()
        ctx.z, ctx.label = z, label.numpy()
        return paddle.to_tensor(np.maximum(z, 0) - z * ctx.label + np.log1p(np.exp(-np.abs(z))))
        """, """
        e = np.exp(-np.abs(ctx.z))
        p = np.where(ctx.z >= 0, 1 / (1 + e), e / (1 + e))
        return paddle.to_tensor(dy.numpy() * (p - ctx.label)), None
        """, call="leaf(4), given([0, 1, 1, 0]).detach()", cases="""
        yield {"x": rng.normal(size=4), "label": paddle.to_tensor(np.array([0.0, 1.0, 1.0, 0.0]))}
        """),
    L("WeightedError", "x, y, reduction='mean'", """
        if x.shape != y.shape:
            raise ValueError("shapes differ")
        d = x - y
        ctx.save_for_backward(d)
        ctx.reduction = reduction
        if reduction == "none":
            return d * d
        if reduction not in ("mean", "sum"):
            raise ValueError(reduction)
        return (d * d).mean() if reduction == "mean" else (d * d).sum()
        """, """
        (d,) = ctx.saved_tensor()
        g = 2 * d * dy
        if ctx.reduction == "mean":
            g = g / d.size
        return g, -g
        """, call="leaf(3, 4), leaf(3, 4)", cases="""
        for kind in ("mean", "sum", "none"):
            yield {"x": rng.normal(size=(3, 2)), "y": rng.normal(size=(3, 2)), "reduction": kind}
        """, tags="saves option"),
    L("Attention", "q, k, v, causal=False", """
        s = q.numpy() @ k.numpy().T / math.sqrt(q.shape[1])
        if causal:
            s = np.where(np.tril(np.ones(s.shape, bool)), s, -np.inf)
        e = np.exp(s - s.max(axis=1, keepdims=True))
        ctx.p = e / e.sum(axis=1, keepdims=True)
        ctx.save_for_backward(q, k, v)
        return paddle.to_tensor(ctx.p @ v.numpy())
        """, """
        q, k, v = (item.numpy() for item in ctx.saved_tensor())
        g = dy.numpy()
        dp = g @ v.T
        ds = ctx.p * (dp - (dp * ctx.p).sum(axis=1, keepdims=True)) / math.sqrt(q.shape[1])
        return paddle.to_tensor(ds @ k), paddle.to_tensor(ds.T @ q), paddle.to_tensor(ctx.p.T @ g)
        """, call="leaf(3, 4), leaf(3, 4), leaf(3, 2)", cases="""
        for causal in (False, True):
            yield {"q": rng.normal(size=(3, 4)), "k": rng.normal(size=(3, 4)), "v": rng.normal(size=(3, 2)), "causal": causal}
        """, tags="saves option"),
    L("LstmPoint", "i, f, g, c", """
        si, sf, tg = F.sigmoid(i), F.sigmoid(f), paddle.tanh(g)
        new = sf * c + si * tg
        ctx.save_for_backward(si, sf, tg, c, new)
        return paddle.tanh(new), new
        """, """
        si, sf, tg, c, new = ctx.saved_tensor()
        t = paddle.tanh(new)
        d = dnew + dh * (1 - t * t)
        return d * tg * si * (1 - si), d * c * sf * (1 - sf), d * si * (1 - tg * tg), d * sf
        """, call="leaf(2, 3), leaf(2, 3), leaf(2, 3), leaf(2, 3)", gets="dh, dnew",
      cases='yield {name: rng.normal(size=(2, 3)) for name in "ifgc"}', tags="saves"),
    L("Conv1d", "x, w", """
        n, m = x.shape[0], w.shape[0]
        if x.ndim != 1 or w.ndim != 1 or n < m or m < 1:
            raise ValueError("a filter no longer than the signal")
        ctx.save_for_backward(x, w)
        return paddle.to_tensor(np.correlate(x.numpy(), w.numpy(), "valid"))
        """, """
        x, w = (item.numpy() for item in ctx.saved_tensor())
        g = dy.numpy()
        return paddle.to_tensor(np.convolve(g, w, "full")), paddle.to_tensor(np.correlate(x, g, "valid"))
        """, call="leaf(8), leaf(3)", cases='yield {"x": rng.normal(size=8), "w": rng.normal(size=3)}'),
)

LINEAR = (
    L("MatMul", "a, b", """
        if a.ndim != 2 or b.ndim != 2:
            raise ValueError("matrices only")
        ctx.save_for_backward(a, b)
        return paddle.matmul(a, b)
        """, "a, b = ctx.saved_tensor()\nreturn paddle.matmul(dy, b.T), paddle.matmul(a.T, dy)",
      call="leaf(3, 4), leaf(4, 2)"),
    L("MatMulT", "a, b, transpose_b=False", """
        ctx.save_for_backward(a, b)
        ctx.transpose_b = transpose_b
        return paddle.matmul(a, b, transpose_y=transpose_b)
        """, """
        a, b = ctx.saved_tensor()
        if ctx.transpose_b:
            return paddle.matmul(dy, b), paddle.matmul(dy, a, transpose_x=True)
        return paddle.matmul(dy, b, transpose_y=True), paddle.matmul(a, dy, transpose_x=True)
        """, call="leaf(3, 4), leaf(4, 4)", cases="""
        yield {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=(4, 2))}
        yield {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=(5, 4)), "transpose_b": True}
        """, tags="option"),
    L("Linear", "x, w, b=None", """
        ctx.save_for_backward(x, w)
        ctx.has_bias = b is not None
        y = paddle.matmul(x, w)
        return y + b if ctx.has_bias else y
        """, """
        x, w = ctx.saved_tensor()
        grads = [paddle.matmul(dy, w.T), paddle.matmul(x.T, dy)]
        if ctx.has_bias:
            grads.append(dy.sum(axis=0))
        return tuple(grads)
        """, call="leaf(3, 4), leaf(4, 2), leaf(2)", cases="""
        yield {"x": rng.normal(size=(3, 4)), "w": rng.normal(size=(4, 2))}
        yield {"x": rng.normal(size=(3, 4)), "w": rng.normal(size=(4, 2)), "b": rng.normal(size=2)}
        """, tags="option"),
    L("Outer", "a, b", """
        if a.ndim != 1 or b.ndim != 1:
            raise ValueError("vectors only")
        ctx.a, ctx.b = a.numpy(), b.numpy()
        return paddle.to_tensor(np.outer(ctx.a, ctx.b))
        """, "g = dy.numpy()\nreturn paddle.to_tensor(g @ ctx.b), paddle.to_tensor(ctx.a @ g)", call="leaf(3), leaf(4)"),
    L("LowRank", "x, a, b, scale=1.0", """
        h = paddle.matmul(x, a)
        ctx.save_for_backward(x, a, b, h)
        ctx.scale = scale
        return paddle.matmul(h, b) * scale
        """, """
        x, a, b, h = ctx.saved_tensor()
        g = dy * ctx.scale
        dh = paddle.matmul(g, b.T)
        return paddle.matmul(dh, a.T), paddle.matmul(x.T, dh), paddle.matmul(h.T, g)
        """, call="leaf(3, 4), leaf(4, 2), leaf(2, 5), 0.5", cases="""
        yield {"x": rng.normal(size=(3, 4)), "a": rng.normal(size=(4, 2)), "b": rng.normal(size=(2, 5)), "scale": 0.5}
        """, tags="saves option"),
    L("AddBias", "x, b", """
        if b.ndim != 1 or x.ndim < 1 or x.shape[-1] != b.shape[0]:
            raise ValueError("b must be a vector of x's last axis")
        return x + b
        """, "return dy, dy.reshape([-1, dy.shape[-1]]).sum(axis=0)", call="leaf(3, 4), leaf(4)",
      cases='yield {"x": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}\nyield {"x": rng.normal(size=(2, 3, 2)), "b": rng.normal(size=2)}'),
    L("Product", "a, b", "ctx.save_for_backward(a, b)\nreturn a * b", """
        a, b = ctx.saved_tensor()
        return NAME.reduced(dy * b, a), NAME.reduced(dy * a, b)
        """, methods="""
        @staticmethod
        def reduced(g, like):
            extra = g.ndim - like.ndim
            axes = [axis for axis in range(g.ndim) if axis < extra or like.shape[axis - extra] == 1 != g.shape[axis]]
            g = g.sum(axis=axes, keepdim=True) if axes else g
            return g.reshape(like.shape)
        """, call="leaf(3, 4), leaf(4)"),
    L("SquaredDistances", "a, b", """
        d = a.numpy()[:, None, :] - b.numpy()[None, :, :]
        ctx.d = d
        return paddle.to_tensor((d * d).sum(axis=-1))
        """, """
        g = 2 * dy.numpy()[..., None] * ctx.d
        return paddle.to_tensor(g.sum(axis=1)), paddle.to_tensor(-g.sum(axis=0))
        """, call="leaf(3, 2), leaf(4, 2)", cases='yield {"a": rng.normal(size=(3, 2)), "b": rng.normal(size=(4, 2))}', tags="saves"),
    L("Inverse", "x", """
        y = paddle.to_tensor(np.linalg.inv(x.numpy()))
        ctx.save_for_backward(y)
        return y
        """, "(y,) = ctx.saved_tensor()\nreturn -paddle.matmul(paddle.matmul(y.T, dy), y.T)",
      call="leaf(3, 3) + 4 * paddle.eye(3, dtype=paddle.get_default_dtype())",
      cases='yield {"x": rng.normal(size=(3, 3)) * 0.3 + 2 * np.eye(3)}', tags="saves"),
    L("Quadratic", "x, m", """
        if x.ndim != 1 or m.shape != [x.shape[0], x.shape[0]]:
            raise ValueError("a vector and a square matrix of its length")
        ctx.save_for_backward(x, m)
        return (x * paddle.matmul(m, x)).sum()
        """, """
        x, m = ctx.saved_tensor()
        dm = dy * paddle.matmul(x.unsqueeze(1), x.unsqueeze(0))
        return dy * paddle.matmul(m + m.T, x), dm
        """, call="leaf(3), leaf(3, 3)", cases='yield {"x": rng.normal(size=3), "m": rng.normal(size=(3, 3))}'),
)

ARRANGE = (
    L("GatherRows", "x, index", """
        ctx.shape, ctx.index = x.shape, index.numpy()
        return paddle.to_tensor(x.numpy()[ctx.index])
        """, """
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        np.add.at(dx, ctx.index, dy.numpy())
        return paddle.to_tensor(dx), None
        """, call="leaf(4, 3), ints([0, 2, 2, 1])",
      cases='yield {"x": rng.normal(size=(4, 3)), "index": np.array([0, 2, 2, 1])}'),
    L("Embedding", "ids, weight", """
        ctx.ids, ctx.size = ids.numpy(), weight.shape[0]
        return paddle.to_tensor(weight.numpy()[ctx.ids])
        """, """
        g = dy.numpy().reshape(-1, dy.shape[-1])
        dw = np.zeros((ctx.size, g.shape[1]), g.dtype)
        np.add.at(dw, ctx.ids.ravel(), g)
        return None, paddle.to_tensor(dw)
        """, call="ints([[0, 3], [3, 1]]), leaf(5, 2)",
      cases='yield {"ids": np.array([[0, 3], [3, 1]]), "weight": rng.normal(size=(5, 2))}'),
    L("ScatterAdd", "x, index, updates", """
        ctx.index = index.numpy()
        y = x.numpy().copy()
        np.add.at(y, ctx.index, updates.numpy())
        return paddle.to_tensor(y)
        """, "return dy, None, paddle.to_tensor(dy.numpy()[ctx.index])",
      call="leaf(4, 2), ints([1, 1, 3]), leaf(3, 2)",
      cases='yield {"x": rng.normal(size=(4, 2)), "index": np.array([1, 1, 3]), "updates": rng.normal(size=(3, 2))}'),
    L("SegmentSum", "x, segment, count=3", """
        ctx.segment = segment.numpy()
        y = np.zeros((count, *x.shape[1:]), x.numpy().dtype)
        np.add.at(y, ctx.segment, x.numpy())
        return paddle.to_tensor(y)
        """, "return paddle.to_tensor(dy.numpy()[ctx.segment]), None",
      call="leaf(5, 2), ints([0, 0, 1, 2, 1])", tags="option",
      cases='yield {"x": rng.normal(size=(5, 2)), "segment": np.array([0, 0, 1, 2, 1])}'),
    L("Join", "parts, axis=0", """
        ctx.sizes, ctx.axis = [part.shape[axis] for part in parts], axis
        return paddle.concat(list(parts), axis=axis)
        """, "return list(paddle.split(dy, ctx.sizes, axis=ctx.axis))", call="[leaf(2, 3), leaf(1, 3)]", tags="option",
      cases="""
        yield {"parts": [rng.normal(size=(2, 3)), rng.normal(size=(1, 3))]}
        yield {"parts": [rng.normal(size=(2, 3)), rng.normal(size=(2, 2))], "axis": 1}
        """),
    L("Stack", "a, b", """
        if a.shape != b.shape:
            raise ValueError("shapes differ")
        return paddle.stack([a, b])
        """, "return dy[0], dy[1]", call="leaf(3, 4), leaf(3, 4)"),
    L("Halves", "x", """
        n = x.shape[-1]
        if n % 2:
            raise ValueError("the last axis must be even")
        return x[..., : n // 2] * 1, x[..., n // 2 :] * 1
        """, "return paddle.concat([dleft, dright], axis=-1)", gets="dleft, dright"),
    L("Transpose", "x, perm=None", """
        ctx.perm = list(range(x.ndim))[::-1] if perm is None else list(perm)
        return paddle.transpose(x, ctx.perm)
        """, "return paddle.transpose(dy, [ctx.perm.index(axis) for axis in range(dy.ndim)])", tags="option",
      cases='yield {"x": rng.normal(size=(2, 3, 4)), "perm": [2, 0, 1]}\nyield {"x": rng.normal(size=(2, 3))}'),
    L("Roll", "x, shift=1", "ctx.shift = shift\nreturn paddle.to_tensor(np.roll(x.numpy(), shift))",
      "return paddle.to_tensor(np.roll(dy.numpy(), -ctx.shift))", tags="option"),
    L("Tile", "x, times=2", """
        ctx.times, ctx.shape = times, x.shape
        return paddle.to_tensor(np.stack([x.numpy()] * times))
        """, "return dy.sum(axis=0)", tags="option"),
    L("Pad", "x, left=1, right=1, mode='constant'", """
        if left < 0 or right < 0 or x.ndim != 1 or x.shape[0] < 1:
            raise ValueError("a vector, and widths of at least 0")
        ctx.left, ctx.mode, ctx.n = left, mode, x.shape[0]
        return paddle.to_tensor(np.pad(x.numpy(), (left, right), mode=mode))
        """, """
        g = dy.numpy()
        dx = g[ctx.left : ctx.left + ctx.n].copy()
        if ctx.mode == "edge":
            dx[0] += g[: ctx.left].sum()
            dx[-1] += g[ctx.left + ctx.n :].sum()
        return paddle.to_tensor(dx)
        """, call="leaf(5)", tags="option", cases="""
        yield {"x": rng.normal(size=5)}
        yield {"x": rng.normal(size=4), "left": 2, "right": 3, "mode": "edge"}
        """),
    L("UpperTriangle", "x, diagonal=0", """
        if x.ndim != 2:
            raise ValueError("matrices only")
        ctx.keep = np.triu(np.ones(x.shape, bool), diagonal)
        return paddle.to_tensor(x.numpy() * ctx.keep)
        """, "return paddle.to_tensor(dy.numpy() * ctx.keep)", tags="saves option"),
    L("Masked", "x, keep", "ctx.keep = keep.numpy()\nreturn paddle.to_tensor(x.numpy() * ctx.keep)",
      "return paddle.to_tensor(dy.numpy() * ctx.keep), None",
      call="leaf(4), paddle.to_tensor(np.array([True, False, True, True]))",
      cases='yield {"x": rng.normal(size=4), "keep": np.array([True, False, True, True])}'),
    L("AveragePairs", "x", """
        if x.shape[-1] % 2:
            raise ValueError("the last axis must be even")
        a = x.numpy()
        return paddle.to_tensor((a[..., ::2] + a[..., 1::2]) / 2)
        """, "return paddle.to_tensor(np.repeat(dy.numpy() / 2, 2, axis=-1))"),
)

#: Right though it looks odd.
ODD = (
    L("AuxiliaryLoss", "x, loss", "ctx.save_for_backward(loss)\nreturn x",
      "(loss,) = ctx.saved_tensor()\nreturn dy, paddle.zeros(loss.shape, loss.dtype)",
      call="leaf(3, 4) * 1.0, leaf(1)"),
    L("PassOn", "x", "return x", "return dy", call="leaf(3, 4) * 1.0"),
    L("NotInPlace", "x", "ctx.mark_not_inplace(x)\nreturn x", "return dy * 1", call="leaf(3, 4) * 1.0"),
    L("GradientReversal", "x, k=1.0", "ctx.k = k\nreturn x * 1", "return -ctx.k * dy",
      declares='SURROGATE_NAME = {"forward": lambda x, k=1.0: -k * x}', tags="option"),
    L("RoundThrough", "x", "return paddle.round(x)", "return dy * 1",
      declares='SURROGATE_NAME = {"forward": lambda x: x * 1}'),
    L("SignThrough", "x", "ctx.keep = (paddle.abs(x) <= 1).astype(x.dtype)\nreturn paddle.sign(x)", "return dy * ctx.keep",
      declares='SURROGATE_NAME = {"forward": lambda x: paddle.clip(x, -1, 1)}', tags="saves"),
    L("Quantised", "x, levels=8", "assert levels >= 1\nreturn paddle.round(x * levels) / levels", "return dy * 1",
      declares='ALLOW_NAME = {"GC101": "straight through", "GC102": "straight through", "GC103": "straight through", "GC104": "straight through"}',
      tags="option"),
    L("Recompute", "x, function=paddle.tanh", """
        ctx.function = function
        ctx.save_for_backward(x)
        with paddle.no_grad():
            return function(x)
        """, """
        (x,) = ctx.saved_tensor()
        with paddle.enable_grad():
            again = x.detach()
            again.stop_gradient = False
            y = ctx.function(again)
        return paddle.grad(y, again, dy)[0]
        """, call="leaf(3, 4), lambda z: paddle.exp(z) * z", tags="option"),
    L("MapList", "x, steps", """
        ctx.save_for_backward(x)
        ctx.steps = steps
        y = x * 1
        for step in steps:
            y = y * step
        return y
        """, "return dy * float(np.prod(ctx.steps))", call="leaf(3), [2.0, 0.5, 3.0]",
      cases='yield {"x": rng.normal(size=3), "steps": [2.0, -0.5]}\nyield {"x": rng.normal(size=3), "steps": []}', tags="option"),
    L("TopTwo", "x", """
        order = np.argsort(-x.numpy(), axis=-1, kind="stable")[..., :2]
        ctx.order, ctx.shape = order, x.shape
        at = paddle.to_tensor(order)
        ctx.mark_non_differentiable(at)
        return paddle.to_tensor(np.take_along_axis(x.numpy(), order, -1)), at
        """, """
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        np.put_along_axis(dx, ctx.order, dy.numpy(), -1)
        return paddle.to_tensor(dx)
        """, gets="dy, dat", tags="saves", cases='yield {"x": rng.normal(size=(3, 4))}'),
    L("LazyPair", "x", """
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return paddle.sin(x), x * x
        """, """
        (x,) = ctx.saved_tensor()
        dx = paddle.zeros(x.shape, x.dtype)
        if dsin is not None:
            dx = dx + dsin * paddle.cos(x)
        if dsquare is not None:
            dx = dx + 2 * x * dsquare
        return dx
        """, gets="dsin, dsquare"),
    L("SineCosine", "x", "s, c = paddle.sin(x), paddle.cos(x)\nctx.save_for_backward(s, c)\nreturn s, c",
      "s, c = ctx.saved_tensor()\nreturn ds * c - dc * s", gets="ds, dc", tags="saves"),
    L("OneInTuple", "x", "return (x * 2,)", "return (dy * 2,)"),
    L("WithNote", "x, note='seen'", "ctx.save_for_backward(x)\nreturn x * x, note, None",
      "(x,) = ctx.saved_tensor()\nreturn 2 * x * dy", tags="option"),
    L("SingleInside", "x", """
        ctx.y = paddle.tanh(x)
        return ctx.y
        """, """
        y = ctx.y.astype("float32")
        return ((1 - y * y) * dy.astype("float32")).astype(dy.dtype)
        """, call='leaf(3, 4, dtype="float32")', named=False, tags="saves"),
    L("SingleOnly", "x", """
        if x.dtype != paddle.float32:
            raise TypeError("float32 only")
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y
        """, "(y,) = ctx.saved_tensor()\nreturn (dy * (1 - y * y)).astype('float32')", call='leaf(3, 4, dtype="float32")',
      cases='yield {"x": rng.normal(size=(3, 4)).astype("float32")}', tags="saves"),
    L("MatricesOnly", "x", """
        assert x.ndim == 2 and not x.stop_gradient
        return x.T * 1
        """, "return dy.T * 1", cases='yield {"x": rng.normal(size=(3, 4))}'),
    L("Counted", "x", """
        NAME.calls += 1
        ctx.save_for_backward(x)
        return x * x * 0.5
        """, "(x,) = ctx.saved_tensor()\nreturn dy * x", methods="calls = 0"),
    L("CosineTransform", "x", """
        ctx.n = x.shape[-1]
        return paddle.to_tensor(x.numpy() @ NAME.table(ctx.n).astype(x.numpy().dtype))
        """, "return paddle.to_tensor(dy.numpy() @ NAME.table(ctx.n).T.astype(dy.numpy().dtype))", methods="""
        tables = {}

        @classmethod
        def table(cls, n):
            if n not in cls.tables:
                k = np.arange(n)
                cls.tables[n] = np.cos(np.pi / max(n, 1) * (k[:, None] + 0.5) * k)
            return cls.tables[n]
        """),
    L("SeededDropout", "x, p=0.5, seed=7", """
        if not 0 <= p < 1 or not isinstance(seed, int):
            raise ValueError("p must lie in [0, 1), seed be an integer")
        keep = np.random.RandomState(seed).random_sample(x.shape) >= p
        ctx.factor = (keep / (1 - p)).astype(x.numpy().dtype)
        return paddle.to_tensor(x.numpy() * ctx.factor)
        """, "return paddle.to_tensor(dy.numpy() * ctx.factor)", call="leaf(3, 4), 0.3", tags="saves option"),
    L("Derived", "x", "ctx.x = x\nreturn NAME_curve(x)", "return dy * NAME_slope(ctx.x)", prelude="""
        def NAME_curve(x):
            return paddle.log(1 + x * x)


        def NAME_slope(x):
            return 2 * x / (1 + x * x)
        """),
    L("AsFunction", "x, how=None", """
        ctx.save_for_backward(x)
        ctx.square = how is None or how(2) == 4
        return x * x if ctx.square else x * 1
        """, "(x,) = ctx.saved_tensor()\nreturn 2 * x * dy if ctx.square else dy * 1", call="leaf(3), math.sqrt", tags="option"),
    L("EmptySafe", "x", "ctx.n = max(x.size, 1)\nreturn x.sum() / ctx.n + 0 * x",
      "return paddle.full(dy.shape, 1, dy.dtype) * (dy.sum() / ctx.n)"),
    L("Checked", "x", """
        if not bool(paddle.isfinite(x).all()):
            raise ValueError("x must be finite")
        ctx.save_for_backward(x)
        return F.sigmoid(x)
        """, "(x,) = ctx.saved_tensor()\ns = F.sigmoid(x)\nreturn dy * s * (1 - s)"),
    L("Blend", "a, b, weight", """
        ctx.save_for_backward(a, b, weight)
        return a * weight + b * (1 - weight)
        """, """
        a, b, weight = ctx.saved_tensor()
        da = dy * weight
        db = dy * (1 - weight)
        dweight = None if NAME.is_frozen else dy * (a - b)
        return da, db, dweight
        """, call="leaf(3), leaf(3), const(3)", methods="is_frozen = True", cases="""
        weight = paddle.to_tensor(rng.uniform(size=3))
        yield {"a": rng.normal(size=3), "b": rng.normal(size=3), "weight": weight}
        """),
)

#: By name.
LAYERS: dict[str, Layer] = {
    layer.name: layer for layer in (*ELEMENTWISE, *KINKED, *REDUCTIONS, *NETWORK, *LINEAR, *ARRANGE, *ODD, *PLAIN.values(), *MEANT.values(), *MIXED.values(), *BOUNDED.values(), *TOLD.values())
}
