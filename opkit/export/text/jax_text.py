"""numpy's operations in jax.numpy's words: mostly the same ones, with dtypes said and writes made functional.

Only expressions stand here; the file around them is ``jax_file``'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.dialect import Call, CommonDialect, is_array
from opkit.export.text.writer import ATOM, Cast, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

_UFUNCS = {
    "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "fabs", "floor", "ceil", "rint",
    "trunc", "sign", "isnan", "isinf", "isfinite", "logical_not", "reciprocal", "deg2rad", "rad2deg", "radians",
    "degrees", "signbit", "cbrt", "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp",
    "logaddexp2", "copysign", "fmod", "logical_and", "logical_or", "logical_xor", "heaviside", "float_power",
    "sinc", "positive", "conjugate", "absolute",
}  # fmt: skip
_SAME_NAMES = {"absolute": "abs", "amax": "max", "amin": "min"}
_REDUCED = {"add.reduce": "sum", "multiply.reduce": "prod", "maximum.reduce": "max", "minimum.reduce": "min"}
_ACCUMULATED = {"add.accumulate": "cumsum", "multiply.accumulate": "cumprod"}
_OVER = "[[, axis={axis}]][[, keepdims={keepdims}]]"
_ROWS = {
    "any": f"jnp.any({{a}}{_OVER})",
    "all": f"jnp.all({{a}}{_OVER})",
    "argmax": f"jnp.argmax({{a}}{_OVER}).astype(jnp.int64)",
    "argmin": f"jnp.argmin({{a}}{_OVER}).astype(jnp.int64)",
    "count_nonzero": f"jnp.count_nonzero({{a}}{_OVER}).astype(jnp.int64)",
    "sort": "jnp.sort({a}, axis={axis=-1})",
    "clip": "jnp.clip({a!}, {min=None}, {max=None})",
    "reshape": "jnp.reshape({a}, {shape})",
    "transpose": "jnp.transpose({a}[[, {axes}]])",
    "swapaxes": "jnp.swapaxes({a}, {axis1}, {axis2})",
    "moveaxis": "jnp.moveaxis({a}, {source}, {destination})",
    "expand_dims": "jnp.expand_dims({a}, axis={axis})",
    "squeeze": "jnp.squeeze({a}[[, axis={axis}]])",
    "broadcast_to": "jnp.broadcast_to({a}, {shape})",
    "flip": "jnp.flip({a}[[, axis={axis}]])",
    "flipud": "jnp.flipud({a})",
    "fliplr": "jnp.fliplr({a})",
    "roll": "jnp.roll({a}, {shift}[[, axis={axis}]])",
    "repeat": "jnp.repeat({a}, {repeats}[[, axis={axis}]])",
    "tile": "jnp.tile({a}, {reps})",
    "diff": "jnp.diff({a}[[, n={n}]][[, axis={axis}]][[, prepend={prepend}]][[, append={append}]])",
    "take": "jnp.take({a}, {indices}[[, axis={axis}]])",
    "take_along_axis": "jnp.take_along_axis({a}, {indices}, axis={axis=-1})",
    "diagonal": "jnp.diagonal({a}[[, offset={offset}]][[, axis1={axis1}]][[, axis2={axis2}]])",
    "diag": "jnp.diag({a}[[, k={k}]])",
    "tril": "jnp.tril({a}[[, k={k}]])",
    "triu": "jnp.triu({a}[[, k={k}]])",
    "ravel": "jnp.ravel({a})",
    "split": "jnp.split({a}, {indices}[[, axis={axis}]])",
    "array_split": "jnp.array_split({a}, {indices}[[, axis={axis}]])",
    "matrix_transpose": "jnp.matrix_transpose({a})",
    "round": "jnp.round({a}[[, decimals={decimals}]])",
    "nan_to_num": "jnp.nan_to_num({a}[[, nan={nan}]][[, posinf={posinf}]][[, neginf={neginf}]])",
    "inner": "jnp.inner({a!}, {b!})",
    "outer": "jnp.outer({a!}, {b!})",
    "vdot": "jnp.vdot({a!}, {b!})",
    "dot": "jnp.dot({a!}, {b!})",
    "tensordot": "jnp.tensordot({a!}, {b!}[[, {axes}]])",
    "linalg.inv": "jnp.linalg.inv({a!})",
    "linalg.det": "jnp.linalg.det({a!})",
    "linalg.cholesky": "jnp.linalg.cholesky({a!})",
    "linalg.solve": "jnp.linalg.solve({a!}, {b!})",
    "linalg.slogdet": "jnp.linalg.slogdet({a})",
}


class JaxDialect(CommonDialect):
    """jax.numpy's way."""

    module, title, rows = "jnp", "jax.numpy", _ROWS

    def called(self, c: Call) -> tuple[str, int]:
        """Return the expression of a call."""
        return (self._ufunc(c), ATOM) if c.name in _UFUNCS else super().called(c)

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """Return jax.numpy's name of a dtype."""
        if dtype.kind not in "fiub" or dtype.name == "longdouble":
            raise UntraceableError(f"uses the dtype {dtype.name}, which JAX lacks")
        return "jnp.bool_" if dtype.kind == "b" else f"jnp.{dtype.name}"

    def cast(self, text: str, dtype: str) -> str:
        """Return a cast array."""
        return f"{text}.astype({dtype})"

    def count(self, text: str) -> str:
        """Return the number of elements."""
        return f"{text}.size"

    def constant(self, writer: Writer, array: np.ndarray) -> str:
        """Return a constant array."""
        return f"jnp.array({writer.text(array.tolist())}, dtype={self.dtype(array.dtype)})"

    def single(self, writer: Writer, item: Any, dtype: str) -> str:
        """Return a number as an array."""
        return f"jnp.array({writer.text(item)}, dtype={dtype})"

    def sorted_places(self, text: str, axis: str) -> str:
        """Return the places of an array's elements in their order."""
        return f"jnp.argsort({text}, axis={axis}, stable=True).astype(jnp.int64)"

    # --- elementwise
    def _ufunc(self, c: Call) -> str:
        name = _SAME_NAMES.get(c.name, c.name)
        if name.startswith("logical") or name in ("isnan", "isinf", "isfinite", "signbit"):
            return f"jnp.{name}({', '.join(c.text(item) for item in c.args)})"
        if sum(map(is_array, c.args)) == 1:
            texts = [c.cast(item) if is_array(item) else c.text(item) for item in c.args]
        else:
            texts = [c.w.operand(item) for item in c.operands(c.dtype)]
        return f"jnp.{name}({', '.join(texts)})"

    # --- reductions
    def _axes(self, c: Call) -> str:
        if isinstance(c.get("keepdims"), Scalar):
            raise c.error("passes keepdims that is known only at the call")
        axis = f", axis={c.text(c['axis'])}" if "axis" in c else ""
        return axis + (", keepdims=True" if c.get("keepdims") else "")

    def _sum(self, c: Call) -> str:
        function = _REDUCED.get(c.name, _SAME_NAMES.get(c.name, c.name))
        c.reduced()
        more = self._axes(c)
        if "initial" in c:
            more += f", initial={c.text(c['initial'])}"
        if function in ("sum", "prod", "mean", "var", "std") and c["a"].dtype != c.dtype:
            more += f", dtype={self.dtype(c.dtype)}"
        if function in ("var", "std") and ("ddof" in c or "correction" in c):
            more += f", ddof={c.text(c.get('ddof', c.get('correction')))}"
        return f"jnp.{function}({c.text(c['a'])}{more})"

    _prod = _mean = _max = _min = _amax = _amin = _var = _std = _sum
    _add_reduce = _multiply_reduce = _maximum_reduce = _minimum_reduce = _sum

    def _cumsum(self, c: Call) -> str:
        more = f", axis={c.text(c['axis'])}" if "axis" in c else ""
        more += f", dtype={self.dtype(c.dtype)}" if c["a"].dtype != c.dtype else ""
        return f"jnp.{_ACCUMULATED.get(c.name, c.name)}({c.text(c['a'])}{more})"

    _cumprod = _add_accumulate = _multiply_accumulate = _cumsum

    def _maximum_accumulate(self, c: Call) -> str:
        axis = c.get("axis", 0)
        if isinstance(axis, int) and axis < 0:
            axis %= c["a"].ndim
        return f"jax.lax.cummax({c.text(c['a'])}, axis={c.text(axis)})"

    # --- joining
    def _joined(self, c: Call) -> str:
        items = c["arrays"]
        axis = f", axis={c.text(c['axis'])}" if "axis" in c else ""
        if isinstance(items, Node) and isinstance(items.value, list):
            cast = np.asarray(items.value[0]).dtype != c.dtype
            more = f".astype({self.dtype(c.dtype)})" if cast else ""
            return f"jnp.{c.name}({c.text(items)}{axis}){more}"
        if not isinstance(items, (list, tuple)) or not all(map(is_array, items)):
            raise c.error(f"calls np.{c.name} on what is not a list of arrays")
        return f"jnp.{c.name}([{', '.join(c.cast(item) for item in items)}]{axis})"

    _concatenate = _concat = _stack = _vstack = _hstack = _joined

    def _pad(self, c: Call) -> str:
        mode = c.get("mode", "constant")
        if mode not in ("constant", "reflect", "edge", "wrap", "symmetric"):
            raise c.error(f"pads in the mode {mode!r}")
        more = f', mode="{mode}"' if mode != "constant" else ""
        more += f", constant_values={c.text(c['constant_values'])}" if "constant_values" in c else ""
        return f"jnp.pad({c.text(c['a'])}, {c.text(c['width'])}{more})"

    def _array(self, c: Call) -> str:
        return f"jnp.array({c.text(c['a'])}, dtype={self._known(c.w, c.dtype)})"

    _asarray = _array

    # --- items

    def _getitem(self, c: Call) -> str:
        return f"{c.text(c.args[0], ATOM)}[{self._index(c, c.args[1])}]"

    def _setitem(self, c: Call) -> str:
        base, place, value = c.args
        return f"{c.text(base, ATOM)}.at[{self._index(c, place)}].set({self._written(c, value)})"

    def _written(self, c: Call, value: Any) -> str:
        if isinstance(value, Node) and value.dtype != c.dtype:
            return c.w.operand(Cast(value, c.dtype))
        return c.text(value)

    def _add_at(self, c: Call) -> str:
        base, place, value = c.args
        sign = "-" if c.name == "subtract.at" else ""
        given = self._written(c, value)
        return f"{c.text(base, ATOM)}.at[{self._index(c, place)}].add({sign}{f'({given})' if sign else given})"

    _subtract_at = _add_at

    def _maximum_at(self, c: Call) -> str:
        base, place, value = c.args
        how = {"maximum.at": "max", "minimum.at": "min", "multiply.at": "multiply"}[c.name]
        return f"{c.text(base, ATOM)}.at[{self._index(c, place)}].{how}({self._written(c, value)})"

    _minimum_at = _multiply_at = _maximum_at

    def _sliding_window_view(self, c: Call) -> str:
        """Write windows as indices, one axis after the other; the windows' own axes come last."""
        text = c.text(c["a"], ATOM)
        for place, item in self.windows(c):
            at = place % c["a"].ndim if isinstance(place, int) else None
            if at is None:
                raise c.error("makes windows along an axis that is known only at the call")
            width, places = c.text(item, 7), c.w.fresh("places")
            steps = f"jnp.arange({text}.shape[{at}] - {width} + 1)[:, None] + jnp.arange({width})"
            c.w.lines.append(f"{places} = {steps}")
            name = c.w.fresh("windows")
            c.w.lines.append(f"{name} = jnp.moveaxis(jnp.take({text}, {places}, axis={at}), {at + 1}, -1)")
            text = name
        return text

    def _logaddexp_accumulate(self, c: Call) -> str:
        axis = c.get("axis", 0)
        if not isinstance(axis, int):
            raise c.error("accumulates along an axis that is known only at the call")
        return f"jax.lax.cumlogsumexp({c.text(c['a'])}, axis={axis % c['a'].ndim})"

    def _logaddexp_reduce(self, c: Call) -> str:
        c.given.setdefault("axis", 0)
        return f"jax.nn.logsumexp({c.text(c['a'])}{self._axes(c)})"

    def _searchsorted(self, c: Call) -> str:
        if "sorter" in c:
            raise c.error("calls np.searchsorted with sorter=")
        places = f"{c.text(c['a'])}, {c.text(c['v'])}"
        return f'jnp.searchsorted({places}, side="{c.get("side", "left")}").astype({self.dtype(c.dtype)})'

    def _put_along_axis(self, c: Call) -> str:
        values = self._written(c, c["values"])
        head = f"{c.text(c['a'])}, {c.text(c['indices'])}, {values}"
        return f"jnp.put_along_axis({head}, axis={c.text(c['axis'])}, inplace=False)"
