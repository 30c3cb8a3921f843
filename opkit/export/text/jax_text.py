"""numpy's operations in jax.numpy's words: mostly the same ones, with dtypes said and writes made functional.

Only expressions stand here; the file around them is ``jax_file``'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import INFIX, arguments
from opkit.export.text.writer import ATOM, Cast, Dialect, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

__all__ = ["JaxDialect"]

_UFUNCS = {
    "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "fabs", "floor", "ceil", "rint",
    "trunc", "sign", "isnan", "isinf", "isfinite", "logical_not", "reciprocal", "deg2rad", "rad2deg", "radians",
    "degrees", "signbit", "cbrt", "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp",
    "logaddexp2", "copysign", "fmod", "logical_and", "logical_or", "logical_xor", "heaviside", "float_power",
    "sinc", "positive", "conjugate",
}  # fmt: skip
_SAME_NAMES = {"absolute": "abs", "amax": "max", "amin": "min"}
_SAME = {
    "var", "std", "any", "all", "count_nonzero", "argmax", "argmin", "cumsum", "cumprod", "reshape", "transpose",
    "swapaxes", "moveaxis", "expand_dims", "squeeze", "broadcast_to", "flip", "flipud", "fliplr", "roll", "repeat",
    "tile", "diff", "take", "diagonal", "diag", "tril", "triu", "trace", "inner", "outer", "vdot", "tensordot",
    "ravel", "split", "array_split", "matrix_transpose", "dot", "round", "nan_to_num",
}  # fmt: skip
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class JaxDialect(Dialect):
    """jax.numpy's way."""

    module = "jnp"

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

    def operation(self, writer: Writer, node: Node) -> tuple[str, int]:
        """Return the expression of a node."""
        name = node.function
        if name in INFIX:
            return self._infix(writer, node)
        if name in _UFUNCS or name == "absolute":
            return self._ufunc(writer, node), ATOM
        method = getattr(self, "_" + name.replace(".", "_"), None)
        if method is not None:
            found: tuple[str, int] | str = method(writer, node)
            return found if isinstance(found, tuple) else (found, ATOM)
        if name in _SAME:
            return self._same(writer, node), ATOM
        raise UntraceableError(f"calls np.{name}, which has no form in jax.numpy", node.line)

    # --- elementwise
    def _infix(self, w: Writer, node: Node) -> tuple[str, int]:
        loop = node.dtype
        if node.function in _COMPARISONS:
            loop = np.result_type(*[_plain(item) for item in node.args])
        return w.infix(node, INFIX[node.function], loop)

    def _ufunc(self, w: Writer, node: Node) -> str:
        name = _SAME_NAMES.get(node.function, node.function)
        loop = node.dtype
        if name.startswith("logical"):
            loop = np.dtype(bool)
            return f"jnp.{name}({', '.join(w.text(item) for item in node.args)})"
        if name in ("isnan", "isinf", "isfinite", "signbit"):
            return f"jnp.{name}({w.text(node.args[0])})"
        arrays = [item for item in node.args if isinstance(item, (Node, np.ndarray))]
        texts = [
            w.operand(Cast(item, loop)) if item.dtype != loop and len(arrays) == 1 else w.operand(given)
            for item, given in zip(node.args, w.operands(node, loop))
            if isinstance(item, (Node, np.ndarray))
        ]
        left = iter(texts)
        found = [next(left) if isinstance(item, (Node, np.ndarray)) else w.text(item) for item in node.args]
        return f"jnp.{name}({', '.join(found)})"

    def _negative(self, w: Writer, node: Node) -> tuple[str, int]:
        return f"-{w.text(node.args[0], 8)}", 8

    def _invert(self, w: Writer, node: Node) -> tuple[str, int]:
        return f"~{w.text(node.args[0], 8)}", 8

    def _where(self, w: Writer, node: Node) -> str:
        condition, x, y = node.args
        arrays = [item for item in (x, y) if isinstance(item, (Node, np.ndarray))]
        texts = []
        for item in (x, y):
            if isinstance(item, (Node, np.ndarray)):
                texts.append(w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)))
            elif arrays and arrays[0].dtype == node.dtype:
                texts.append(w.text(item))
            else:
                texts.append(f"jnp.array({w.text(item)}, dtype={self.dtype(node.dtype)})")
        truth = w.text(condition)
        if isinstance(condition, (Node, np.ndarray)) and condition.dtype != bool:
            truth = f"{w.text(condition, 2)} != 0"
        return f"jnp.where({truth}, {texts[0]}, {texts[1]})"

    def _clip(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        x = found["a"]
        text = w.operand(x if x.dtype == node.dtype else Cast(x, node.dtype))
        return f"jnp.clip({text}, {w.text(found.get('min'))}, {w.text(found.get('max'))})"

    # --- reductions
    def _axes(self, w: Writer, node: Node, found: dict[str, Any]) -> str:
        if isinstance(found.get("keepdims"), Scalar):
            raise UntraceableError("passes keepdims that is known only at the call", node.line)
        axis = f", axis={w.text(found['axis'])}" if "axis" in found else ""
        return axis + (", keepdims=True" if found.get("keepdims") else "")

    def _reduced(self, w: Writer, node: Node, function: str) -> str:
        found = arguments(node)
        if (
            node.function.endswith(".reduce")
            and "axis" not in found
            and len(node.args) < 2
            and "axis" not in node.kwargs
        ):
            found["axis"] = 0
        if isinstance(found["a"], list):
            raise UntraceableError(f"calls np.{node.function} on a list", node.line)
        more = self._axes(w, node, found)
        if "initial" in found:
            more += f", initial={w.text(found['initial'])}"
        if function in ("sum", "prod", "mean", "var", "std") and found["a"].dtype != node.dtype:
            more += f", dtype={self.dtype(node.dtype)}"
        if function in ("var", "std") and ("ddof" in found or "correction" in found):
            more += f", ddof={w.text(found.get('ddof', found.get('correction')))}"
        return f"jnp.{function}({w.text(found['a'])}{more})"

    def _sum(self, w: Writer, node: Node) -> str:
        names = {"add.reduce": "sum", "multiply.reduce": "prod", "maximum.reduce": "max", "minimum.reduce": "min"}
        return self._reduced(w, node, names.get(node.function, _SAME_NAMES.get(node.function, node.function)))

    _prod = _mean = _max = _min = _amax = _amin = _var = _std = _nansum = _sum
    _add_reduce = _multiply_reduce = _maximum_reduce = _minimum_reduce = _sum

    def _count_nonzero(self, w: Writer, node: Node) -> str:
        return self._int64(self._same(w, node))

    def _argmax(self, w: Writer, node: Node) -> str:
        return self._int64(self._same(w, node))

    _argmin = _argmax

    def _int64(self, text: str) -> str:
        return f"{text}.astype(jnp.int64)"

    def _argsort(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        value = f"jnp.array({w.text(found['a'])})" if isinstance(found["a"], Scalar) else w.text(found["a"])
        if isinstance(found["a"], Scalar):
            return f"tuple(sorted(range(len({w.text(found['a'])})), key={w.text(found['a'])}.__getitem__))"
        return self._int64(f"jnp.argsort({value}, axis={w.text(found.get('axis', -1))}, stable=True)")

    def _sort(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"jnp.sort({w.text(found['a'])}, axis={w.text(found.get('axis', -1))})"

    def _cumsum(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        name = {"add.accumulate": "cumsum", "multiply.accumulate": "cumprod"}.get(node.function, node.function)
        more = f", axis={w.text(found['axis'])}" if "axis" in found else ""
        more += f", dtype={self.dtype(node.dtype)}" if found["a"].dtype != node.dtype else ""
        return f"jnp.{name}({w.text(found['a'])}{more})"

    _cumprod = _add_accumulate = _multiply_accumulate = _cumsum

    def _maximum_accumulate(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = found.get("axis", 0)
        if isinstance(axis, int) and axis < 0:
            axis %= found["a"].ndim
        return f"jax.lax.cummax({w.text(found['a'])}, axis={w.text(axis)})"

    # --- what has the same name
    def _same(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        texts: list[str] = []
        for key, value in found.items():
            if key in ("dtype", "mode"):
                raise UntraceableError(f"calls np.{node.function} with {key}=", node.line)
            text = w.text(value)
            if isinstance(value, (Node, np.ndarray)) and node.function in (
                "inner",
                "outer",
                "vdot",
                "tensordot",
                "dot",
            ):
                text = w.operand(value if value.dtype == node.dtype else Cast(value, node.dtype))
            names = {"indices": "indices_or_sections", "n": "n", "k": "k", "axes": "axes", "reps": "reps"}
            is_first = not texts or (
                key in ("shape", "indices", "b", "repeats", "shift", "axes", "reps", "source", "destination")
            )
            is_first = is_first or (key in ("axis1", "axis2") and node.function == "swapaxes")
            texts.append(text if is_first or key == "a" else f"{names.get(key, key)}={text}")
        return f"jnp.{node.function}({', '.join(texts)})"

    def _joined(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        items = found["arrays"]
        if not isinstance(items, (list, tuple)) or not all(isinstance(item, (Node, np.ndarray)) for item in items):
            raise UntraceableError(f"calls np.{node.function} on what is not a list of arrays", node.line)
        texts = [w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)) for item in items]
        axis = f", axis={w.text(found['axis'])}" if "axis" in found else ""
        return f"jnp.{node.function}([{', '.join(texts)}]{axis})"

    _concatenate = _concat = _stack = _vstack = _hstack = _joined

    def _item(self, w: Writer, node: Node) -> str:
        return f"{w.text(node.args[0], ATOM)}[{node.args[1]}]"

    def _pad(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        mode = found.get("mode", "constant")
        if mode not in ("constant", "reflect", "edge", "wrap", "symmetric"):
            raise UntraceableError(f"pads in the mode {mode!r}", node.line)
        more = f', mode="{mode}"' if mode != "constant" else ""
        more += f", constant_values={w.text(found['constant_values'])}" if "constant_values" in found else ""
        return f"jnp.pad({w.text(found['a'])}, {w.text(found['width'])}{more})"

    # --- making arrays
    def _zeros(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        fill = f", {self._filled(w, found['fill'])}" if "fill" in found else ""
        dtype = w.text(found["dtype"]) if "dtype" in found else self.dtype(node.dtype)
        return f"jnp.{node.function}({w.text(found['shape'])}{fill}, dtype={dtype})"

    def _filled(self, w: Writer, value: Any) -> str:
        return w.text(value)

    _ones = _empty = _full = _zeros

    def _zeros_like(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if "shape" in found or not isinstance(found["a"], Node):
            raise UntraceableError(f"calls np.{node.function} on a number or with shape=", node.line)
        fill = f", {w.text(found['fill'])}" if "fill" in found else ""
        dtype = f", dtype={w.text(found['dtype'])}" if "dtype" in found else ""
        return f"jnp.{node.function}({w.text(found['a'])}{fill}{dtype})"

    _ones_like = _empty_like = _full_like = _zeros_like

    def _arange(self, w: Writer, node: Node) -> str:
        return f"jnp.arange({', '.join(w.text(item) for item in node.args)}, dtype={self.dtype(node.dtype)})"

    def _eye(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        sizes = ", ".join(w.text(found[key]) for key in ("n", "m") if key in found)
        k = f", k={w.text(found['k'])}" if "k" in found else ""
        return f"jnp.eye({sizes}{k}, dtype={self.dtype(node.dtype)})"

    _identity = _eye

    def _linspace(self, w: Writer, node: Node) -> str:
        if len(node.args) != 3 or node.kwargs:
            raise UntraceableError("calls np.linspace with further arguments", node.line)
        return f"jnp.linspace({', '.join(w.text(item) for item in node.args)}, dtype={self.dtype(node.dtype)})"

    def _constant(self, w: Writer, node: Node) -> str:
        return w.text(node.args[0])

    def _array(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"jnp.array({w.text(found['a'])}, dtype={self._known(w, node.dtype)})"

    _asarray = _array

    def _known(self, w: Writer, dtype: np.dtype[Any]) -> str:
        """Return a dtype as that of an input where one has it, so that the text holds for the other float dtype too."""
        floats = [node for node in w.trace.inputs if node is not None and node.dtype.kind == "f"]
        if floats and all(node.dtype == dtype for node in floats):
            return f"{w.text(floats[0])}.dtype"
        return self.dtype(dtype)

    def _astype(self, w: Writer, node: Node) -> str:
        value, dtype = node.args
        return f"{w.text(value, ATOM)}.astype({w.text(np.dtype(dtype) if isinstance(dtype, str) else dtype)})"

    def _copy(self, w: Writer, node: Node) -> str:
        return w.text(node.args[0], ATOM)

    # --- items
    def _index(self, w: Writer, place: Any) -> str:
        parts = place if isinstance(place, tuple) else (place,)
        return ", ".join(self._part(w, part) for part in parts) or "()"

    def _part(self, w: Writer, part: Any) -> str:
        if part is Ellipsis:
            return "..."
        if isinstance(part, slice):
            texts = ["" if item is None else w.text(item) for item in (part.start, part.stop)]
            return ":".join(texts) + (f":{w.text(part.step)}" if part.step is not None else "")
        return w.text(part)

    def _getitem(self, w: Writer, node: Node) -> str:
        return f"{w.text(node.args[0], ATOM)}[{self._index(w, node.args[1])}]"

    def _setitem(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        return f"{w.text(base, ATOM)}.at[{self._index(w, place)}].set({self._written(w, node, value)})"

    def _written(self, w: Writer, node: Node, value: Any) -> str:
        if isinstance(value, Node) and value.dtype != node.dtype:
            return w.operand(Cast(value, node.dtype))
        return w.text(value)

    def _add_at(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        sign = "-" if node.function == "subtract.at" else ""
        given = self._written(w, node, value)
        return f"{w.text(base, ATOM)}.at[{self._index(w, place)}].add({sign}{f'({given})' if sign else given})"

    _subtract_at = _add_at

    def _take_along_axis(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = w.text(found.get("axis", -1))
        return f"jnp.take_along_axis({w.text(found['a'])}, {w.text(found['indices'])}, axis={axis})"

    def _put_along_axis(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        values = self._written(w, node, found["values"])
        head = f"{w.text(found['a'])}, {w.text(found['indices'])}, {values}"
        return f"jnp.put_along_axis({head}, axis={w.text(found['axis'])}, inplace=False)"

    # --- products
    def _einsum(self, w: Writer, node: Node) -> str:
        if not isinstance(node.args[0], str):
            raise UntraceableError("calls np.einsum without a subscripts text", node.line)
        texts = [w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)) for item in node.args[1:]]
        return f'jnp.einsum("{node.args[0].replace(" ", "")}", {", ".join(texts)})'

    def _linalg(self, w: Writer, node: Node) -> str:
        texts = [
            w.operand(item if not isinstance(item, Node) or item.dtype == node.dtype else Cast(item, node.dtype))
            for item in node.args
        ]
        return f"jnp.{node.function}({', '.join(texts)})"

    _linalg_inv = _linalg_det = _linalg_cholesky = _linalg_solve = _linalg

    def _linalg_slogdet(self, w: Writer, node: Node) -> str:
        return f"jnp.linalg.slogdet({w.text(node.args[0])})"

    def _linalg_norm(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        more = f", ord={w.text(found['ord'])}" if "ord" in found else ""
        return f"jnp.linalg.norm({w.text(found['a'])}{more}{self._axes(w, node, found)})"


def _plain(item: Any) -> Any:
    if isinstance(item, (Node, np.ndarray)):
        return item.dtype
    if isinstance(item, Scalar):
        return np.asarray(item.value).dtype if item.is_strong else item.value
    return item
