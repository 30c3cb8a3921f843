"""torch's words for values: dtypes, constants, operations element by element, products.

Shapes and places are not these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import arguments
from opkit.export.text.dialect import CommonDialect, in_dtype, is_array
from opkit.export.text.writer import ATOM, Cast, Writer
from opkit.export.trace.graph import Node, UntraceableError

UNARY = {
    "exp": "exp", "expm1": "expm1", "exp2": "exp2", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "square": "square", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "absolute": "abs", "fabs": "abs", "floor": "floor", "ceil": "ceil", "rint": "round",
    "trunc": "trunc", "sign": "sign", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "logical_not": "logical_not", "reciprocal": "reciprocal", "deg2rad": "deg2rad", "rad2deg": "rad2deg",
    "signbit": "signbit", "radians": "deg2rad", "degrees": "rad2deg", "sinc": "sinc",
}  # fmt: skip
BINARY = {
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "arctan2": "atan2", "hypot": "hypot",
    "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "copysign": "copysign", "fmod": "fmod",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "float_power": "pow",
    "heaviside": "heaviside",
}  # fmt: skip


class TorchValues(CommonDialect):
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

    def single(self, writer: Writer, item: Any, dtype: str) -> str:
        """Return a number as a tensor."""
        return f"torch.full((), {writer.text(item)}, dtype={dtype}{self.device(writer)})"

    def sorted_places(self, text: str, axis: str) -> str:
        """Return the places of a tensor's elements in their order."""
        return f"torch.argsort({text}, dim={axis}, stable=True)"

    # --- elementwise
    def _infix(self, w: Writer, node: Node) -> tuple[str, int]:
        if node.function == "power" and node.dtype.kind == "f" and not is_array(node.args[0]):
            return f"torch.pow({w.text(node.args[0])}, {w.operand(w.operands(node, node.dtype)[1])})", ATOM
        if node.function == "matmul":
            left, right = node.args
            return f"{in_dtype(w, left, node.dtype, 7)} @ {in_dtype(w, right, node.dtype, 8)}", 7
        return super()._infix(w, node)

    def _unary(self, w: Writer, node: Node) -> str:
        item = node.args[0]
        text = in_dtype(w, item, node.dtype) if is_array(item) and node.dtype.kind == "f" else w.text(item)
        return f"torch.{UNARY[node.function]}({text})"

    def _binary(self, w: Writer, node: Node) -> tuple[str, int]:
        loop = node.dtype
        if node.function.startswith("logical"):
            loop = np.dtype(bool)
        if node.function == "float_power":
            loop = np.dtype("float64")
        texts = []
        clamp = {"maximum": "min", "minimum": "max"}.get(node.function)
        scalars = [item for item in node.args if not is_array(item)]
        operands = w.operands(node, loop)
        if clamp and len(scalars) == 1:
            left, right = operands if scalars[0] is node.args[1] else operands[::-1]
            return f"torch.clamp({w.operand(left)}, {clamp}={w.text(right)})", ATOM
        for item in operands:
            is_tensor = is_array(item) or isinstance(item, Cast)
            texts.append(w.operand(item) if is_tensor else self.single(w, item, self._like(w, node, loop)))
        return f"torch.{BINARY[node.function]}({', '.join(texts)})", ATOM

    def _like(self, w: Writer, node: Node, loop: np.dtype[Any]) -> str:
        """Return a dtype by the operand that has it, else by name."""
        for item in node.args:
            if isinstance(item, Node) and item.dtype == loop and w.text(item).isidentifier():
                return f"{w.text(item)}.dtype"
        return self._known(w, loop)

    def _cbrt(self, w: Writer, node: Node) -> tuple[str, int]:
        x = w.text(node.args[0])
        return f"torch.sign({x}) * torch.abs({x}) ** (1 / 3)", 7

    def _clip(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        limits = {key: found[key] for key in ("min", "max") if key in found}
        if len(set(map(is_array, limits.values()))) > 1:
            raise UntraceableError("clips between an array and a number", node.line)
        texts = "".join(f", {key}={w.text(item)}" for key, item in limits.items())
        return f"torch.clamp({in_dtype(w, found['a'], node.dtype)}{texts})"

    # --- products
    def _products(self, w: Writer, node: Node) -> list[str]:
        return [in_dtype(w, item, node.dtype) for item in node.args[:2]]

    def _dot(self, w: Writer, node: Node) -> tuple[str, int]:
        a, b = node.args[:2]
        if not (isinstance(a, Node) and isinstance(b, Node)) or a.ndim == 0 or b.ndim == 0:
            raise UntraceableError("calls np.dot on numbers", node.line)
        left, right = self._products(w, node)
        if b.ndim > 2:
            return f"torch.tensordot({left}, {right}, dims=([{a.ndim - 1}], [{b.ndim - 2}]))", ATOM
        return f"torch.matmul({left}, {right})", ATOM

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
