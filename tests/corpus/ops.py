"""The right ops of the corpus, one row each, by family."""

from __future__ import annotations

from tests.corpus.model import Op, same_as

__all__ = ["OPS"]

_AXIS = """
    const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
    int64_t axis = ctx->Attr<int32_t>("axis");
    if (axis < 0) { axis = axis + x->NumAxes(); }
    CHECK_GE_OR_RETURN(axis, 0);
    CHECK_LT_OR_RETURN(axis, x->NumAxes());
"""
_REDUCED = (
    _AXIS
    + """
    DimVector dims;
    FOR_RANGE(int64_t, i, 0, x->NumAxes()) {
      if (i != axis) { dims.push_back(x->At(i)); }
    }
    *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(dims);
"""
)
_SCALAR = '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({1});\n'
_SAME2 = """
    const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
    const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
    CHECK_OR_RETURN(*a == *b) << "shapes differ";
    *ctx->Shape4ArgNameAndIndex("y", 0) = *a;
"""
_ROWS = """
    const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
    CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
    CHECK_GT_OR_RETURN(x->At(1), 0);
"""

ELEMENTWISE = (
    Op("cube_tanh", "return np.tanh(x) ** 3", "t = np.tanh(x)\nreturn 3 * t * t * (1 - t * t) * dy"),
    Op("plain_tanh", "return np.tanh(x)", "return (1 - y * y) * dy", saved=("y", "dy"), like={"x": "dy"}),
    Op(
        "swish",
        "b = attrs['beta']\nreturn x / (1 + np.exp(-b * x))",
        "b = attrs['beta']\ns = 1 / (1 + np.exp(-b * x))\nreturn dy * (s + b * x * s * (1 - s))",
        attrs=(("beta", "float", "1.0"),),
    ),
    Op(
        "softplus",
        "b = attrs['beta']\nreturn np.logaddexp(0, b * x).astype(x.dtype) / b",
        "b = attrs['beta']\nz = np.exp(-np.abs(b * x))\nreturn dy * np.where(x >= 0, 1 / (1 + z), z / (1 + z))",
        attrs=(("beta", "float", "2.0"),),
    ),
    Op(
        "gelu",
        "u = 0.7978845608 * (x + 0.044715 * x**3)\nreturn 0.5 * x * (1 + np.tanh(u))",
        """
        t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
        inner = 0.7978845608 * (1 + 3 * 0.044715 * x**2)
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * inner)
        """,
    ),
    Op(
        "mish",
        "return x * np.tanh(np.logaddexp(0, x).astype(x.dtype))",
        """
        t = np.tanh(np.logaddexp(0, x).astype(x.dtype))
        z = np.exp(-np.abs(x))
        s = np.where(x >= 0, 1 / (1 + z), z / (1 + z))
        return dy * (t + x * (1 - t * t) * s)
        """,
    ),
    Op("arsinh", "return np.arcsinh(x)", "return dy / np.hypot(1, x)"),
    Op("softsign", "return x / (1 + np.abs(x))", "return dy / (1 + np.abs(x)) ** 2"),
    Op("reciprocal", "return 1 / x", "return -dy * y * y", saved=("y", "dy"), like={"x": "dy"}),
    Op("logarithm", "return np.log(x)", "return dy / x"),
    Op("square_root", "return np.sqrt(x)", "return 0.5 * dy / y", saved=("y", "dy"), like={"x": "dy"}),
    Op("logit", "return np.log(x) - np.log1p(-x)", "return dy / (x * (1 - x))"),
    Op("arcosh", "return np.arccosh(x)", "return dy / np.sqrt((x - 1) * (x + 1))", tricky=True),
    Op(
        "power",
        "return x ** attrs['n']",
        "n = attrs['n']\nreturn dy * n * x ** (n - 1)",
        attrs=(("n", "int32", "3"),),
    ),
    Op(
        "wave",
        "return attrs['a'] * np.sin(attrs['w'] * x)",
        "return dy * attrs['a'] * attrs['w'] * np.cos(attrs['w'] * x)",
        attrs=(("a", "float", "0.5"), ("w", "float", "3.0")),
    ),
    Op("entropy", "return -x * np.log(x)", "return -dy * (np.log(x) + 1)"),
    Op("gauss", "return np.exp(-x * x)", "return -2 * x * y * dy", saved=("x", "y", "dy")),
    Op(
        "steep",
        "return np.tanh(1000 * (x - 0.25))",
        "t = np.tanh(1000 * (x - 0.25))\nreturn dy * 1000 * (1 - t) * (1 + t)",
        tricky=True,
    ),
    Op("ripple", "return np.sin(200 * x) + x", "return dy * (200 * np.cos(200 * x) + 1)", tricky=True),
    Op("faint", "return 1e-9 * x * x", "return 2e-9 * x * dy", tricky=True),
    Op("cardinal_sine", """
        safe = np.where(x == 0, 1, x)
        return np.where(x == 0, 1, np.sin(safe) / safe).astype(x.dtype)
        """, """
        safe = np.where(np.abs(x) < 0.05, 1, x)
        series = -x / 3 + x**3 / 30 - x**5 / 840 + x**7 / 45360
        return dy * np.where(np.abs(x) < 0.05, series, (safe * np.cos(safe) - np.sin(safe)) / safe**2)
        """, tricky=True),
)

KINKED = (
    Op("magnitude", "return np.abs(x)", "return np.sign(x) * dy", tricky=True),
    Op(
        "leaky",
        "return np.where(x > 0, x, attrs['slope'] * x)",
        "return np.where(x > 0, dy, attrs['slope'] * dy)",
        attrs=(("slope", "float", "0.1"),),
        tricky=True,
    ),
    Op("hard_swish", "return x * np.clip(x + 3, 0, 6) / 6", """
        inside = (x > -3) & (x < 3)
        return dy * (np.clip(x + 3, 0, 6) / 6 + np.where(inside, x / 6, 0))
        """, tricky=True),
    Op("bent_elu", "return np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))",
       "return dy * np.where(x > 0, 1, 1.5 * np.exp(np.minimum(x, 0)))", tricky=True),
    Op(
        "bound",
        "return np.clip(x, -attrs['limit'], attrs['limit'])",
        "return dy * (np.abs(x) <= attrs['limit'])",
        attrs=(("limit", "float", "1.0"),),
        tricky=True,
    ),
    Op("soft_shrink", "return np.sign(x) * np.maximum(np.abs(x) - attrs['width'], 0)",
       "return dy * (np.abs(x) > attrs['width'])", attrs=(("width", "float", "0.5"),), tricky=True),
    Op("hard_shrink", "return x * (np.abs(x) > 0.5)", "return dy * (np.abs(x) > 0.5)", tricky=True),
    Op("fraction", "return x - np.floor(x)", "return dy.copy()", tricky=True),
    Op("flat_steps", "return np.floor(2 * x) / 2", "return np.zeros_like(dy)", saved=("x", "dy"), tricky=True),
    Op(
        "huber",
        "d = attrs['delta']\nm = np.abs(x)\nreturn np.where(m <= d, 0.5 * x * x, d * (m - 0.5 * d))",
        "d = attrs['delta']\nreturn dy * np.clip(x, -d, d)",
        attrs=(("delta", "float", "1.0"),),
    ),
    Op(
        "larger",
        "return np.maximum(a, b)",
        "wins = np.where(a > b, 1.0, np.where(a == b, 0.5, 0.0)).astype(dy.dtype)\nreturn wins * dy, (1 - wins) * dy",
        inputs=("a", "b"),
        saved=("a", "b", "dy"),
        grads=("a", "b"),
        infer=_SAME2,
        tricky=True,
    ),
)

DECLARED = (
    Op("straight_sign", "return np.where(x >= 0, 1, -1).astype(x.dtype)", "return dy * (np.abs(x) <= 1)", cases="""
        def cases(rng):
            for shape in ((5,), (3, 4)):
                yield {"x": rng.uniform(-2, 2, shape)}


        def soft(args):
            (x,) = args
            return np.clip(x, -1, 1)


        SURROGATE = {"forward": soft}
        """, tricky=True),
    Op("fake_quant", "return np.round(x * 16) / 16", "return dy.copy()", saved=("x", "dy"), cases="""
        def cases(rng):
            yield {"x": rng.uniform(-1, 1, (4, 5))}
            yield {"x": rng.uniform(-1, 1, (7,)).astype(np.float32)}


        def straight(args):
            return args[0]


        SURROGATE = {"forward": straight}
        """, tricky=True),
    Op("reversal", "return x.copy()", "return -attrs['strength'] * dy", saved=("dy",), like={"x": "dy"},
       attrs=(("strength", "float", "0.5"),), cases="""
        def cases(rng):
            yield {"x": rng.uniform(-1, 1, (4, 5))}
            yield {"x": rng.uniform(-1, 1, (3,)), "strength": 2.0}


        def reversed_scale(args, attrs):
            return -attrs["strength"] * args[0]


        SURROGATE = {"forward": reversed_scale}
        """, tricky=True),
    Op("only_single", "return np.float32(1) / (np.float32(1) + np.exp(-x.astype(np.float32)))",
       "return dy.astype(np.float32) * y * (np.float32(1) - y)", saved=("y", "dy"), like={"x": "dy"}, cases="""
        def cases(rng):
            for shape in ((4,), (2, 3)):
                yield {"x": rng.uniform(-3, 3, shape).astype(np.float32)}
        """, tricky=True),
    Op("checked_single", "return (x * np.float32(0.1)) ** 2", "return dy * np.float32(0.02) * x", infer="""
        CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex("x", 0), DataType::kFloat);
        *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
        """, tricky=True),
    Op("rough_gelu", "u = 0.7978845608 * (x + 0.044715 * x**3)\nreturn 0.5 * x * (1 + np.tanh(u))", """
        s = 1 / (1 + np.exp(-1.702 * x))
        return dy * (s + 1.702 * x * s * (1 - s))
        """, cases="""
        def cases(rng):
            yield {"x": rng.uniform(-3, 3, (20,))}


        TOLERANCE = {"x": 0.05}
        """, tricky=True),
    Op("log_det", "return np.array([np.linalg.slogdet(x)[1]], dtype=x.dtype)",
       "return dy[0] * np.linalg.inv(x).T", infer=_SCALAR, cases="""
        def cases(rng):
            for n in (2, 3, 5):
                a = rng.normal(size=(n, n))
                yield {"x": a @ a.T + n * np.eye(n)}
        """, tricky=True),
    Op("inverse", "return np.linalg.inv(x)", "return -y.T @ dy @ y.T", saved=("y", "dy"), like={"x": "dy"}, cases="""
        def cases(rng):
            for n in (2, 4):
                yield {"x": rng.normal(size=(n, n)) + 3 * np.eye(n)}
        """, tricky=True),
    Op("divergence", "return np.sum(p * (np.log(p) - np.log(q)), axis=-1)", """
        wide = dy[:, None]
        return wide * (np.log(p) - np.log(q) + 1), -wide * p / q
        """, inputs=("p", "q"), saved=("p", "q", "dy"), grads=("p", "q"), infer="""
        const Shape* p = ctx->Shape4ArgNameAndIndex("p", 0);
        CHECK_OR_RETURN(*p == *ctx->Shape4ArgNameAndIndex("q", 0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({p->At(0)});
        """, cases="""
        def cases(rng):
            for shape in ((3, 4), (1, 6)):
                yield {"p": rng.dirichlet(np.ones(shape[1]), shape[0]), "q": rng.dirichlet(np.ones(shape[1]), shape[0])}
        """, tricky=True),
)

BINARY = (
    Op("product", "return a * b", "return dy * b, dy * a", inputs=("a", "b"), saved=("a", "b", "dy"),
       grads=("a", "b"), infer=_SAME2),
    Op("ratio", "return a / b", "return dy / b, -dy * a / (b * b)", inputs=("a", "b"), saved=("a", "b", "dy"),
       grads=("a", "b"), infer=_SAME2),
    Op("angle", "return np.arctan2(a, b)", "r = a * a + b * b\nreturn dy * b / r, -dy * a / r", inputs=("a", "b"),
       saved=("a", "b", "dy"), grads=("a", "b"), infer=_SAME2, tricky=True),
    Op("log_add", "return np.logaddexp(a, b)", """
        s = np.exp(a - y)
        return dy * s, dy * np.exp(b - y)
        """, inputs=("a", "b"), saved=("a", "b", "y", "dy"), grads=("a", "b"), infer=_SAME2),
    Op("blend", "return t * a + (1 - t) * b", "return dy * t, dy * (1 - t), dy * (a - b)", inputs=("a", "b", "t"),
       saved=("a", "b", "t", "dy"), grads=("a", "b", "t"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        CHECK_OR_RETURN(*a == *ctx->Shape4ArgNameAndIndex("b", 0));
        CHECK_OR_RETURN(*a == *ctx->Shape4ArgNameAndIndex("t", 0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = *a;
        """),
    Op("add_bias", "return x + b", """
        return dy.copy(), dy.sum(axis=tuple(range(dy.ndim - 1)))
        """, inputs=("x", "b"), saved=("b", "dy"), grads=("x", "b"), like={"x": "dy"}, infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
        CHECK_GE_OR_RETURN(x->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(b->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(b->At(0), x->At(x->NumAxes() - 1));
        *ctx->Shape4ArgNameAndIndex("y", 0) = *x;
        """),
    Op("channel_scale", """
        wide = (1, -1) + (1,) * (x.ndim - 2)
        return x * s.reshape(wide)
        """, """
        wide = (1, -1) + (1,) * (x.ndim - 2)
        axes = (0,) + tuple(range(2, x.ndim))
        return dy * s.reshape(wide), (dy * x).sum(axis=axes)
        """, inputs=("x", "s"), saved=("x", "s", "dy"), grads=("x", "s"), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* s = ctx->Shape4ArgNameAndIndex("s", 0);
        CHECK_GE_OR_RETURN(x->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(s->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(s->At(0), x->At(1));
        *ctx->Shape4ArgNameAndIndex("y", 0) = *x;
        """),
    Op("broadcast_times", "return a * b", """
        return shrink(dy * b, a.shape), shrink(dy * a, b.shape)
        """, inputs=("a", "b"), saved=("a", "b", "dy"), grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
        CHECK_EQ_OR_RETURN(a->NumAxes(), b->NumAxes());
        DimVector dims;
        FOR_RANGE(int64_t, i, 0, a->NumAxes()) {
          CHECK_OR_RETURN(a->At(i) == b->At(i) || a->At(i) == 1 || b->At(i) == 1);
          dims.push_back(a->At(i) == 1 ? b->At(i) : a->At(i));
        }
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(dims);
        """, prelude="""
        def shrink(g, shape):
            axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
            return g.sum(axis=axes, keepdims=True) if axes else g
        """),
    Op("squared_error", "return np.array([np.mean((p - t) ** 2)], dtype=p.dtype)",
       "return dy[0] * 2 * (p - t) / p.size", inputs=("p", "t"), saved=("p", "t", "dy"), grads=("p",), infer="""
        const Shape* p = ctx->Shape4ArgNameAndIndex("p", 0);
        CHECK_OR_RETURN(*p == *ctx->Shape4ArgNameAndIndex("t", 0));
        CHECK_GT_OR_RETURN(p->elem_cnt(), 0);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({1});
        """),
    Op("cross_entropy_prob", "return -(t * np.log(p) + (1 - t) * np.log1p(-p))",
       "return dy * (p - t) / (p * (1 - p))", inputs=("p", "t"), saved=("p", "t", "dy"), grads=("p",), infer="""
        const Shape* p = ctx->Shape4ArgNameAndIndex("p", 0);
        CHECK_OR_RETURN(*p == *ctx->Shape4ArgNameAndIndex("t", 0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = *p;
        """),
)

REDUCTIONS = (
    Op("sum_axis", "return x.sum(axis=attrs['axis'])",
       "return np.broadcast_to(np.expand_dims(dy, attrs['axis']), x.shape).copy()",
       attrs=(("axis", "int32", "-1"),), infer=_REDUCED),
    Op("mean_all", "return np.array([x.mean()], dtype=x.dtype)", "return np.full(x.shape, dy[0] / x.size, x.dtype)",
       infer='CHECK_GT_OR_RETURN(ctx->Shape4ArgNameAndIndex("x", 0)->elem_cnt(), 0);\n' + _SCALAR),
    Op("max_axis", "return x.max(axis=attrs['axis'])", """
        a = attrs['axis']
        hit = x == np.expand_dims(y, a)
        return hit / hit.sum(axis=a, keepdims=True) * np.expand_dims(dy, a)
        """.replace("hit / hit.sum(axis=a, keepdims=True)", "(hit / hit.sum(axis=a, keepdims=True)).astype(x.dtype)"),
       saved=("x", "y", "dy"), attrs=(("axis", "int32", "-1"),), infer=_REDUCED, tricky=True),
    Op("log_sum_exp", """
        a = attrs['axis']
        top = x.max(axis=a, keepdims=True)
        return (top + np.log(np.exp(x - top).sum(axis=a, keepdims=True))).squeeze(a)
        """, "a = attrs['axis']\nreturn np.exp(x - np.expand_dims(y, a)) * np.expand_dims(dy, a)",
       saved=("x", "y", "dy"), attrs=(("axis", "int32", "-1"),), infer=_REDUCED),
    Op("norm_axis", "return np.sqrt((x * x).sum(axis=attrs['axis']))", """
        a = attrs['axis']
        n = np.expand_dims(y, a)
        safe = np.where(n == 0, 1, n)
        return np.where(n == 0, 0, x / safe) * np.expand_dims(dy, a)
        """, saved=("x", "y", "dy"), attrs=(("axis", "int32", "-1"),), infer=_REDUCED, tricky=True),
    Op("variance", "return x.var(axis=1)",
       "return 2 * (x - x.mean(axis=1, keepdims=True)) / x.shape[1] * dy[:, None]",
       infer=_ROWS + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0)});\n'),
    Op("product_axis", "return x.prod(axis=1)", """
        n = x.shape[1]
        dx = np.empty_like(x)
        for i in range(n):
            dx[:, i] = np.delete(x, i, axis=1).prod(axis=1) * dy
        return dx
        """, infer=_ROWS + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0)});\n', tricky=True),
    Op("running_sum", "return np.cumsum(x, axis=attrs['axis'])",
       "a = attrs['axis']\nreturn np.flip(np.cumsum(np.flip(dy, a), axis=a), a)", saved=("dy",), like={"x": "dy"},
       attrs=(("axis", "int32", "-1"),), infer=_AXIS + same_as("x")),
    Op("sorted_row", "return np.sort(x, axis=-1)", """
        order = np.argsort(x, axis=-1, kind='stable')
        dx = np.empty_like(dy)
        np.put_along_axis(dx, order, dy, axis=-1)
        return dx
        """, infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        CHECK_GE_OR_RETURN(x->NumAxes(), 1);
        *ctx->Shape4ArgNameAndIndex("y", 0) = *x;
        """, tricky=True),
    Op("middle", "return np.sort(x, axis=1)[:, x.shape[1] // 2].copy()", """
        place = np.argsort(x, axis=1, kind='stable')[:, x.shape[1] // 2]
        dx = np.zeros_like(x)
        dx[np.arange(x.shape[0]), place] = dy
        return dx
        """, infer=_ROWS + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0)});\n', tricky=True),
    Op("top_two", "return -np.sort(-x, axis=1)[:, :2]", """
        order = np.argsort(-x, axis=1, kind='stable')[:, :2]
        dx = np.zeros_like(x)
        np.put_along_axis(dx, order, dy, axis=1)
        return dx
        """, infer=_ROWS + 'CHECK_GE_OR_RETURN(x->At(1), 2);\n'
       '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0), 2});\n', tricky=True),
)

NORMALISING = (
    Op("soft_max", """
        a = attrs['axis']
        e = np.exp(x - x.max(axis=a, keepdims=True))
        return e / e.sum(axis=a, keepdims=True)
        """, "a = attrs['axis']\nreturn y * (dy - (dy * y).sum(axis=a, keepdims=True))", saved=("y", "dy"),
       like={"x": "dy"}, attrs=(("axis", "int32", "-1"),), infer=_AXIS + "CHECK_GT_OR_RETURN(x->elem_cnt(), 0);\n" + same_as("x")),
    Op("log_soft_max", """
        z = x - x.max(axis=-1, keepdims=True)
        return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
        """, "return dy - np.exp(y) * dy.sum(axis=-1, keepdims=True)", saved=("y", "dy"), like={"x": "dy"},
       infer=_ROWS + same_as("x")),
    Op("layer_norm", """
        m = x.mean(axis=-1, keepdims=True)
        r = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + attrs['eps'])
        return (x - m) * r * g + b
        """, """
        m = x.mean(axis=-1, keepdims=True)
        r = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + attrs['eps'])
        h = (x - m) * r
        axes = tuple(range(x.ndim - 1))
        dh = dy * g
        dx = r * (dh - dh.mean(axis=-1, keepdims=True) - h * (dh * h).mean(axis=-1, keepdims=True))
        return dx, (dy * h).sum(axis=axes), dy.sum(axis=axes)
        """, inputs=("x", "g", "b"), saved=("x", "g", "b", "dy"), grads=("x", "g", "b"),
       attrs=(("eps", "float", "1e-3"),), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* g = ctx->Shape4ArgNameAndIndex("g", 0);
        CHECK_GE_OR_RETURN(x->NumAxes(), 2);
        CHECK_GT_OR_RETURN(x->At(x->NumAxes() - 1), 0);
        CHECK_EQ_OR_RETURN(g->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(g->At(0), x->At(x->NumAxes() - 1));
        CHECK_OR_RETURN(*g == *ctx->Shape4ArgNameAndIndex("b", 0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = *x;
        """),
    Op("rms_norm", """
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-2)
        """, """
        r = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-2)
        return r * dy - x * r**3 * (dy * x).mean(axis=-1, keepdims=True)
        """, infer=_ROWS + same_as("x")),
    Op("cosine", """
        na, nb = np.sqrt((a * a).sum(-1)), np.sqrt((b * b).sum(-1))
        return (a * b).sum(-1) / (na * nb)
        """, """
        na, nb = np.sqrt((a * a).sum(-1))[:, None], np.sqrt((b * b).sum(-1))[:, None]
        c = (a * b).sum(-1)[:, None] / (na * nb)
        d = dy[:, None]
        return d * (b / (na * nb) - c * a / na**2), d * (a / (na * nb) - c * b / nb**2)
        """, inputs=("a", "b"), saved=("a", "b", "dy"), grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        CHECK_EQ_OR_RETURN(a->NumAxes(), 2);
        CHECK_OR_RETURN(*a == *ctx->Shape4ArgNameAndIndex("b", 0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({a->At(0)});
        """),
)

LINEAR = (
    Op("mat_mul", "return a @ b", "return dy @ b.T, a.T @ dy", inputs=("a", "b"), saved=("a", "b", "dy"),
       grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
        CHECK_EQ_OR_RETURN(a->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(b->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(a->At(1), b->At(0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({a->At(0), b->At(1)});
        """),
    Op("batch_mat_mul", "return a @ b", "return dy @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ dy",
       inputs=("a", "b"), saved=("a", "b", "dy"), grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
        CHECK_EQ_OR_RETURN(a->NumAxes(), 3);
        CHECK_EQ_OR_RETURN(b->NumAxes(), 3);
        CHECK_EQ_OR_RETURN(a->At(0), b->At(0));
        CHECK_EQ_OR_RETURN(a->At(2), b->At(1));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({a->At(0), a->At(1), b->At(2)});
        """),
    Op("dense", "return x @ w + b", "return dy @ w.T, x.T @ dy, dy.sum(axis=0)", inputs=("x", "w", "b"),
       saved=("x", "w", "b", "dy"), grads=("x", "w", "b"), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* w = ctx->Shape4ArgNameAndIndex("w", 0);
        const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(w->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(b->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(x->At(1), w->At(0));
        CHECK_EQ_OR_RETURN(b->At(0), w->At(1));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0), w->At(1)});
        """),
    Op("outer", "return np.outer(a, b)", "return dy @ b, a @ dy", inputs=("a", "b"), saved=("a", "b", "dy"),
       grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
        CHECK_EQ_OR_RETURN(a->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(b->NumAxes(), 1);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({a->At(0), b->At(0)});
        """),
    Op("quadratic", "return np.array([x @ m @ x], dtype=x.dtype)",
       "return dy[0] * (m + m.T) @ x, dy[0] * np.outer(x, x)", inputs=("x", "m"), saved=("x", "m", "dy"),
       grads=("x", "m"), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* m = ctx->Shape4ArgNameAndIndex("m", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(m->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(m->At(0), x->At(0));
        CHECK_EQ_OR_RETURN(m->At(1), x->At(0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({1});
        """),
    Op("flip_axes", "return x.T", "return dy.T", saved=("x", "dy"), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(1), x->At(0)});
        """, tricky=True),
    Op("pass_through", "return x", "return dy", saved=("dy",), like={"x": "dy"}, tricky=True),
)

WINDOWS = (
    Op("convolve", """
        k = w.shape[2]
        cols = np.stack([x[:, :, i : x.shape[2] - k + 1 + i] for i in range(k)], axis=-1)
        return np.einsum('nclk,ock->nol', cols, w)
        """, """
        k = w.shape[2]
        cols = np.stack([x[:, :, i : x.shape[2] - k + 1 + i] for i in range(k)], axis=-1)
        dw = np.einsum('nol,nclk->ock', dy, cols)
        dx = np.zeros_like(x)
        for i in range(k):
            dx[:, :, i : x.shape[2] - k + 1 + i] += np.einsum('nol,oc->ncl', dy, w[:, :, i])
        return dx, dw
        """, inputs=("x", "w"), saved=("x", "w", "dy"), grads=("x", "w"), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* w = ctx->Shape4ArgNameAndIndex("w", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 3);
        CHECK_EQ_OR_RETURN(w->NumAxes(), 3);
        CHECK_EQ_OR_RETURN(x->At(1), w->At(1));
        CHECK_GE_OR_RETURN(x->At(2), w->At(2));
        CHECK_GE_OR_RETURN(w->At(2), 1);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0), w->At(0), x->At(2) - w->At(2) + 1});
        """),
    Op("max_pool", """
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        return blocks.max(axis=(3, 5))
        """, """
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        first = np.argmax(blocks, axis=-1)[..., None]
        flat = np.zeros_like(blocks)
        np.put_along_axis(flat, first, dy[..., None], axis=-1)
        return flat.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(x.shape)
        """, infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 4);
        CHECK_EQ_OR_RETURN(x->At(2) % 2, 0);
        CHECK_EQ_OR_RETURN(x->At(3) % 2, 0);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0), x->At(1), x->At(2) / 2, x->At(3) / 2});
        """, tricky=True),
    Op("smooth_rows", """
        padded = np.pad(x, ((0, 0), (1, 1)))
        return (padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]) / 4
        """, """
        padded = np.pad(dy, ((0, 0), (1, 1)))
        return (padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]) / 4
        """, saved=("dy",), like={"x": "dy"}, infer=_ROWS + same_as("x")),
    Op("repeat_each", "return np.repeat(x, attrs['times'], axis=-1)", """
        k = attrs['times']
        return dy.reshape(*x.shape, k).sum(axis=-1)
        """, attrs=(("times", "int32", "2"),), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        CHECK_GE_OR_RETURN(x->NumAxes(), 1);
        CHECK_GE_OR_RETURN(ctx->Attr<int32_t>("times"), 1);
        DimVector dims = x->dim_vec();
        dims.back() = dims.back() * ctx->Attr<int32_t>("times");
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(dims);
        """.replace("dims.back() = dims.back() * ctx->Attr<int32_t>(\"times\");",
                    "dims.at(x->NumAxes() - 1) = x->At(x->NumAxes() - 1) * ctx->Attr<int32_t>(\"times\");")),
    Op("differences", "return np.diff(x, axis=-1)", """
        dx = np.zeros_like(x)
        dx[..., 1:] += dy
        dx[..., :-1] -= dy
        return dx
        """, infer=_ROWS + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0), x->At(1) - 1});\n'),
)

INDEXED = (
    Op("lookup", "return table[ids]", """
        grad = np.zeros_like(table)
        np.add.at(grad, ids, dy)
        return grad
        """, inputs=("table", "ids"), saved=("table", "ids", "dy"), grads=("table",), infer="""
        const Shape* table = ctx->Shape4ArgNameAndIndex("table", 0);
        const Shape* ids = ctx->Shape4ArgNameAndIndex("ids", 0);
        CHECK_EQ_OR_RETURN(table->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(ids->NumAxes(), 1);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({ids->At(0), table->At(1)});
        """, tricky=True),
    Op("class_loss", """
        z = x - x.max(axis=1, keepdims=True)
        logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return -logp[np.arange(x.shape[0]), label]
        """, """
        e = np.exp(x - x.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        p[np.arange(x.shape[0]), label] -= 1
        return p * dy[:, None]
        """, inputs=("x", "label"), saved=("x", "label", "dy"), grads=("x",), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* label = ctx->Shape4ArgNameAndIndex("label", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(label->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(x->At(0), label->At(0));
        CHECK_GT_OR_RETURN(x->At(1), 0);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x->At(0)});
        """, tricky=True),
    Op("group_sum", """
        out = np.zeros((attrs['groups'], x.shape[1]), x.dtype)
        np.add.at(out, ids, x)
        return out
        """, "return dy[ids]", inputs=("x", "ids"), saved=("x", "ids", "dy"), grads=("x",),
       attrs=(("groups", "int32", "4"),), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const Shape* ids = ctx->Shape4ArgNameAndIndex("ids", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(ids->NumAxes(), 1);
        CHECK_EQ_OR_RETURN(x->At(0), ids->At(0));
        CHECK_GT_OR_RETURN(ctx->Attr<int32_t>("groups"), 0);
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({ctx->Attr<int32_t>("groups"), x->At(1)});
        """, tricky=True),
    Op("choose", "return np.where(c != 0, a, b)", """
        pick = c != 0
        return np.where(pick, dy, 0), np.where(pick, 0, dy)
        """, inputs=("a", "b", "c"), saved=("a", "b", "c", "dy"), grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        CHECK_OR_RETURN(*a == *ctx->Shape4ArgNameAndIndex("b", 0));
        CHECK_OR_RETURN(*a == *ctx->Shape4ArgNameAndIndex("c", 0));
        CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex("c", 0), DataType::kInt32);
        *ctx->Shape4ArgNameAndIndex("y", 0) = *a;
        """, tricky=True),
)

MANY = (
    Op("sine_cosine", "return np.sin(x), np.cos(x)", "return ds * np.cos(x) - dc * np.sin(x)", outputs=("s", "c"),
       saved=("x", "ds", "dc"), infer=same_as("x", ("s", "c"))),
    Op("mean_and_spread", "return x.mean(axis=1), x.var(axis=1)", """
        n = x.shape[1]
        return dm[:, None] / n + 2 * (x - x.mean(axis=1, keepdims=True)) / n * dv[:, None] + 0 * x
        """, outputs=("m", "v"), saved=("x", "dm", "dv"), infer=_ROWS + """
        *ctx->Shape4ArgNameAndIndex("m", 0) = Shape({x->At(0)});
        *ctx->Shape4ArgNameAndIndex("v", 0) = Shape({x->At(0)});
        """),
    Op("halves", "n = x.shape[-1] // 2\nreturn x[..., :n].copy(), x[..., n:].copy()",
       "return np.concatenate([dl, dr], axis=-1)", outputs=("l", "r"), saved=("x", "dl", "dr"), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 2);
        *ctx->Shape4ArgNameAndIndex("l", 0) = Shape({x->At(0), x->At(1) / 2});
        *ctx->Shape4ArgNameAndIndex("r", 0) = Shape({x->At(0), x->At(1) - x->At(1) / 2});
        """),
    Op("best_of_row", "return x.max(axis=1), np.argmax(x, axis=1)", """
        dx = np.zeros_like(x)
        dx[np.arange(x.shape[0]), place] = dbest
        return dx
        """, outputs=("best", "place"), saved=("x", "place", "dbest"), dtypes={"place": "DataType::kInt64"},
       infer=_ROWS + """
        *ctx->Shape4ArgNameAndIndex("best", 0) = Shape({x->At(0)});
        *ctx->Shape4ArgNameAndIndex("place", 0) = Shape({x->At(0)});
        """, tricky=True),
    Op("polar", "return np.hypot(a, b), np.arctan2(b, a)", """
        r2 = a * a + b * b
        r = np.sqrt(r2)
        return dr * a / r - dt * b / r2, dr * b / r + dt * a / r2
        """, inputs=("a", "b"), outputs=("r", "t"), saved=("a", "b", "dr", "dt"), grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        CHECK_OR_RETURN(*a == *ctx->Shape4ArgNameAndIndex("b", 0));
        *ctx->Shape4ArgNameAndIndex("r", 0) = *a;
        *ctx->Shape4ArgNameAndIndex("t", 0) = *a;
        """, cases="""
        def cases(rng):
            for shape in ((4,), (2, 3)):
                angle, radius = rng.uniform(-3, 3, shape), rng.uniform(0.5, 2, shape)
                yield {"a": radius * np.cos(angle), "b": radius * np.sin(angle)}
        """),
)

#: Shapes that few tools think of, functions that no step resolves, ties of several inputs.
SHAPED = (
    Op("sweep_tone", "return np.cos(2 * x * x)", "return -4 * x * np.sin(2 * x * x) * dy", tricky=True),
    Op("colour_mix", "return np.einsum('ij,jhw->ihw', MIX.astype(x.dtype), x)",
       "return np.einsum('ij,ihw->jhw', MIX.astype(dy.dtype), dy)", saved=("dy",), like={"x": "dy"}, infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        CHECK_EQ_OR_RETURN(x->NumAxes(), 3);
        CHECK_EQ_OR_RETURN(x->At(0), 3);
        *ctx->Shape4ArgNameAndIndex("y", 0) = *x;
        """, prelude="MIX = np.array([[0.5, 0.25, 0.25], [-0.125, 1.0, 0.5], [0.75, -0.5, 0.0625]])"),
    Op("turn_points", """
        c, s = q[:, :1], q[:, 1:2]
        return np.concatenate([c * v[:, :1] - s * v[:, 1:], s * v[:, :1] + c * v[:, 1:]], axis=1)
        """, """
        c, s = q[:, :1], q[:, 1:2]
        a, b = dy[:, :1], dy[:, 1:]
        dc = (a * v[:, :1] + b * v[:, 1:])
        ds = (b * v[:, :1] - a * v[:, 1:])
        zero = np.zeros_like(dc)
        dv = np.concatenate([c * a + s * b, c * b - s * a], axis=1)
        return np.concatenate([dc, ds, zero], axis=1), dv
        """, inputs=("q", "v"), saved=("q", "v", "dy"), grads=("q", "v"), infer="""
        const Shape* q = ctx->Shape4ArgNameAndIndex("q", 0);
        CHECK_EQ_OR_RETURN(q->NumAxes(), 2);
        CHECK_EQ_OR_RETURN(q->At(1), 3);
        CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("v", 0), Shape({q->At(0), 2}));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({q->At(0), 2});
        """),
    Op("horner", """
        y = np.zeros_like(x)
        for c in reversed(attrs['coefs']):
            y = y * x + c
        return y
        """, """
        c, d = attrs['coefs'], np.zeros_like(x)
        for k in range(len(c) - 1, 0, -1):
            d = d * x + k * c[k]
        return d * dy
        """, attrs=(("coefs", "list_float", "std::vector<float>({0.5, -1.0, 0.25})"),),
       infer='CHECK_GE_OR_RETURN(ctx->Attr<std::vector<float>>("coefs").size(), 1);\n' + same_as("x")),
    Op("axes_moved", "return np.transpose(x, attrs['order'])", "return np.transpose(dy, np.argsort(attrs['order']))",
       attrs=(("order", "list_int32", "std::vector<int32_t>({1, 0})"),), infer="""
        const Shape* x = ctx->Shape4ArgNameAndIndex("x", 0);
        const auto& order = ctx->Attr<std::vector<int32_t>>("order");
        CHECK_EQ_OR_RETURN(static_cast<int64_t>(order.size()), x->NumAxes());
        std::vector<bool> seen(order.size(), false);
        DimVector dims;
        for (int32_t axis : order) {
          CHECK_OR_RETURN(axis >= 0 && axis < x->NumAxes() && !seen[axis]);
          seen[axis] = true;
          dims.push_back(x->At(axis));
        }
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(dims);
        """),
    Op("middle", "return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))", """
        which = np.argsort(np.stack([a, b, c]), axis=0, kind='stable')[1]
        return tuple(np.where(which == k, dy, 0) for k in range(3))
        """, inputs=("a", "b", "c"), saved=("a", "b", "c", "dy"), grads=("a", "b", "c"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        CHECK_OR_RETURN(*a == *ctx->Shape4ArgNameAndIndex("b", 0) && *a == *ctx->Shape4ArgNameAndIndex("c", 0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = *a;
        """, tricky=True),
    Op("heat_ring", "return np.roll(x, 1, axis=-1) - 2 * x + np.roll(x, -1, axis=-1)",
       "return np.roll(dy, 1, axis=-1) - 2 * dy + np.roll(dy, -1, axis=-1)", saved=("dy",), like={"x": "dy"},
       infer='CHECK_GE_OR_RETURN(ctx->Shape4ArgNameAndIndex("x", 0)->NumAxes(), 1);\n' + same_as("x"), tricky=True),
    Op("phase_grid", "return np.cos(a @ b)", "s = -np.sin(a @ b) * dy\nreturn s @ b.T, a.T @ s",
       inputs=("a", "b"), saved=("a", "b", "dy"), grads=("a", "b"), infer="""
        const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
        const Shape* b = ctx->Shape4ArgNameAndIndex("b", 0);
        CHECK_OR_RETURN(a->NumAxes() == 2 && b->NumAxes() == 2 && a->At(1) == b->At(0));
        *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({a->At(0), b->At(1)});
        """, tricky=True),
    Op("window_row", "return x * window(x.shape[-1], attrs['width']).astype(x.dtype)",
       "return dy * window(dy.shape[-1], attrs['width']).astype(dy.dtype)", saved=("dy",), like={"x": "dy"},
       attrs=(("width", "float", "0.5"),),
       infer='CHECK_GE_OR_RETURN(ctx->Shape4ArgNameAndIndex("x", 0)->NumAxes(), 1);\n' + same_as("x"), prelude="""
        def window(n, width):
            t = np.arange(n) - (n - 1) / 2
            return np.exp(-((t / (n * width + 1)) ** 2))
        """),
)

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        *ELEMENTWISE,
        *KINKED,
        *DECLARED,
        *BINARY,
        *REDUCTIONS,
        *NORMALISING,
        *LINEAR,
        *WINDOWS,
        *INDEXED,
        *MANY,
        *SHAPED,
    )
}
