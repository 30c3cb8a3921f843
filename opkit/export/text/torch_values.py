"""torch's words for values: dtypes, constants, operations element by element, products.

Shapes and places are not these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.dialect import Call, CommonDialect, is_array
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
            raise UntraceableError(f"uses the dtype {dtype.name}, which torch lacks")
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
    def _infix(self, c: Call) -> tuple[str, int]:
        if c.name == "power" and c.dtype.kind == "f" and not is_array(c.args[0]):
            return f"torch.pow({c.text(c.args[0])}, {c.w.operand(c.operands(c.dtype)[1])})", ATOM
        if c.name == "matmul":
            left, right = c.args
            return f"{c.cast(left, 7)} @ {c.cast(right, 8)}", 7
        return super()._infix(c)

    def _unary(self, c: Call) -> str:
        item = c.args[0]
        text = c.cast(item) if is_array(item) and c.dtype.kind == "f" else c.text(item)
        return f"torch.{UNARY[c.name]}({text})"

    def _binary(self, c: Call) -> tuple[str, int]:
        loop = c.dtype
        if c.name.startswith("logical"):
            loop = np.dtype(bool)
        if c.name == "float_power":
            loop = np.dtype("float64")
        texts = []
        clamp = {"maximum": "min", "minimum": "max"}.get(c.name)
        scalars = [item for item in c.args if not is_array(item)]
        operands = c.operands(loop)
        if clamp and len(scalars) == 1:
            left, right = operands if scalars[0] is c.args[1] else operands[::-1]
            return f"torch.clamp({c.w.operand(left)}, {clamp}={c.text(right)})", ATOM
        for item in operands:
            is_tensor = is_array(item) or isinstance(item, Cast)
            texts.append(c.w.operand(item) if is_tensor else self.single(c.w, item, self._like(c, loop)))
        return f"torch.{BINARY[c.name]}({', '.join(texts)})", ATOM

    def _like(self, c: Call, loop: np.dtype[Any]) -> str:
        """Return a dtype by the operand that has it, else by name."""
        for item in c.args:
            if isinstance(item, Node) and item.dtype == loop and c.text(item).isidentifier():
                return f"{c.text(item)}.dtype"
        return self._known(c.w, loop)

    def _cbrt(self, c: Call) -> tuple[str, int]:
        x = c.text(c.args[0])
        return f"torch.sign({x}) * torch.abs({x}) ** (1 / 3)", 7

    def _clip(self, c: Call) -> str:
        limits = {key: c[key] for key in ("min", "max") if key in c}
        if len(set(map(is_array, limits.values()))) > 1:
            raise c.error("clips between an array and a number")
        texts = "".join(f", {key}={c.text(item)}" for key, item in limits.items())
        return f"torch.clamp({c.cast(c['a'])}{texts})"

    # --- products
    def _products(self, c: Call) -> list[str]:
        return [c.cast(item) for item in c.args[:2]]

    def _dot(self, c: Call) -> tuple[str, int]:
        a, b = c.args[:2]
        if not (isinstance(a, Node) and isinstance(b, Node)) or a.ndim == 0 or b.ndim == 0:
            raise c.error("calls np.dot on numbers")
        left, right = self._products(c)
        if b.ndim > 2:
            return f"torch.tensordot({left}, {right}, dims=([{a.ndim - 1}], [{b.ndim - 2}]))", ATOM
        return f"torch.matmul({left}, {right})", ATOM

    def _outer(self, c: Call) -> str:
        left, right = (f"({text}).reshape(-1)" for text in self._products(c))
        if all(isinstance(item, Node) and item.ndim == 1 for item in c.args[:2]):
            left, right = self._products(c)
        return f"torch.outer({left}, {right})"

    def _tensordot(self, c: Call) -> str:
        left, right = self._products(c)
        axes = c.get("axes", 2)
        return f"torch.tensordot({left}, {right}, dims={c.text(list(axes) if isinstance(axes, tuple) else axes)})"
