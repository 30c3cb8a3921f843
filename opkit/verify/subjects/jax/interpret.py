"""A traced function evaluated primitive by primitive in numpy, without compiling anything.

JAX compiles every operation anew for every shape, which takes longer than a whole check; a check asks for dozens of
shapes. What numpy has no counterpart for is left to JAX.

The module is long because it is one table: a rule for each primitive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax.extend import core

from opkit.ops.core.types import Function
from opkit.ops.kernels.special import digamma_of, lgamma_of
from opkit.verify.subjects.jax.primitives import INDEXING, LINALG, line

Rule = Function


def evaluate(closed: Any, args: Sequence[Any]) -> list[np.ndarray]:
    """Evaluate a closed jaxpr.

    Args:
        closed: as ``jax.make_jaxpr`` gives it.
        args: one array for each input, of its shape and dtype.

    Returns:
        one array for each output.
    """
    with np.errstate(all="ignore"):
        return _run(closed, [_as(np.asarray(item), _dtype(to)) for item, to in zip(args, closed.jaxpr.invars)])


def computed_in(program: Any, given: Sequence[bool]) -> list[bool]:
    """Return of each output of a jaxpr whether it is computed of inputs: other outputs are constants.

    Args:
        program: the jaxpr, closed or not.
        given: of each input, whether it counts.
    """
    jaxpr = getattr(program, "jaxpr", program)
    counts = {variable for variable, is_given in zip(jaxpr.invars, given) if is_given}
    for item in jaxpr.eqns:
        among = [not isinstance(atom, core.Literal) and atom in counts for atom in item.invars]
        inner = item.params.get("jaxpr") if item.primitive.name in ("jit", "pjit") else None
        every = [any(among)] * len(item.outvars) if inner is None else computed_in(inner, among)
        counts.update(variable for variable, is_computed in zip(item.outvars, every) if is_computed)
    return [not isinstance(atom, core.Literal) and atom in counts for atom in jaxpr.outvars]


def _run(program: Any, args: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr, closed or not."""
    jaxpr = getattr(program, "jaxpr", program)
    literals, steps, results = _planned(jaxpr)
    known = literals | dict(zip(jaxpr.constvars, map(np.asarray, getattr(program, "consts", ()))))
    known.update(zip(jaxpr.invars, args))
    for run, operands, targets in steps:
        for (variable, dtype), result in zip(targets, run([known[item] for item in operands])):
            known[variable] = _as(result, dtype)
    return [known[item] for item in results]


@lru_cache(maxsize=4096)
def _planned(jaxpr: Any) -> tuple[dict[Any, Any], list[tuple[Any, ...]], list[Any]]:
    """Return the literals of a jaxpr by their places; what runs each equation, on what, and what results; the outputs.

    What a place is is looked up once: a check runs a program some hundred times.
    """
    literals: dict[Any, Any] = {}

    def place(atom: Any) -> Any:
        if not isinstance(atom, core.Literal):
            return atom
        literals[id(atom)] = value = np.array(atom.val, atom.aval.dtype)
        value.setflags(write=False)
        return id(atom)

    steps = [
        (_prepared(item), [place(atom) for atom in item.invars], [(to, _dtype(to)) for to in item.outvars])
        for item in jaxpr.eqns
    ]
    return literals, steps, [place(atom) for atom in jaxpr.outvars]


def _dtype(variable: Any) -> Any:
    dtype = getattr(variable.aval, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else None


def _as(result: Any, dtype: Any) -> Any:
    if dtype is not None and isinstance(result, (np.ndarray, np.generic)) and result.dtype != dtype:
        return np.asarray(result).astype(dtype)
    return result


def _prepared(equation: Any) -> Callable[[list[Any]], Sequence[Any]]:
    """Return what runs an equation; a primitive that has the name of a ufunc of numpy is that."""
    name, params, has_several = equation.primitive.name, equation.params, equation.primitive.multiple_results
    ufunc = getattr(np, name, None)
    rule = _RULES.get(name) or (_plain(ufunc) if isinstance(ufunc, np.ufunc) else None)

    def run(operands: list[Any]) -> Sequence[Any]:
        result = NotImplemented if rule is None else rule(params, *operands)
        if result is NotImplemented:
            found = _left_to_jax(equation)(*operands)
            return [_array(item) for item in (found if has_several else [found])]
        return result if has_several else [result]

    return run


#: Equations with programs of their own that numpy does not run (Pallas' kernels), compiled, as JAX would at each call.
_compiled: dict[int, tuple[Any, Function]] = {}


def _left_to_jax(equation: Any) -> Function:
    bind = partial(equation.primitive.bind, **equation.params)
    if "jaxpr" not in equation.params:
        return bind
    return _compiled.setdefault(id(equation), (equation, jax.jit(bind)))[1]


def _array(item: Any) -> Any:
    return np.asarray(item) if isinstance(item, jax.Array) and not jax.dtypes.issubdtype(
        item.dtype, jax.dtypes.extended
    ) else item  # fmt: skip


# --- primitives that hold programs of their own
def _call(key: str) -> Rule:
    return lambda params, *operands: _run(params[key], operands)


def _while(params: Any, *operands: Any) -> Sequence[Any]:
    first, second = params["cond_nconsts"], params["body_nconsts"]
    asked, used, carry = operands[:first], operands[first : first + second], [*operands[first + second :]]
    while bool(_run(params["cond_jaxpr"], [*asked, *carry])[0]):
        carry = _run(params["body_jaxpr"], [*used, *carry])
    return carry


def _scan(params: Any, *operands: Any) -> Sequence[Any]:
    consts, carries, step = params["num_consts"], params["num_carry"], -1 if params["reverse"] else 1
    fixed, carry, streams = operands[:consts], [*operands[consts : consts + carries]], operands[consts + carries :]
    rows: list[list[Any]] = []
    for place in range(params["length"])[::step]:
        found = _run(params["jaxpr"], [*fixed, *carry, *(stream[place] for stream in streams)])
        carry, row = found[:carries], found[carries:]
        rows.append(row)
    if not rows:
        shapes = [variable.aval for variable in params["jaxpr"].jaxpr.outvars[carries:]]
        return [*carry, *(np.zeros((0, *aval.shape), aval.dtype) for aval in shapes)]
    return [*carry, *map(np.stack, zip(*rows[::step]))]


def _linear_solve(params: Any, *operands: Any) -> Sequence[Any]:
    lengths = params["const_lengths"]
    before, whole = lengths.matvec + lengths.vecmat, sum(lengths)
    return _run(params["jaxprs"].solve, [*operands[before : before + lengths.solve], *operands[whole:]])


# --- elements


def _plain(function: Function) -> Rule:
    return lambda params, *operands: function(*operands)


def _special(function: Function) -> Rule:
    """Return the rule of a function of float64 numbers of opkit's own."""
    return lambda params, x: function(x.astype(np.float64)) if _is_float(x) else NotImplemented


def _is_float(x: Any) -> bool:
    return bool(x.dtype.kind == "f")


def _logistic(params: Any, x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _div(params: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    return (x - np.fmod(x, y)) // y if np.all(y) else NotImplemented  # towards 0


def _convert(params: Any, x: Any) -> Any:
    new = params["new_dtype"]
    if x.dtype.kind == "f" and new.kind in "iu":
        limits = np.iinfo(new)
        if not ((x > limits.min) & (x < limits.max)).all():
            return NotImplemented  # what is beyond the range is clamped
    return x


# --- shapes


def _broadcast(params: Any, x: Any) -> Any:
    shape, places = params["shape"], params["broadcast_dimensions"]
    return np.broadcast_to(np.expand_dims(x, [axis for axis in range(len(shape)) if axis not in places]), shape)


def _reshape(params: Any, x: Any) -> Any:
    order = params["dimensions"]
    return (x if order is None else x.transpose(order)).reshape(params["new_sizes"])


def _slice(params: Any, x: Any) -> Any:
    strides = params["strides"] or (1,) * x.ndim
    return x[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


# --- over axes
def _reduce(function: Function) -> Rule:
    return lambda params, x: function(x, axis=tuple(params["axes"]))


def _extreme(function: Function, limit: float) -> Rule:
    def run(params: Any, x: Any) -> Any:
        if x.dtype.kind == "f":
            return function(x, axis=tuple(params["axes"]), initial=limit)
        return function(x, axis=tuple(params["axes"])) if x.size else NotImplemented

    return run


def _arg(function: Function) -> Rule:
    return lambda params, x: function(x, axis=params["axes"][0])


def _along(function: Function) -> Rule:
    def run(params: Any, x: Any) -> Any:
        turned = partial(np.flip, axis=params["axis"]) if params["reverse"] else np.asarray
        return turned(function(turned(x), axis=params["axis"]))

    return run


def _dot(params: Any, a: Any, b: Any) -> Any:
    (left, right), (left_batch, right_batch) = params["dimension_numbers"]
    wide = params.get("preferred_element_type")
    first, second = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for one, other in (*zip(left, right), *zip(left_batch, right_batch)):
        second[other] = one
    rest = [axis for axis in first if axis not in (*left, *left_batch)]
    other_rest = [second[axis] for axis in range(b.ndim) if axis not in (*right, *right_batch)]
    if a.dtype.kind == "V":  # bfloat16, whose products are summed in float32
        wide = np.float32
    if wide is not None and a.dtype.kind in "fV":
        a, b = a.astype(wide), b.astype(wide)
    return np.einsum(a, first, b, second, [*left_batch, *rest, *other_rest], optimize=a.size * b.size > 4096)


def _sort(params: Any, *operands: Any) -> Any:
    is_plain = len(operands) == 1 or (params["num_keys"] == 1 and params["is_stable"])
    if not is_plain or operands[0].dtype.kind not in "fiu":
        return NotImplemented
    order = np.argsort(operands[0], axis=params["dimension"], kind="stable")
    return [np.take_along_axis(item, order, axis=params["dimension"]) for item in operands]


def _top_k(params: Any, x: Any) -> Any:
    if x.dtype.kind not in "fi" or np.isnan(x).any() or params.get("axis", -1) not in (-1, x.ndim - 1):
        return NotImplemented
    places = np.argsort(-x, axis=-1, kind="stable")[..., : params["k"]]
    return [np.take_along_axis(x, places, -1), places]


_ELEMENTS: dict[str, Function] = {
    "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "max": np.maximum, "min": np.minimum,
    "is_finite": np.isfinite, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "not": np.invert, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "stop_gradient": np.asarray, "copy": np.array, "copy_p": np.array, "real": np.real, "imag": np.imag,
    "rsqrt": lambda x: 1 / np.sqrt(x), "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "erf": np.vectorize(math.erf, otypes=[np.float64]), "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
}  # fmt: skip
_RULES: dict[str, Rule] = {
    **dict.fromkeys(("jit", "pjit", "remat", "checkpoint"), _call("jaxpr")),
    **dict.fromkeys(("closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"), _call("call_jaxpr")),
    "cond": lambda params, place, *xs: _run(params["branches"][np.clip(place, 0, len(params["branches"]) - 1)], xs),
    "while": _while,
    "scan": _scan,
    "custom_linear_solve": _linear_solve,
    **{name: _plain(function) for name, function in _ELEMENTS.items()},
    "div": _div,
    "logistic": _logistic,
    "integer_pow": lambda params, x: np.power(x, params["y"]) if params["y"] >= 0 or _is_float(x) else NotImplemented,
    "select_n": lambda _, at, *xs: np.where(at, xs[1], xs[0]) if len(xs) == 2 else np.choose(at, xs),
    "convert_element_type": _convert,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "transpose": lambda params, x: np.transpose(x, params["permutation"]),
    "squeeze": lambda params, x: np.squeeze(x, tuple(params["dimensions"])),
    "expand_dims": lambda params, x: np.expand_dims(x, tuple(params["dimensions"])),
    "concatenate": lambda params, *xs: np.concatenate(xs, axis=params["dimension"]),
    "slice": _slice,
    "rev": lambda params, x: np.flip(x, params["dimensions"]),
    "iota": lambda params: np.broadcast_to(line(params["shape"], params["dimension"]), params["shape"]),
    "split": lambda params, x: np.split(x, np.cumsum(params["sizes"])[:-1], axis=params["axis"]),
    "reduce_sum": _reduce(np.sum),
    "reduce_prod": _reduce(np.prod),
    "reduce_max": _extreme(np.max, -np.inf),
    "reduce_min": _extreme(np.min, np.inf),
    "reduce_and": _reduce(np.all),
    "reduce_or": _reduce(np.any),
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
    "cumsum": _along(np.cumsum),
    "cumprod": _along(np.cumprod),
    "cummax": _along(np.maximum.accumulate),
    "cummin": _along(np.minimum.accumulate),
    "dot_general": _dot,
    "sort": _sort,
    "top_k": _top_k,
    "stack": lambda params, *xs: np.stack(xs, axis=params["axis"]),
    "unstack": lambda params, x: list(np.moveaxis(x, params["axis"], 0)),
    "tile": lambda params, x: np.tile(x, params["reps"]),
    "rem": lambda params, x, y: np.fmod(x, y) if _is_float(x) or np.all(y) else NotImplemented,
    "round": lambda params, x: np.rint(x) if params["rounding_method"].name == "TO_NEAREST_EVEN" else NotImplemented,
    "cumlogsumexp": _along(np.logaddexp.accumulate),
    "lgamma": _special(lgamma_of),
    "digamma": _special(digamma_of),
    **INDEXING,
    **LINALG,
}
