"""torch's words for values: dtypes, constants, operations element by element, products.

Shapes and places are not these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import INFIX, arguments
from opkit.export.text.writer import ATOM, Cast, Dialect, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

UNARY = {
    "exp": "exp", "expm1": "expm1", "exp2": "exp2", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "square": "square", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "absolute": "abs", "fabs": "abs", "floor": "floor", "ceil": "ceil", "rint": "round",
    "trunc": "trunc", "sign": "sign", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "logical_not": "logical_not", "reciprocal": "reciprocal", "deg2rad": "deg2rad", "rad2deg": "rad2deg",
    "signbit": "signbit", "radians": "deg2rad", "degrees": "rad2deg",
}  # fmt: skip
BINARY = {
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "arctan2": "atan2", "hypot": "hypot",
    "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "copysign": "copysign", "fmod": "fmod",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "float_power": "pow",
    "heaviside": "heaviside",
}  # fmt: skip
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class TorchValues(Dialect):
    """torch's way with values."""

    module = "torch"

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """Return torch's name of a dtype."""
        if dtype.kind not in "fiub" or dtype.name in ("uint16", "uint32", "uint64", "longdouble"):
            raise UntraceableError(f"uses the dtype {dtype.name}, which torch lacks", 0)
        return f"torch.{dtype.name}"

    def cast(self, text: str, dtype: str) -> str:
        """Return a cast tensor."""
        return f"{text}.to({dtype})"

    def count(self, text: str) -> str:
        """Return the number of elements."""
        return f"{text}.numel()"

    def constant(self, writer: Writer, array: np.ndarray) -> str:
        """Return a constant tensor on the first input's device."""
        return f"torch.tensor({writer.text(array.tolist())}, dtype={self.dtype(array.dtype)}{self.device(writer)})"

    def device(self, writer: Writer) -> str:
        """Return the keyword that makes a tensor where the inputs are."""
        first = next((node for node in writer.trace.inputs if node is not None), None)
        return "" if first is None else f", device={writer.text(first)}.device"

    # --- elementwise
    def _infix(self, w: Writer, node: Node) -> tuple[str, int]:
        name = node.function
        loop = node.dtype
        arrays = [item for item in node.args if isinstance(item, (Node, np.ndarray))]
        if name in _COMPARISONS:
            loop = np.result_type(*[_plain(item) for item in node.args])
        if name == "power" and loop.kind == "f" and not isinstance(node.args[0], (Node, np.ndarray)):
            return f"torch.pow({w.text(node.args[0])}, {w.operand(w.operands(node, loop)[1])})", ATOM
        if name == "matmul" and len({item.dtype for item in arrays}) > 1:
            left, right = [item if item.dtype == loop else Cast(item, loop) for item in node.args]
            return f"{w.operand(left, 7)} @ {w.operand(right, 8)}", 7
        return w.infix(node, INFIX[name], loop)

    def _float_operand(self, w: Writer, node: Node) -> str:
        item = node.args[0]
        if isinstance(item, (Node, np.ndarray)) and node.dtype.kind == "f" and item.dtype != node.dtype:
            return w.operand(Cast(item, node.dtype))
        return w.text(item)

    def _binary(self, w: Writer, node: Node) -> tuple[str, int]:
        loop = node.dtype
        if node.function.startswith("logical"):
            loop = np.dtype(bool)
        if node.function == "float_power":
            loop = np.dtype("float64")
        texts = []
        clamp = {"maximum": "min", "minimum": "max"}.get(node.function)
        scalars = [item for item in node.args if not isinstance(item, (Node, np.ndarray))]
        operands = w.operands(node, loop)
        if clamp and len(scalars) == 1:
            left, right = operands if scalars[0] is node.args[1] else operands[::-1]
            return f"torch.clamp({w.operand(left)}, {clamp}={w.text(right)})", ATOM
        for item in operands:
            if isinstance(item, (Node, np.ndarray, Cast)):
                texts.append(w.operand(item))
            else:
                texts.append(f"torch.full((), {w.text(item)}, dtype={self._like(w, node, loop)}{self.device(w)})")
        return f"torch.{BINARY[node.function]}({', '.join(texts)})", ATOM

    def _like(self, w: Writer, node: Node, loop: np.dtype[Any]) -> str:
        """Return a dtype by the operand that has it, else by name."""
        for item in node.args:
            if isinstance(item, Node) and item.dtype == loop and w.text(item).isidentifier():
                return f"{w.text(item)}.dtype"
        return self._known(w, loop)

    def _known(self, w: Writer, dtype: np.dtype[Any]) -> str:
        """Return a dtype as that of an input where one has it and all float inputs are alike, else by name."""
        floats = [node for node in w.trace.inputs if node is not None and node.dtype.kind == "f"]
        if dtype.kind == "f" and floats and all(node.dtype == dtype for node in floats):
            return f"{w.text(floats[0])}.dtype"
        return self.dtype(dtype)

    def _negative(self, w: Writer, node: Node) -> tuple[str, int]:
        return f"-{w.text(node.args[0], 8)}", 8

    def _positive(self, w: Writer, node: Node) -> str:
        return w.text(node.args[0], ATOM)

    def _invert(self, w: Writer, node: Node) -> tuple[str, int]:
        return f"~{w.text(node.args[0], 8)}", 8

    def _cbrt(self, w: Writer, node: Node) -> tuple[str, int]:
        x = w.text(node.args[0])
        return f"torch.sign({x}) * torch.abs({x}) ** (1 / 3)", 7

    def _conjugate(self, w: Writer, node: Node) -> str:
        return w.text(node.args[0], ATOM)

    def _where(self, w: Writer, node: Node) -> str:
        condition, x, y = node.args
        texts = []
        arrays = [item for item in (x, y) if isinstance(item, (Node, np.ndarray))]
        for item in (x, y):
            if isinstance(item, (Node, np.ndarray)):
                texts.append(w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)))
            elif arrays and (arrays[0].dtype == node.dtype and node.dtype.kind == "f"):
                texts.append(w.text(item))
            else:
                dtype = self._known(w, node.dtype) if arrays else self.dtype(node.dtype)
                texts.append(f"torch.full((), {w.text(item)}, dtype={dtype}{self.device(w)})")
        return f"torch.where({self._truth(w, condition)}, {texts[0]}, {texts[1]})"

    def _truth(self, w: Writer, item: Any) -> str:
        if isinstance(item, (Node, np.ndarray)) and item.dtype != bool:
            return f"{w.text(item, 2)} != 0"
        return w.text(item)

    def _clip(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        limits = {key: found[key] for key in ("min", "max") if key in found}
        x = found["a"]
        text = w.operand(x if x.dtype == node.dtype else Cast(x, node.dtype))
        if all(not isinstance(item, (Node, np.ndarray)) for item in limits.values()):
            return f"torch.clamp({text}, {', '.join(f'{key}={w.text(item)}' for key, item in limits.items())})"
        if all(isinstance(item, (Node, np.ndarray)) for item in limits.values()):
            return f"torch.clamp({text}, {', '.join(f'{key}={w.text(item)}' for key, item in limits.items())})"
        raise UntraceableError("clips between an array and a number", node.line)

    def _round(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        more = f", decimals={w.text(found['decimals'])}" if found.get("decimals", 0) != 0 else ""
        return f"torch.round({w.text(found['a'])}{more})"

    def _nan_to_num(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        more = "".join(f", {key}={w.text(found[key])}" for key in ("nan", "posinf", "neginf") if key in found)
        return f"torch.nan_to_num({w.text(found['a'])}{more})"

    def _sinc(self, w: Writer, node: Node) -> str:
        return f"torch.sinc({w.text(node.args[0])})"

    # --- products
    def _products(self, w: Writer, node: Node) -> list[str]:
        return [w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)) for item in node.args[:2]]

    def _dot(self, w: Writer, node: Node) -> tuple[str, int]:
        a, b = node.args[:2]
        if not (isinstance(a, Node) and isinstance(b, Node)) or a.ndim == 0 or b.ndim == 0:
            raise UntraceableError("calls np.dot on numbers", node.line)
        left, right = self._products(w, node)
        if b.ndim > 2:
            return f"torch.tensordot({left}, {right}, dims=([{a.ndim - 1}], [{b.ndim - 2}]))", ATOM
        return f"torch.matmul({left}, {right})", ATOM

    def _inner(self, w: Writer, node: Node) -> str:
        return f"torch.inner({', '.join(self._products(w, node))})"

    def _vdot(self, w: Writer, node: Node) -> str:
        left, right = self._products(w, node)
        return f"torch.dot({left}.reshape(-1), {right}.reshape(-1))"

    def _outer(self, w: Writer, node: Node) -> str:
        left, right = (f"({text}).reshape(-1)" for text in self._products(w, node))
        if all(isinstance(item, Node) and item.ndim == 1 for item in node.args[:2]):
            left, right = self._products(w, node)
        return f"torch.outer({left}, {right})"

    def _tensordot(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        left, right = self._products(w, node)
        axes = found.get("axes", 2)
        return f"torch.tensordot({left}, {right}, dims={w.text(list(axes) if isinstance(axes, tuple) else axes)})"

    def _einsum(self, w: Writer, node: Node) -> str:
        if not isinstance(node.args[0], str):
            raise UntraceableError("calls np.einsum without a subscripts text", node.line)
        texts = [w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)) for item in node.args[1:]]
        return f"torch.einsum({w.text(node.args[0].replace(' ', ''))}, {', '.join(texts)})".replace("'", '"')

    def _trace(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if len(found) > 1 or found["a"].ndim != 2:
            raise UntraceableError("calls np.trace with further arguments", node.line)
        return f"torch.trace({w.text(found['a'])})"

    def _diagonal(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        more = f", {w.text(found.get('offset', 0))}, {w.text(found.get('axis1', 0))}, {w.text(found.get('axis2', 1))}"
        return f"torch.diagonal({w.text(found['a'])}{more})"

    def _diag(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"torch.diag({w.text(found['a'])}, {w.text(found.get('k', 0))})"

    def _tril(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"torch.{node.function}({w.text(found['a'])}, {w.text(found.get('k', 0))})"

    _triu = _tril

    # --- linear algebra
    def _linalg(self, w: Writer, node: Node, function: str) -> str:
        texts = [w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)) for item in node.args]
        return f"torch.linalg.{function}({', '.join(texts)})"

    def _linalg_inv(self, w: Writer, node: Node) -> str:
        return self._linalg(w, node, "inv")

    def _linalg_det(self, w: Writer, node: Node) -> str:
        return self._linalg(w, node, "det")

    def _linalg_cholesky(self, w: Writer, node: Node) -> str:
        return self._linalg(w, node, "cholesky")

    def _linalg_solve(self, w: Writer, node: Node) -> str:
        return self._linalg(w, node, "solve")

    def _linalg_slogdet(self, w: Writer, node: Node) -> str:
        return f"torch.linalg.slogdet({w.text(node.args[0])})"


def _plain(item: Any) -> Any:
    if isinstance(item, (Node, np.ndarray)):
        return item.dtype
    if isinstance(item, Scalar):
        return np.asarray(item.value).dtype if item.is_strong else item.value
    return item
