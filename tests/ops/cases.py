"""The table of op cases: one row per use of a builder; every suite that runs over ops imports it.

A row names the builder's call, the domain of its inputs and what is known of it. Which dtypes, layouts and modes are
tried is the suites' choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opkit import ops

__all__ = ["CASES", "LAYOUTS", "OpCase", "arrays_of", "lay_out"]


@dataclass(frozen=True)
class OpCase:
    """One use of a builder.

    Args:
        name: unique; "op/variant".
        build: ``build(*values)`` -> one value or a tuple of values.
        domains: per input a function ``draw(rng)`` -> float64 or integer array.
        is_smooth: second derivatives exist and are right.
        has_gradient: false for comparisons, rounding to integers and the like.
        dtypes: float dtypes in which it is tried.
        unknown: the inputs whose sizes may be unknown when a program is built; None: all of them.
    """

    name: str
    build: Callable[..., Any]
    domains: tuple[Callable[[np.random.Generator], np.ndarray], ...]
    is_smooth: bool = True
    has_gradient: bool = True
    dtypes: tuple[str, ...] = ("float64", "float32", "float16")
    unknown: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return self.name


def named(name: str, inputs: dict[str, list[Any]], attrs: dict[str, Any] | None = None) -> Any:
    """Apply a built-in op by its name, as a user's gradient registration does."""
    bound = ops.BUILTIN.get(name).bind(inputs, attrs or {})
    return ops.apply(bound.opdef, bound.inputs, bound.attrs)


def resized(x: Any, sizes: Any, scales: Any = (), kind: str = "nearest", corners: bool = False, form: str = "channels_first") -> Any:
    """Apply the op that upsampling's gradients are made of."""
    attrs = {"sizes": sizes, "scales": scales, "align_corners": corners, "interpolation": kind, "data_format": form}
    return named("resize", {"x": [x]}, attrs)


# ---- domains ---------------------------------------------------------------------------------------------------------
def real(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Normal numbers, kept away from 0 and from each other's rounding: kinks at 0 are not met."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        x = rng.normal(size=shape)
        return x + np.copysign(0.1, x)

    return draw


def between(low: float, high: float, *shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.uniform(low, high, size=shape)


def positive(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return between(0.5, 2.0, *shape)


def integers(high: int, *shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.integers(0, high, size=shape)


def fixed(values: Any) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: np.array(values)


def simplex(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    def draw(rng: np.random.Generator) -> np.ndarray:
        x = rng.uniform(0.2, 1.0, size=shape)
        return x / x.sum(-1, keepdims=True)

    return draw


def distinct(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Numbers at least 0.25 apart, in random order: extremes and pools have no ties."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        count = int(np.prod(shape))
        return ((rng.permutation(count) - count / 2) * 0.25 + rng.uniform(0, 0.05, count)).reshape(shape)

    return draw


# ---- layouts ---------------------------------------------------------------------------------------------------------
LAYOUTS = ("c", "fortran", "strided", "reversed", "readonly")


def lay_out(array: np.ndarray, layout: str) -> np.ndarray:
    """Return the same elements in another memory layout."""
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "strided" and array.ndim:
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "reversed" and array.ndim:
        return array[::-1].copy()[::-1]
    held = array.copy()
    if layout == "readonly":
        held.flags.writeable = False
    return held


def arrays_of(case: OpCase, dtype: str = "float64", seed: int = 0) -> list[np.ndarray]:
    """Return the inputs of a case; float inputs in the dtype named, integer ones as they are."""
    rng = np.random.default_rng([seed, *case.name.encode()])
    drawn = [np.asarray(draw(rng)) for draw in case.domains]
    return [array.astype(dtype) if array.dtype.kind == "f" else array for array in drawn]


CASES: list[OpCase] = []


def row(name: str, build: Callable[..., Any], *domains: Any, **flags: Any) -> None:
    CASES.append(OpCase(name, build, domains, **flags))


# ---- arithmetic ------------------------------------------------------------------------------------------------------
for _name in ("add", "sub", "mul"):
    _build = getattr(ops, _name)
    row(f"{_name}/same", _build, real(2, 3), real(2, 3))
    row(f"{_name}/row", _build, real(2, 3), real(3))
    row(f"{_name}/outer", _build, real(2, 1, 3), real(4, 1))
    row(f"{_name}/scalar-tensor", _build, real(2, 3), real())
    row(f"{_name}/number", lambda x, f=_build: f(x, 1.5), real(2, 3))
    row(f"{_name}/number-first", lambda x, f=_build: f(1.5, x), real(2, 3))
    row(f"{_name}/empty", _build, real(0, 3), real(3))
row("div/same", ops.div, real(2, 3), real(2, 3))
row("div/column", ops.div, real(2, 3), real(2, 1))
row("div/number", lambda x: ops.div(x, 3.0), real(2, 3))
row("div/number-first", lambda x: ops.div(3.0, x), real(2, 3))
row("multiply", ops.multiply, real(2, 3), real(2, 3))
row("add_n", lambda *xs: ops.add_n(xs), real(2, 3), real(2, 3), real(2, 3))
row("neg", ops.neg, real(2, 3))
row("floor_mod", ops.floor_mod, real(2, 3), positive(3), is_smooth=False)
row("floor_div", ops.floor_div, real(2, 3), positive(3), has_gradient=False)
row("square_of_itself", lambda x: ops.mul(x, x), real(2, 3))
for _name in ("add", "sub", "mul", "div"):
    row(
        f"scalar_{_name}_by_tensor",
        lambda x, s, n=_name: named(f"scalar_{n}_by_tensor", {"x": [x], "scalar": [s]}),
        real(2, 3),
        positive(1),
    )

# ---- powers ----------------------------------------------------------------------------------------------------------
row("pow/tensor", ops.pow, positive(2, 3), real(3))
row("pow/square", lambda x: ops.pow(x, 2), real(2, 3))
row("pow/half", lambda x: ops.pow(x, 0.5), positive(2, 3))
row("pow/cube", lambda x: ops.pow(x, 3.0), real(2, 3))
row("pow/one", lambda x: ops.pow(x, 1), real(2, 3))
row("pow/number-first", lambda x: ops.pow(2.0, x), real(2, 3))
row("pow/same-shape", lambda x, y: named("pow", {"x": [x], "y": [y]}), positive(2, 3), real(2, 3))
row("atan2", ops.atan2, real(2, 3), real(2, 3))
row("xlogy", ops.xlogy, real(2, 3), positive(2, 3))

# ---- functions of one operand ----------------------------------------------------------------------------------------
_REAL = [
    "exp",
    "expm1",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "atan",
    "square",
    "sigmoid",
    "sigmoid_v2",
    "softplus",
    "log_sigmoid",
    "erf",
    "erfc",
    "reciprocal",
    "reciprocal_no_nan",
    "abs",
    "sign",
    "softsign",
    "mish",
    "silu",
    "gelu",
    "selu",
    "elu",
    "relu",
    "leaky_relu",
    "relu6",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "hardshrink",
    "softshrink",
    "tanhshrink",
    "thresholded_relu",
]
_POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma"]
_KINKED = set(
    [
        "abs",
        "sign",
        "relu",
        "leaky_relu",
        "hardtanh",
        "relu6",
        "hardsigmoid",
        "hardshrink",
        "softshrink",
        "thresholded_relu",
    ]
)
for _name in _REAL:
    row(_name, getattr(ops, _name), real(2, 3))
for _name in _POSITIVE:
    row(_name, getattr(ops, _name), positive(2, 3))
for _name in ("asin", "acos", "atanh"):
    row(_name, getattr(ops, _name), between(-0.8, 0.8, 2, 3))
row("acosh", ops.acosh, between(1.2, 3.0, 2, 3))
row("polygamma", lambda x: ops.polygamma(x, 1), positive(2, 3))
for _name in ("floor", "ceil", "trunc", "rint", "round", "round_half_even"):
    row(_name, getattr(ops, _name), between(-0.4, 0.4, 2, 3))
row("tanh/scalar", ops.tanh, real())
row("tanh/empty", ops.tanh, real(0, 2))
row("gelu/approximate", lambda x: ops.gelu(x, approximate=True), real(2, 3))
row("elu/alpha", lambda x: ops.elu(x, 0.3), real(2, 3))
row("ramp", lambda x: ops.ramp(x, 0.3, 0.2), real(2, 3))
row("leaky_relu/alpha", lambda x: ops.leaky_relu(x, 1.5), real(2, 3))
row("prelu/channel", ops.prelu, real(2, 3, 2), positive(3, 1))
row("prelu/one", ops.prelu, real(2, 3), positive(1))

# ---- choices ---------------------------------------------------------------------------------------------------------
row("maximum", ops.maximum, distinct(2, 3), fixed([0.1, -0.1, 0.05]))
row("minimum", ops.minimum, distinct(2, 3), fixed([0.1, -0.1, 0.05]))
row("where", ops.where, integers(2, 2, 3), real(2, 3), real(3))
row("where/number", lambda c, x: ops.where(c, x, 0.0), integers(2, 2, 3), real(2, 3))
row("clip", lambda x: ops.clip_inside(x, -0.5, 0.7), real(2, 3))
row("clip/low", lambda x: ops.clip_inside(x, min=-0.5), real(2, 3))
row("clip_by_scalar/builder", lambda x: ops.clip(x, -0.5, 0.7), real(2, 3))
row("clip_by_scalar/one-sided", lambda x: ops.clip(x, min=-0.5), real(2, 3))
for _suffix, _low, _high in (("", True, True), ("_min", True, False), ("_max", False, True)):
    _attrs = {**({"floating_min": -0.5} if _low else {}), **({"floating_max": 0.7} if _high else {})}
    row(
        f"clip_by_scalar{_suffix}",
        lambda x, s=_suffix, a=_attrs: named(f"clip_by_scalar{s}", {"x": [x]}, a),
        real(2, 3),
    )
for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_xor"):
    row(_name, getattr(ops, _name), real(2, 3), real(3), has_gradient=False)
row("logical_or", ops.logical_or, real(2, 3), real(3), has_gradient=False)
for _name in ("logical_not", "isnan", "isinf", "isfinite"):
    row(_name, getattr(ops, _name), real(2, 3), has_gradient=False)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
    row(_name, getattr(ops, _name), integers(8, 2, 3), integers(4, 3), has_gradient=False)
row("bitwise_not", ops.bitwise_not, integers(8, 2, 3), has_gradient=False)

# ---- reductions and broadcasting -------------------------------------------------------------------------------------
for _name in [
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "amax",
    "amin",
    "reduce_prod",
    "logsumexp",
    "var",
    "std",
    "norm",
]:
    _build, _draw = getattr(ops, _name), distinct if "m" in _name[-3:] and _name != "reduce_sum" else real
    row(f"{_name}/all", _build, _draw(2, 3))
    row(f"{_name}/axis", lambda x, f=_build: f(x, axis=-1), _draw(2, 3))
    row(f"{_name}/axes-kept", lambda x, f=_build: f(x, axis=(0, 2), keepdims=True), _draw(2, 3, 2))
row("norm/3", lambda x: ops.norm(x, 3.0, 1), real(2, 3))
row("norm/1", lambda x: ops.norm(x, 1), real(2, 3))
row("norm/inf", lambda x: ops.norm(x, float("inf")), distinct(2, 3))
row("var/biased", lambda x: ops.var(x, 0, unbiased=False), real(3, 2))
for _name in ("reduce_any", "reduce_all", "argmax", "argmin"):
    row(f"{_name}/axis", lambda x, n=_name: getattr(ops, n)(x, axis=1), distinct(2, 3), has_gradient=False)
    row(f"{_name}/all", getattr(ops, _name), distinct(2, 3), has_gradient=False)
row("broadcast_to", lambda x: ops.broadcast_to(x, (4, 2, 3)), real(2, 1))
row("broadcast_like", lambda x, y: ops.broadcast_like(x, y, (0, 2)), real(3), real(2, 3, 2))
row("reduce_sum_like", ops.reduce_sum_like, real(4, 2, 3), real(2, 1))
row("cumsum", lambda x: ops.cumsum(x, 1), real(2, 3))
row("cumsum/flat", ops.cumsum, real(2, 3))

# ---- matrices --------------------------------------------------------------------------------------------------------
for _ta in (False, True):
    for _tb in (False, True):
        _a, _b = ((4, 2) if _ta else (2, 4)), ((3, 4) if _tb else (4, 3))
        row(
            f"matmul/{'t' if _ta else 'n'}{'t' if _tb else 'n'}",
            lambda x, y, ta=_ta, tb=_tb: ops.matmul(x, y, ta, tb),
            real(*_a),
            real(*_b),
        )
        row(
            f"broadcast_matmul/{'t' if _ta else 'n'}{'t' if _tb else 'n'}",
            lambda x, y, ta=_ta, tb=_tb: ops.matmul(x, y, ta, tb),
            real(2, 1, *_a),
            real(3, *_b),
        )
        row(
            f"batch_matmul/{'t' if _ta else 'n'}{'t' if _tb else 'n'}",
            lambda x, y, ta=_ta, tb=_tb: named(
                "batch_matmul", {"a": [x], "b": [y]}, {"transpose_a": ta, "transpose_b": tb}
            ),
            real(2, *_a),
            real(2, *_b),
        )
row("matmul/vectors", ops.matmul, real(3), real(3))
row("matmul/vector-matrix", ops.matmul, real(3), real(3, 2))
row("matmul/stack-vector", ops.matmul, real(2, 2, 3), real(3))
row("matmul/stack-matrix", ops.matmul, real(2, 2, 3), real(3, 2))
row("dot", ops.dot, real(2, 3), real(2, 3))

# ---- shapes ----------------------------------------------------------------------------------------------------------
row("reshape", lambda x: ops.reshape(x, (3, -1)), real(2, 3, 2))
row("reshape/kept", lambda x: ops.reshape(x, (0, -1), kept=[0]), real(2, 3, 2))
row("reshape_kept", lambda x: named("reshape_kept", {"in": [x]}, {"shape": (-1, -1), "kept": (0,)}), real(2, 3, 2))
row("reshape_like", ops.reshape_like, real(2, 3), real(3, 2))
row("reshape_by", lambda x, sizes: ops.reshape_by(x, sizes, (3, 2)), real(2, 3), fixed([3, -1]), unknown=(0,))
row("fill_by", lambda sizes: ops.fill_by(sizes, 2.5, "float64", (3, 2)), fixed([3, 2]), has_gradient=False, unknown=())
row("range_by", lambda a, b, c: ops.range_by(a, b, c), fixed(1), fixed([8]), fixed(3), has_gradient=False, unknown=())
row("shape_of", ops.size_vector, real(2, 3), has_gradient=False)
row("flatten", lambda x: ops.flatten(x, 1, 2), real(2, 3, 2, 2))
row("transpose", lambda x: ops.transpose(x, (2, 0, 1)), real(2, 3, 4))
row("transpose/reversed", ops.transpose, real(2, 3, 4))
row("swapaxes", lambda x: ops.swapaxes(x, 0, -1), real(2, 3, 4))
row("squeeze", lambda x: ops.squeeze(x, 1), real(2, 1, 3))
row("squeeze/all", ops.squeeze, real(1, 2, 1, 3), unknown=())
row("expand_dims", lambda x: ops.expand_dims(x, (0, -1)), real(2, 3))
row("concat", lambda *xs: ops.concat(xs, 1), real(2, 3), real(2, 1), real(2, 2))
row("split/equal", lambda x: tuple(ops.split(x, 3, 1)), real(2, 6))
row("split/sizes", lambda x: tuple(ops.split(x, [1, -1], 0)), real(4, 3))
row("split/one-used", lambda x: ops.split(x, 3, 1)[1], real(2, 6))
row("stack", lambda *xs: ops.stack(xs, 1), real(2, 3), real(2, 3))
row("unstack", lambda x: tuple(ops.unstack(x, 1)), real(2, 3), unknown=())
row("identity", ops.identity, real(2, 3))
row("cast", lambda x: ops.cast(ops.mul(ops.cast(x, "float64"), 2.0), "float64"), real(2, 3), dtypes=("float64",))
row("cast_like", ops.cast_like, real(2, 3), real(1))

# ---- selection -------------------------------------------------------------------------------------------------------
row("gather", lambda x, i: ops.gather(x, i, 1), real(2, 4, 2), integers(4, 2, 3))
row("gather/rows", ops.gather, real(5, 3), integers(5, 7))
row("index_select", lambda x, i: ops.index_select(x, i, 1), real(2, 4), integers(4, 3))
row("batch_gather", lambda x, i: named("batch_gather", {"in": [x], "indices": [i]}), real(2, 4, 3), integers(4, 2, 3))
row("gather_nd", ops.gather_nd, real(3, 4, 2), fixed([[0, 1], [2, 3], [2, 3]]), unknown=(0,))
row("scatter_nd_add", ops.scatter_nd_add, real(3, 4), fixed([[0], [2], [2]]), real(3, 4), unknown=(0, 2))
row("scatter", ops.scatter, real(4, 3), fixed([2, 0]), real(2, 3))
row("take_along_axis", lambda x, i: ops.take_along_axis(x, i, 1), real(2, 4), integers(4, 2, 3))
row("put_along_axis", lambda x, i, v: ops.put_along_axis(x, i, v, 1), real(2, 4), fixed([[0, 2], [3, 1]]), real(2, 2))
row("unsorted_segment_sum", lambda x, i: ops.unsorted_segment_sum(x, i, 4), real(5, 2), integers(4, 5))
row("unsorted_segment_sum/axis", lambda x, i: ops.unsorted_segment_sum(x, i, 4, 1), real(2, 5, 2), integers(4, 5))
row("one_hot", lambda i: ops.one_hot(i, 5), integers(5, 2, 3), has_gradient=False)
row(
    "scatter_nd",
    lambda i, u: named("scatter_nd", {"indices": [i], "updates": [u]}, {"shape": (4, 3)}),
    fixed([[0], [2], [2]]),
    real(3, 3),
    unknown=(1,),
)
row("getitem/slices", lambda x: ops.getitem(x, (slice(None), slice(0, 3, 2))), real(2, 4))
row("getitem/index", lambda x: ops.getitem(x, (1, Ellipsis, None)), real(2, 4))

# ---- slices ----------------------------------------------------------------------------------------------------------
row("slice", lambda x: ops.slice(x, [0, 1], [1, -3], [3, 4], [1, 2]), real(3, 4))
row("slice/backwards", lambda x: ops.slice(x, [1], [-1], [-5], [-1]), real(3, 4))
row(
    "slice_update",
    lambda x, u: named("slice_update", {"x": [x], "update": [u]}, {"start": (1, 0), "stop": (3, 4), "step": (1, 2)}),
    real(3, 4),
    real(2, 2),
)
for _mode in ("constant", "reflect", "replicate", "circular"):
    row(f"pad/{_mode}", lambda x, m=_mode: ops.pad(x, (1, 0), (0, 2), 0.5, m), real(3, 4))
row("flip", lambda x: ops.flip(x, (0, 1)), real(2, 3))
row("roll", lambda x: ops.roll(x, (1, -1), (0, 1)), real(2, 3))
row("roll/flat", lambda x: ops.roll(x, 2), real(2, 3))
row("tile", lambda x: ops.tile(x, (2, 1, 3)), real(2, 3))
row("repeat_interleave", lambda x: ops.repeat_interleave(x, 2, 1), real(2, 3))
row("tril", lambda x: ops.tril(x, 1), real(2, 3, 3))
row("triu", lambda x: ops.triu(x, -1), real(2, 3, 3))

# ---- softmax and losses ----------------------------------------------------------------------------------------------
for _name in ("softmax", "log_softmax"):
    row(f"{_name}/last", getattr(ops, _name), real(2, 4))
    row(f"{_name}/first", lambda x, n=_name: getattr(ops, n)(x, 0), real(3, 2))
row("sparse_softmax_cross_entropy", ops.sparse_softmax_cross_entropy, real(3, 4), integers(4, 3))
row(
    "sparse_softmax_cross_entropy/ignore",
    lambda x, i: ops.sparse_softmax_cross_entropy(x, i, -100)[1],
    real(3, 4),
    fixed([0, -100, 3]),
)
row("sparse_cross_entropy", lambda x, i: named("sparse_cross_entropy", {"prediction": [x], "label": [i]}, {"depth": 4}), simplex(3, 4), integers(4, 3))
row("softmax_cross_entropy", lambda x, y: named("softmax_cross_entropy", {"prediction": [x], "label": [y]}), real(3, 4), simplex(3, 4))
row(
    "ctc_loss",
    ops.ctc_loss,
    between(-3, -0.5, 5, 2, 4),
    fixed([[1, 2, 2], [3, 1, 0]]),
    fixed([5, 4]),
    fixed([3, 2]),
    is_smooth=False,
    dtypes=("float64", "float32"),
    unknown=(),
)
row("binary_cross_entropy", ops.binary_cross_entropy, between(0.05, 0.95, 3, 4), between(0, 1, 3, 4))
row("sigmoid_cross_entropy", lambda x, y: named("sigmoid_cross_entropy", {"prediction": [x], "label": [y]}), real(3, 4), between(0, 1, 3, 4))
row(
    "smooth_l1_loss", lambda x, y: ops.smooth_l1_loss(x, y, 0.7), real(3, 4), fixed(np.linspace(2, 3, 12).reshape(3, 4))
)


def _dtype(x: Any) -> np.dtype:
    return ops.dtype_of(x)


# ---- layers ----------------------------------------------------------------------------------------------------------
row("bias_add", lambda x, b: ops.bias_add(x, b, 1), real(2, 3, 2), real(3))
row("bias_add/last", ops.bias_add, real(2, 3), real(3))
row("layer_norm", lambda x, g, b: ops.layer_norm(x, g, b, 1), real(2, 3, 2), real(3, 2), real(3, 2))
row("layer_norm/plain", lambda x: ops.layer_norm(x, axis=-1), real(2, 4))
row("instance_norm", ops.instance_norm, real(2, 3, 4), real(3), real(3))
row(
    "batch_norm/trained",
    lambda x, g, b: named("batch_norm_train", {"x": [x], "gamma": [g], "beta": [b]}, {"axis": 1, "epsilon": 1e-5}),
    real(4, 3, 2),
    real(3),
    real(3),
    dtypes=("float64", "float32"),
)
row(
    "batch_norm/fixed",
    lambda x, g, b: ops.batch_norm(
        x, ops.constant(0.3, 3, _dtype(x)), ops.constant(0.7, 3, _dtype(x)), g, b, training=False
    ),
    real(4, 3, 2),
    real(3),
    real(3),
    dtypes=("float64", "float32"),
)


# ---- convolutions and pools ------------------------------------------------------------------------------------------
row("conv2d", ops.conv, real(2, 3, 5, 4), real(4, 3, 3, 2), real(4), unknown=(0,))
row(
    "conv2d/strided",
    lambda x, w: ops.conv(x, w, None, (2, 1), (1, 2), (1, 2)),
    real(2, 2, 5, 6),
    real(3, 2, 3, 2),
    unknown=(0,),
)
row("conv2d/empty", ops.conv, real(0, 4, 3, 3), real(6, 4, 2, 2), unknown=(0,))
row("conv2d/groups-empty", lambda x, w: ops.conv(x, w, groups=2), real(0, 4, 3, 3), real(6, 2, 2, 2), unknown=(0,))
row("deconv2d/empty", ops.conv_transpose, real(0, 4, 3, 3), real(4, 3, 2, 2), unknown=(0,))
row("conv2d/groups", lambda x, w: ops.conv(x, w, groups=2), real(2, 4, 3, 3), real(6, 2, 2, 2), unknown=(0,))
row(
    "conv2d/last",
    lambda x, w, b: ops.conv(x, w, b, data_format="channels_last"),
    real(2, 4, 4, 3),
    real(2, 2, 2, 3),
    real(2),
    unknown=(0,),
)
row("conv2d/pointwise", ops.conv, real(2, 3, 2, 2), real(4, 3, 1, 1), unknown=(0,))
row("conv1d", ops.conv, real(2, 3, 5), real(2, 3, 2), unknown=(0,))
row("conv3d", ops.conv, real(1, 2, 3, 3, 2), real(2, 2, 2, 2, 1), unknown=(0,))
row(
    "deconv2d",
    lambda x, w, b: ops.conv_transpose(x, w, b, 2, 1, 1),
    real(2, 3, 3, 2),
    real(3, 2, 3, 3),
    real(2),
    unknown=(0,),
)
row("deconv1d/groups", lambda x, w: ops.conv_transpose(x, w, groups=2), real(2, 4, 3), real(4, 2, 2), unknown=(0,))
row("deconv3d", ops.conv_transpose, real(1, 2, 2, 2, 2), real(2, 1, 2, 1, 2), unknown=(0,))
for _name in ("max_pool", "avg_pool"):
    _build = getattr(ops, _name)
    row(f"{_name}_2d", lambda x, f=_build: f(x, 2), distinct(2, 2, 4, 4))
    row(f"{_name}_2d/padded", lambda x, f=_build: f(x, 3, 2, 1, True), distinct(1, 2, 6, 5))
    row(f"{_name}_2d/same", lambda x, f=_build: f(x, 3, 2, "same_upper"), distinct(1, 2, 6, 5))
    row(f"{_name}_2d/last", lambda x, f=_build: f(x, (2, 1), data_format="channels_last"), distinct(1, 4, 3, 2))
    row(f"{_name}_1d", lambda x, f=_build: f(x, 2, 1), distinct(1, 2, 5))
    row(f"{_name}_3d", lambda x, f=_build: f(x, 2), distinct(1, 1, 2, 4, 2))
row("avg_pool_2d/inclusive", lambda x: ops.avg_pool(x, 3, 2, 1, exclusive=False), real(1, 2, 6, 5))

# ---- the gradient ops that a user's spec may name --------------------------------------------------------------------
_UNARY_GRADS = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "reciprocal",
    "reciprocal_no_nan",
    "rint",
    "round",
    "rsqrt",
    "sigmoid_v2",
    "sign",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
]
_DOMAINS: dict[str, Any] = {
    "acos": between(-0.8, 0.8, 2, 3),
    "asin": between(-0.8, 0.8, 2, 3),
    "atanh": between(-0.8, 0.8, 2, 3),
    "acosh": between(1.2, 3.0, 2, 3),
    **{name: between(-0.4, 0.4, 2, 3) for name in ("ceil", "floor", "rint", "round")},
}
for _name in _UNARY_GRADS:
    row(
        f"{_name}_grad",
        lambda x, dy, n=_name: named(f"{n}_grad", {"x": [x], "dy": [dy]}),
        _DOMAINS.get(_name, positive(2, 3)),
        real(2, 3),
    )
for _name, _first in (("relu", "y"), ("sigmoid", "y"), ("softmax", "y"), ("gelu", "x"), ("hardswish", "x")):
    row(
        f"{_name}_grad",
        lambda v, dy, n=_name, a=_first: named(f"{n}_grad", {a: [v], "dy": [dy]}),
        between(0.1, 0.9, 2, 3),
        real(2, 3),
    )

# ---- order, diagonals, running products ------------------------------------------------------------------------------
row("sort", lambda x: ops.sort(x, 0), distinct(3, 4))
row("sort/descending", lambda x: ops.sort(x, descending=True), distinct(3, 4))
row("argsort", ops.argsort, distinct(3, 4), has_gradient=False)
row("topk", lambda x: ops.topk(x, 2), distinct(3, 4))
row("topk/smallest", lambda x: ops.topk(x, 2, 0, largest=False), distinct(3, 4))
row("selected", lambda x: ops.selected(x, 2, 0), distinct(3, 4))
row("selected/largest", lambda x: ops.selected(x, 2, largest=True), distinct(3, 4))
row("argwhere", ops.argwhere, integers(2, 3, 4), has_gradient=False)
row("masked_select", ops.masked_select, real(2, 3), fixed([[True, False, True], [True, True, False]]))
row("unique", ops.unique, integers(3, 2, 4), has_gradient=False)
row(
    "searchsorted",
    lambda x: ops.searchsorted(ops.literal([0.1, 0.5, 0.9]), ops.cast(x, "float64")),
    real(2, 3),
    has_gradient=False,
)
row("diag/vector", lambda x: ops.diag(x, 1), real(3))
row("diag/matrix", lambda x: ops.diag(x, -1), real(3, 4))
row("cumprod", lambda x: ops.cumprod(x, 1), real(2, 3))

# ---- OneFlow's forms by name -----------------------------------------------------------------------------------------
row("cast_like/op", lambda x, y: named("cast_like", {"in": [x], "dtype_like": [y]}), real(2, 3), real(1))
row(
    "dropout",
    lambda x, m: named("dropout", {"in": [x], "mask": [ops.cast(m, "int8")]}, {"scale": 2.0}),
    real(2, 3),
    fixed([[0, 1, 1], [1, 0, 1]]),
)
row(
    "dropout_grad",
    lambda dy, m: named("dropout_grad", {"dy": [dy], "mask": [ops.cast(m, "int8")]}, {"scale": 2.0}),
    real(2, 3),
    fixed([[0, 1, 1], [1, 0, 1]]),
)
row("getitem/list", lambda x: ops.getitem(x, ([0, 2, 2],)), real(3, 2))
row("setitem", lambda x, v: ops.setitem(x, (slice(0, 2), 1), v), real(3, 2), real(2))
row(
    "logical_slice",
    lambda x: named("logical_slice", {"x": [x]}, {"start": (0, 1), "stop": (2, 4), "step": (1, 2)}),
    real(3, 4),
)
row(
    "unsorted_batch_segment_sum",
    lambda x, i: named("unsorted_batch_segment_sum", {"data": [x], "segment_ids": [i]}, {"num_segments": 4}),
    real(2, 3, 2),
    integers(4, 2, 3),
)
for _spatial in (1, 2, 3):
    row(
        f"max_pool_{_spatial}d_grad",
        lambda x, dy, n=_spatial: named(
            f"max_pool_{n}d_grad",
            {"x": [x], "y": [ops.max_pool(x, 2)], "dy": [dy]},
            {"pool_size": (2,) * n, "strides": (2,) * n, "padding": "valid"},
        ),
        distinct(1, 2, *(4,) * _spatial),
        real(1, 2, *(2,) * _spatial),
    )
row(
    "sparse_softmax_cross_entropy_grad",
    lambda i, dy, p: named("sparse_softmax_cross_entropy_grad", {"label": [i], "dy": [dy], "prob": [p]}, {"depth": 4}),
    integers(4, 3),
    real(3),
    simplex(3, 4),
)

for _name, _in, _out in (
    ("amp_white_identity", "in", "out"),
    ("cast_to_static_shape", "input", "output"),
    ("copy", "in", "out"),
    ("parallel_cast", "in", "out"),
):
    row(_name, lambda x, n=_name, a=_in: named(n, {a: [x]}), real(2, 3))
row(
    "broadcast_div_grad",
    lambda y, z, dz: named("broadcast_div_grad", {"y": [y], "z": [z], "dz": [dz]}),
    positive(3),
    real(2, 3),
    real(2, 3),
)
row(
    "fused_bias_add_gelu",
    lambda a, b: named("fused_bias_add_gelu", {"a": [a], "b": [b]}, {"axis": 1}),
    real(2, 3),
    real(3),
)
row(
    "fused_bias_add_mask_scale",
    lambda a, b, m: named(
        "fused_bias_add_mask_scale", {"a": [a], "b": [b], "mask": [ops.cast(m, "int8")]}, {"axis": 1, "scale": 2.0}
    ),
    real(2, 3),
    real(3),
    fixed([[0, 1, 1], [1, 0, 1]]),
)
row(
    "fused_scale_tril",
    lambda x: named(
        "fused_scale_tril",
        {"in": [x]},
        {"diagonal": 0, "floating_fill_value": -3.0, "is_floating_fill_value": True, "integer_scale_value": 2},
    ),
    real(3, 4),
)
row("resize/nearest", lambda x: resized(x, (5, 3)), real(1, 2, 3, 4))
row("resize/bilinear", lambda x: resized(x, (), (2.0, 1.5), "linear"), real(1, 2, 3, 4))
row("resize/corners-last", lambda x: resized(x, (5,), (), "linear", True, "channels_last"), real(1, 3, 2))
for _kind in ("nearest", "bilinear"):
    _attrs = {"height_scale": 2.0, "width_scale": 2.0, "interpolation": _kind}
    row(f"upsample/{_kind}", lambda x, a=_attrs: named("upsample", {"x": [x]}, a), real(1, 2, 2, 3))
row("full_like", lambda x: ops.mul(x, ops.full_like(x, 2.5)), real(2, 3))
row("ones_like", lambda x: ops.mul(x, ops.ones_like(x)), real(2, 3))
row(
    "unique_with_counts",
    lambda x: named("unique_with_counts", {"x": [x]}),
    fixed([3, 1, 3, 2, 1]),
    has_gradient=False,
)

# ---- matrices: inverses, factors, systems ----------------------------------------------------------------------------
_NUMBERS = ("float64", "float32")


def square(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Square matrices far from singular ones, with distinct singular values."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        return 0.3 * rng.normal(size=shape) + np.diag(np.arange(2.0, 2.0 + shape[-1]))

    return draw


def _transposed(x: Any) -> Any:
    return ops.swapaxes(x, -1, -2)


def _symmetric(x: Any) -> Any:
    return ops.add(x, _transposed(x))


row("inverse", ops.inverse, square(3, 3), dtypes=_NUMBERS)
row("inverse/stack", ops.inverse, square(2, 3, 3), dtypes=_NUMBERS)
row("determinant", ops.determinant, square(2, 3, 3), dtypes=_NUMBERS)
row("log_determinant", ops.log_determinant, square(2, 3, 3), dtypes=_NUMBERS)
row("solve", ops.solve, square(3, 3), real(3, 2), dtypes=_NUMBERS)
row("solve/vector", ops.solve, square(3, 3), real(3), dtypes=_NUMBERS)
row("solve/spread", ops.solve, square(2, 1, 3, 3), real(2, 3, 1), dtypes=_NUMBERS)
row("pseudo_inverse/tall", ops.pseudo_inverse, square(3, 3), dtypes=_NUMBERS)
row("pseudo_inverse/wide", lambda x: ops.pseudo_inverse(ops.slice(x, [1], [0], [2])), square(2, 3, 3), dtypes=_NUMBERS)
row(
    "cholesky",
    lambda x: ops.cholesky(ops.add(ops.matmul(x, x, False, True), ops.eye(3, dtype=_dtype(x).name))),
    real(2, 3, 3),
    dtypes=_NUMBERS,
)
row("eigh", lambda x: ops.eigh(_symmetric(x)), square(2, 3, 3), dtypes=_NUMBERS)
row("eigh/values", lambda x: ops.eigh(_symmetric(x), lower=False)[0], square(3, 3), dtypes=_NUMBERS)
row("qr", ops.qr, square(2, 3, 3), dtypes=_NUMBERS)
row("qr/tall", lambda x: ops.qr(ops.slice(x, [1], [0], [2])), square(3, 3), dtypes=_NUMBERS)
row("qr/wide", lambda x: ops.qr(ops.slice(x, [0], [0], [2])), square(3, 3), dtypes=_NUMBERS, unknown=())
row("svd", ops.svd, square(2, 3, 3), dtypes=_NUMBERS)
row("svd/tall", lambda x: ops.svd(ops.slice(x, [1], [0], [2])), square(3, 3), dtypes=_NUMBERS)
row("svd/wide", lambda x: ops.svd(ops.slice(x, [0], [0], [2])), square(3, 3), dtypes=_NUMBERS)

# ---- contractions ----------------------------------------------------------------------------------------------------
for _equation, _shapes in {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "bij,bkj->bik": [(2, 3, 4), (2, 2, 4)],
    "ii->i": [(3, 3)],
    "ij,ij->j": [(2, 3), (2, 3)],
    "...i,i->...": [(2, 2, 3), (3,)],
    "i,j,k->kji": [(2,), (3,), (2,)],
}.items():
    row(
        f"einsum/{_equation}",
        lambda *xs, e=_equation: ops.einsum(e, xs),
        *[real(*shape) for shape in _shapes],
        unknown=(),
    )
row("tensordot", lambda x, y: ops.tensordot(x, y, [1, 2], [0, 1]), real(2, 3, 4), real(3, 4, 2), unknown=())

# ---- running extremes and sums, counts -------------------------------------------------------------------------------
row("logcumsumexp", lambda x: ops.logcumsumexp(x, 1), real(2, 4, 2))
row("erfinv", ops.erfinv, between(-0.8, 0.8, 2, 3))
row("add_along_axis", lambda x, i, v: ops.add_along_axis(x, i, v, 1), real(2, 3), integers(3, 2, 4), real(2, 4))
row("mode_places", ops.mode_places, integers(3, 2, 5), has_gradient=False)
row("histogram", lambda x: ops.histogram(x, 4, -1, 1), between(-0.9, 0.9, 5), has_gradient=False)
row("bincount", lambda i: ops.bincount(i, None, 6), integers(4, 7), has_gradient=False)
row("bincount/weights", ops.bincount, integers(4, 7), real(7), has_gradient=False)
