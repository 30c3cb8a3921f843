"""numpy's operations in jax.numpy's words: mostly the same ones, with dtypes said and writes made functional.

Only expressions stand here; the file around them is ``jax_file``'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import INFIX, arguments
from opkit.export.text.jax_values import SAME, UFUNCS, JaxValues
from opkit.export.text.writer import ATOM, Cast, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError


class JaxDialect(JaxValues):
    """jax.numpy's way."""

    def operation(self, writer: Writer, node: Node) -> tuple[str, int]:
        """Return the expression of a node."""
        name = node.function
        if name in INFIX:
            return self._infix(writer, node)
        if name in UFUNCS or name == "absolute":
            return self._ufunc(writer, node), ATOM
        method = getattr(self, "_" + name.replace(".", "_"), None)
        if method is not None:
            found: tuple[str, int] | str = method(writer, node)
            return found if isinstance(found, tuple) else (found, ATOM)
        if name in SAME:
            return self._same(writer, node), ATOM
        raise UntraceableError(f"calls np.{name}, which has no form in jax.numpy", node.line)

    # --- joining
    def _joined(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        items = found["arrays"]
        axis = f", axis={w.text(found['axis'])}" if "axis" in found else ""
        if isinstance(items, Node) and isinstance(items.value, list):
            cast = np.asarray(items.value[0]).dtype != node.dtype
            more = f".astype({self.dtype(node.dtype)})" if cast else ""
            return f"jnp.{node.function}({w.text(items)}{axis}){more}"
        if not isinstance(items, (list, tuple)) or not all(isinstance(item, (Node, np.ndarray)) for item in items):
            raise UntraceableError(f"calls np.{node.function} on what is not a list of arrays", node.line)
        texts = [w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)) for item in items]
        return f"jnp.{node.function}([{', '.join(texts)}]{axis})"

    _concatenate = _concat = _stack = _vstack = _hstack = _joined

    def _item(self, w: Writer, node: Node) -> str:
        return f"{w.text(node.args[0], ATOM)}[{w.text(node.args[1])}]"

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

    def _maximum_at(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        how = {"maximum.at": "max", "minimum.at": "min", "multiply.at": "multiply"}[node.function]
        return f"{w.text(base, ATOM)}.at[{self._index(w, place)}].{how}({self._written(w, node, value)})"

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
