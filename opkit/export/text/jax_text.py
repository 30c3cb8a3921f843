"""numpy's operations in jax.numpy's words: mostly the same ones, with dtypes said and writes made functional.

Only expressions stand here; the file around them is ``jax_file``'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import arguments
from opkit.export.text.dialect import CommonDialect, in_dtype, is_array, reduced
from opkit.export.text.writer import ATOM, Cast, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

_UFUNCS = {
    "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "fabs", "floor", "ceil", "rint",
    "trunc", "sign", "isnan", "isinf", "isfinite", "logical_not", "reciprocal", "deg2rad", "rad2deg", "radians",
    "degrees", "signbit", "cbrt", "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp",
    "logaddexp2", "copysign", "fmod", "logical_and", "logical_or", "logical_xor", "heaviside", "float_power",
    "sinc", "positive", "conjugate",
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

    def operation(self, writer: Writer, node: Node) -> tuple[str, int]:
        """Return the expression of a node."""
        if node.function in _UFUNCS or node.function == "absolute":
            return self._ufunc(writer, node), ATOM
        return super().operation(writer, node)

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """Return jax.numpy's name of a dtype."""
        if dtype.kind not in "fiub" or dtype.name == "longdouble":
            raise UntraceableError(f"uses the dtype {dtype.name}, which JAX lacks", 0)
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
    def _ufunc(self, w: Writer, node: Node) -> str:
        name = _SAME_NAMES.get(node.function, node.function)
        if name.startswith("logical") or name in ("isnan", "isinf", "isfinite", "signbit"):
            return f"jnp.{name}({', '.join(w.text(item) for item in node.args)})"
        if sum(map(is_array, node.args)) == 1:
            texts = [in_dtype(w, item, node.dtype) if is_array(item) else w.text(item) for item in node.args]
        else:
            texts = [w.operand(item) for item in w.operands(node, node.dtype)]
        return f"jnp.{name}({', '.join(texts)})"

    # --- reductions
    def _axes(self, w: Writer, node: Node, found: dict[str, Any]) -> str:
        if isinstance(found.get("keepdims"), Scalar):
            raise UntraceableError("passes keepdims that is known only at the call", node.line)
        axis = f", axis={w.text(found['axis'])}" if "axis" in found else ""
        return axis + (", keepdims=True" if found.get("keepdims") else "")

    def _sum(self, w: Writer, node: Node) -> str:
        function = _REDUCED.get(node.function, _SAME_NAMES.get(node.function, node.function))
        found = reduced(node)
        more = self._axes(w, node, found)
        if "initial" in found:
            more += f", initial={w.text(found['initial'])}"
        if function in ("sum", "prod", "mean", "var", "std") and found["a"].dtype != node.dtype:
            more += f", dtype={self.dtype(node.dtype)}"
        if function in ("var", "std") and ("ddof" in found or "correction" in found):
            more += f", ddof={w.text(found.get('ddof', found.get('correction')))}"
        return f"jnp.{function}({w.text(found['a'])}{more})"

    _prod = _mean = _max = _min = _amax = _amin = _var = _std = _sum
    _add_reduce = _multiply_reduce = _maximum_reduce = _minimum_reduce = _sum

    def _cumsum(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        more = f", axis={w.text(found['axis'])}" if "axis" in found else ""
        more += f", dtype={self.dtype(node.dtype)}" if found["a"].dtype != node.dtype else ""
        return f"jnp.{_ACCUMULATED.get(node.function, node.function)}({w.text(found['a'])}{more})"

    _cumprod = _add_accumulate = _multiply_accumulate = _cumsum

    def _maximum_accumulate(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = found.get("axis", 0)
        if isinstance(axis, int) and axis < 0:
            axis %= found["a"].ndim
        return f"jax.lax.cummax({w.text(found['a'])}, axis={w.text(axis)})"

    # --- joining
    def _joined(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        items = found["arrays"]
        axis = f", axis={w.text(found['axis'])}" if "axis" in found else ""
        if isinstance(items, Node) and isinstance(items.value, list):
            cast = np.asarray(items.value[0]).dtype != node.dtype
            more = f".astype({self.dtype(node.dtype)})" if cast else ""
            return f"jnp.{node.function}({w.text(items)}{axis}){more}"
        if not isinstance(items, (list, tuple)) or not all(map(is_array, items)):
            raise UntraceableError(f"calls np.{node.function} on what is not a list of arrays", node.line)
        return f"jnp.{node.function}([{', '.join(in_dtype(w, item, node.dtype) for item in items)}]{axis})"

    _concatenate = _concat = _stack = _vstack = _hstack = _joined

    def _pad(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        mode = found.get("mode", "constant")
        if mode not in ("constant", "reflect", "edge", "wrap", "symmetric"):
            raise UntraceableError(f"pads in the mode {mode!r}", node.line)
        more = f', mode="{mode}"' if mode != "constant" else ""
        more += f", constant_values={w.text(found['constant_values'])}" if "constant_values" in found else ""
        return f"jnp.pad({w.text(found['a'])}, {w.text(found['width'])}{more})"

    def _array(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"jnp.array({w.text(found['a'])}, dtype={self._known(w, node.dtype)})"

    _asarray = _array

    # --- items

    def _getitem(self, w: Writer, node: Node) -> str:
        return f"{w.text(node.args[0], ATOM)}[{self._index(w, node.args[1], node)}]"

    def _setitem(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        return f"{w.text(base, ATOM)}.at[{self._index(w, place, node)}].set({self._written(w, node, value)})"

    def _written(self, w: Writer, node: Node, value: Any) -> str:
        if isinstance(value, Node) and value.dtype != node.dtype:
            return w.operand(Cast(value, node.dtype))
        return w.text(value)

    def _add_at(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        sign = "-" if node.function == "subtract.at" else ""
        given = self._written(w, node, value)
        return f"{w.text(base, ATOM)}.at[{self._index(w, place, node)}].add({sign}{f'({given})' if sign else given})"

    _subtract_at = _add_at

    def _maximum_at(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        how = {"maximum.at": "max", "minimum.at": "min", "multiply.at": "multiply"}[node.function]
        return f"{w.text(base, ATOM)}.at[{self._index(w, place, node)}].{how}({self._written(w, node, value)})"

    _minimum_at = _multiply_at = _maximum_at

    def _sliding_window_view(self, w: Writer, node: Node) -> str:
        """Write windows as indices, one axis after the other; the windows' own axes come last."""
        found = arguments(node)
        size, axis = found["window"], found.get("axis")
        sizes = size if isinstance(size, (tuple, list)) else (size,)
        axes = axis if isinstance(axis, (tuple, list)) else (axis,) if axis is not None else range(len(sizes))
        if isinstance(size, Scalar) and size.kind == "shape":
            raise UntraceableError("makes windows of sizes whose number is known only at the call", node.line)
        text = w.text(found["a"], ATOM)
        for place, item in zip(axes, sizes):
            at = place % found["a"].ndim if isinstance(place, int) else None
            if at is None:
                raise UntraceableError("makes windows along an axis that is known only at the call", node.line)
            width, places = w.text(item, 7), w.fresh("places")
            steps = f"jnp.arange({text}.shape[{at}] - {width} + 1)[:, None] + jnp.arange({width})"
            w.lines.append(f"{places} = {steps}")
            name = w.fresh("windows")
            w.lines.append(f"{name} = jnp.moveaxis(jnp.take({text}, {places}, axis={at}), {at + 1}, -1)")
            text = name
        return text

    def _logaddexp_accumulate(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = found.get("axis", 0)
        if not isinstance(axis, int):
            raise UntraceableError("accumulates along an axis that is known only at the call", node.line)
        return f"jax.lax.cumlogsumexp({w.text(found['a'])}, axis={axis % found['a'].ndim})"

    def _logaddexp_reduce(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        found.setdefault("axis", 0)
        return f"jax.nn.logsumexp({w.text(found['a'])}{self._axes(w, node, found)})"

    def _searchsorted(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if "sorter" in found:
            raise UntraceableError("calls np.searchsorted with sorter=", node.line)
        places = f"{w.text(found['a'])}, {w.text(found['v'])}"
        return f'jnp.searchsorted({places}, side="{found.get("side", "left")}").astype({self.dtype(node.dtype)})'

    def _put_along_axis(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        values = self._written(w, node, found["values"])
        head = f"{w.text(found['a'])}, {w.text(found['indices'])}, {values}"
        return f"jnp.put_along_axis({head}, axis={w.text(found['axis'])}, inplace=False)"
