"""jax.numpy's words for values: dtypes, constants, operations element by element, reductions.

Shapes and places are not these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import INFIX, arguments
from opkit.export.text.writer import Cast, Dialect, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

UFUNCS = {
    "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "fabs", "floor", "ceil", "rint",
    "trunc", "sign", "isnan", "isinf", "isfinite", "logical_not", "reciprocal", "deg2rad", "rad2deg", "radians",
    "degrees", "signbit", "cbrt", "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp",
    "logaddexp2", "copysign", "fmod", "logical_and", "logical_or", "logical_xor", "heaviside", "float_power",
    "sinc", "positive", "conjugate",
}  # fmt: skip
_SAME_NAMES = {"absolute": "abs", "amax": "max", "amin": "min"}
SAME = {
    "var", "std", "any", "all", "count_nonzero", "argmax", "argmin", "cumsum", "cumprod", "reshape", "transpose",
    "swapaxes", "moveaxis", "expand_dims", "squeeze", "broadcast_to", "flip", "flipud", "fliplr", "roll", "repeat",
    "tile", "diff", "take", "diagonal", "diag", "tril", "triu", "trace", "inner", "outer", "vdot", "tensordot",
    "ravel", "split", "array_split", "matrix_transpose", "dot", "round", "nan_to_num",
}  # fmt: skip
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class JaxValues(Dialect):
    """jax.numpy's way with values."""

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


def _plain(item: Any) -> Any:
    if isinstance(item, (Node, np.ndarray)):
        return item.dtype
    if isinstance(item, Scalar):
        return np.asarray(item.value).dtype if item.is_strong else item.value
    return item
