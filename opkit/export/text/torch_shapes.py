"""torch's words for shapes: reductions, what is moved, joined and made.

Writes to places are not these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import arguments
from opkit.export.text.torch_values import TorchValues
from opkit.export.text.writer import ATOM, Cast, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

REDUCTIONS = {"max": "amax", "amax": "amax", "min": "amin", "amin": "amin", "mean": "mean", "sum": "sum", "any": "any"}
REDUCTIONS |= {
    "all": "all",
    "add.reduce": "sum",
    "maximum.reduce": "amax",
    "minimum.reduce": "amin",
    "nansum": "nansum",
}


class TorchShapes(TorchValues):
    """torch's way with shapes."""

    # --- reductions
    def _axes(self, w: Writer, node: Node, found: dict[str, Any]) -> str:
        axis, keeps = found.get("axis"), found.get("keepdims", False)
        if isinstance(keeps, Scalar):
            raise UntraceableError("passes keepdims that is known only at the call", node.line)
        if axis is None:
            return f"dim={tuple(range(found['a'].ndim))}, keepdim=True" if keeps else ""
        return f"dim={w.text(axis)}" + (", keepdim=True" if keeps else "")

    def _reduction(self, w: Writer, node: Node, function: str) -> str:
        found = arguments(node)
        if (
            node.function.endswith(".reduce")
            and "axis" not in found
            and len(node.args) < 2
            and "axis" not in node.kwargs
        ):
            found["axis"] = 0
        x = found["a"]
        if isinstance(x, list):
            raise UntraceableError(f"calls np.{node.function} on a list", node.line)
        if "initial" in found:
            return self._begun(w, node, function, found)
        text = w.text(x, ATOM)
        axes = self._axes(w, node, found)
        if found.get("axis") == ():
            return f"{text}.clone()"
        if function in ("mean", "sum", "prod", "nansum") and x.dtype != node.dtype:
            axes += f"{', ' if axes else ''}dtype={self.dtype(node.dtype)}"
        if function in ("any", "all") and x.dtype != bool:
            text = f"({w.text(x, 2)} != 0)"
        if function in ("amax", "amin") and x.dtype == bool:
            function = {"amax": "any", "amin": "all"}[function]
        return f"{text}.{function}({axes})"

    def _begun(self, w: Writer, node: Node, function: str, found: dict[str, Any]) -> str:
        """Write a reduction that begins with a value."""
        rest = Node(
            node.function, (found["a"],), {key: found[key] for key in ("axis", "keepdims") if key in found}, node.value
        )
        text, first = self._reduction(w, rest, function), w.text(found["initial"])
        if function in ("amax", "amin") and 0 not in np.shape(found["a"].value):
            return f"torch.clamp({text}, {'min' if function == 'amax' else 'max'}={first})"
        if function == "sum":
            return f"({text} + {first})"
        raise UntraceableError(f"calls np.{node.function} with initial=", node.line)

    def _prod(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = found.get("axis")
        if axis is None and found.get("keepdims"):
            axis = tuple(range(found["a"].ndim))
        if not isinstance(axis, tuple):
            return self._reduction(w, node, "prod")
        keeps = ", keepdim=True" if found.get("keepdims") else ""
        if not all(isinstance(item, int) for item in axis) or "initial" in found:
            raise UntraceableError("multiplies over several axes that are known only at the call", node.line)
        kind = f", dtype={self.dtype(node.dtype)}" if found["a"].dtype != node.dtype else ""
        order = sorted((item % found["a"].ndim for item in axis), reverse=True)
        return w.text(found["a"], ATOM) + "".join(f".prod(dim={item}{keeps}{kind})" for item in order)

    _multiply_reduce = _prod

    def _var(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        ddof = found.get("ddof", found.get("correction", 0))
        axes = self._axes(w, node, found)
        x = found["a"]
        text = w.operand(x if x.dtype == node.dtype else Cast(x, node.dtype), ATOM)
        return f"{text}.{node.function}({axes + ', ' if axes else ''}correction={w.text(ddof)})"

    _std = _var

    def _count_nonzero(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axes = self._axes(w, node, found)
        return f"({w.text(found['a'], 2)} != 0).sum({axes})"

    def _argmax(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axes = self._axes(w, node, found) if "axis" in found else ""
        return f"torch.{node.function}({w.text(found['a'])}{', ' + axes if axes else ''})"

    _argmin = _argmax

    def _cumsum(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        x = w.text(found["a"], ATOM)
        if "axis" not in found:
            x += ".reshape(-1)"
        axis = w.text(found.get("axis", 0))
        more = f", dtype={self.dtype(node.dtype)}" if found["a"].dtype != node.dtype else ""
        return f"torch.{node.function.replace('add.accumulate', 'cumsum')}({x}, dim={axis}{more})"

    _cumprod = _cumsum
    _add_accumulate = _cumsum

    def _searchsorted(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if "sorter" in found or not isinstance(found["v"], Node):
            raise UntraceableError("calls np.searchsorted with sorter= or for a number", node.line)
        common = np.result_type(*(np.asarray(getattr(item, "value", item)).dtype for item in (found["a"], found["v"])))
        operands = [item if item.dtype == common else Cast(item, common) for item in (found["a"], found["v"])]
        side = ", right=True" if found.get("side", "left") == "right" else ""
        places = f"{w.operand(operands[0])}, {w.operand(operands[1], ATOM)}.contiguous()"
        return f"torch.searchsorted({places}{side})"

    def _maximum_accumulate(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        function = {"maximum.accumulate": "cummax", "minimum.accumulate": "cummin"}[node.function]
        return f"torch.{function}({w.text(found['a'])}, dim={w.text(found.get('axis', 0))}).values"

    _minimum_accumulate = _maximum_accumulate

    def _logaddexp_accumulate(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"torch.logcumsumexp({w.text(found['a'])}, dim={w.text(found.get('axis', 0))})"

    def _logaddexp_reduce(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        found.setdefault("axis", 0)
        return f"torch.logsumexp({w.text(found['a'])}, {self._axes(w, node, found)})"

    def _sort(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = w.text(found.get("axis", -1))
        return f"torch.sort({w.text(found['a'])}, dim={axis}, stable=True).values"

    def _argsort(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        x = found["a"]
        text = w.text(x)
        if isinstance(x, Scalar):
            return f"tuple(sorted(range(len({text})), key={text}.__getitem__))"
        return f"torch.argsort({text}, dim={w.text(found.get('axis', -1))}, stable=True)"

    def _linalg_norm(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = found.get("axis")
        is_matrix = isinstance(axis, tuple) or (axis is None and found["a"].ndim != 1)
        if is_matrix and "ord" in found:
            raise UntraceableError("takes a matrix norm", node.line)
        ord_ = f", ord={w.text(found['ord'])}" if "ord" in found else ""
        axes = self._axes(w, node, found)
        return f"torch.linalg.vector_norm({w.text(found['a'])}{ord_}{', ' + axes if axes else ''})"

    # --- shapes
    def _reshape(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"{w.text(found['a'], ATOM)}.reshape({w.text(found['shape'])})"

    def _ravel(self, w: Writer, node: Node) -> str:
        return f"{w.text(node.args[0], ATOM)}.reshape(-1)"

    def _transpose(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        x = found["a"]
        if "axes" in found:
            return f"{w.text(x, ATOM)}.permute({w.text(found['axes'])})"
        if x.ndim == 2:
            return f"{w.text(x, ATOM)}.T"
        return w.text(x, ATOM) if x.ndim < 2 else f"{w.text(x, ATOM)}.permute({tuple(reversed(range(x.ndim)))})"

    def _matrix_transpose(self, w: Writer, node: Node) -> str:
        return f"{w.text(node.args[0], ATOM)}.mT"

    def _swapaxes(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"{w.text(found['a'], ATOM)}.transpose({w.text(found['axis1'])}, {w.text(found['axis2'])})"

    def _moveaxis(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"torch.moveaxis({w.text(found['a'])}, {w.text(found['source'])}, {w.text(found['destination'])})"

    def _expand_dims(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        text = w.text(found["a"], ATOM)
        axes = found["axis"] if isinstance(found["axis"], tuple) else (found["axis"],)
        if len(axes) > 1:
            axes = tuple(sorted(axis % node.ndim for axis in axes))
        return text + "".join(f".unsqueeze({w.text(axis)})" for axis in axes)

    def _squeeze(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = w.text(found["axis"]) if "axis" in found else ""
        return f"{w.text(found['a'], ATOM)}.squeeze({axis})"

    def _broadcast_to(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        return f"torch.broadcast_to({w.text(found['a'])}, {w.text(found['shape'])})"

    def _join(self, w: Writer, node: Node, function: str, axis: Any) -> str:
        return f"torch.{function}({self._joined_list(w, node, arguments(node)['arrays'])}, dim={w.text(axis)})"

    def _joined_list(self, w: Writer, node: Node, items: Any) -> str:
        """Return a list of arrays of the result's dtype: one that a loop collected, or one that is written out."""
        if isinstance(items, Node) and isinstance(items.value, list):
            text = w.text(items)
            is_cast = np.asarray(items.value[0]).dtype != node.dtype
            return f"[{self.cast('item', self.dtype(node.dtype))} for item in {text}]" if is_cast else text
        texts = [
            w.operand(item if item.dtype == node.dtype else Cast(item, node.dtype)) for item in _arrays(items, node)
        ]
        return f"[{', '.join(texts)}]"

    def _concatenate(self, w: Writer, node: Node) -> str:
        return self._join(w, node, "cat", arguments(node).get("axis", 0))

    _concat = _concatenate

    def _stack(self, w: Writer, node: Node) -> str:
        return self._join(w, node, "stack", arguments(node).get("axis", 0))

    def _vstack(self, w: Writer, node: Node) -> str:
        items = _arrays(arguments(node)["arrays"], node)
        return self._join(w, node, "stack" if items[0].ndim == 1 else "cat", 0)

    def _hstack(self, w: Writer, node: Node) -> str:
        items = _arrays(arguments(node)["arrays"], node)
        return self._join(w, node, "cat", 0 if items[0].ndim == 1 else 1)

    def _split(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = w.text(found.get("axis", 0))
        return f"torch.tensor_split({w.text(found['a'])}, {w.text(found['indices'])}, dim={axis})"

    _array_split = _split

    def _item(self, w: Writer, node: Node) -> str:
        owner, index = node.args
        return f"{w.text(owner, ATOM)}[{w.text(index)}]"

    def _flip(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        default = {"flipud": 0, "fliplr": 1}.get(node.function)
        axis = found.get("axis", default)
        if axis is None:
            axis = tuple(range(found["a"].ndim))
        axes = axis if isinstance(axis, tuple) else (axis,)
        return f"torch.flip({w.text(found['a'])}, {w.text(axes)})"

    _flipud = _flip
    _fliplr = _flip

    def _roll(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = f", dims={w.text(found['axis'])}" if "axis" in found else ""
        return f"torch.roll({w.text(found['a'])}, {w.text(found['shift'])}{axis})"

    def _repeat(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        axis = f", dim={w.text(found['axis'])}" if "axis" in found else ""
        return f"{w.text(found['a'], ATOM)}.repeat_interleave({w.text(found['repeats'])}{axis})"

    def _tile(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        reps = found["reps"] if isinstance(found["reps"], tuple) else (found["reps"],)
        return f"torch.tile({w.text(found['a'])}, {w.text(reps)})"

    def _pad(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        mode = found.get("mode", "constant")
        width = found["width"]
        if not isinstance(width, (tuple, list)):
            width = ((width, width),) * found["a"].ndim
        elif not isinstance(width[0], (tuple, list)):
            width = ((width[0], width[-1]),) * found["a"].ndim
        pairs = [(pair[0], pair[-1]) for pair in width]
        if mode != "constant":
            return self._pad_by_index(w, node, mode, pairs)
        flat = tuple(item for pair in reversed(pairs) for item in pair)
        fill = found.get("constant_values", 0)
        value = f", value={w.text(fill)}" if not (isinstance(fill, int) and fill == 0) else ""
        return f"torch.nn.functional.pad({w.text(found['a'])}, {w.text(flat)}{value})"

    def _pad_by_index(self, w: Writer, node: Node, mode: str, pairs: list[tuple[Any, Any]]) -> str:
        """Write a padding that repeats the array as indices along each axis."""
        forms = {
            "edge": "{i}.clamp(0, {n} - 1)",
            "wrap": "{i} % {n}",
            "reflect": "({n} - 1) - ({n} - 1 - {i} % max(2 * {n} - 2, 1)).abs()",
            "symmetric": "torch.minimum({i} % (2 * {n}), 2 * {n} - 1 - {i} % (2 * {n}))",
        }
        if mode not in forms:
            raise UntraceableError(f"pads in the mode {mode!r}", node.line)
        text = w.text(arguments(node)["a"], ATOM)
        for axis, (before, after) in enumerate(pairs):
            if all(isinstance(item, int) and item == 0 for item in (before, after)):
                continue
            place = w.fresh("place")
            size = f"{text}.shape[{axis}]"
            w.lines.append(f"{place} = torch.arange(-{w.text(before, 9)}, {size} + {w.text(after, 7)}{self.device(w)})")
            text = f"torch.index_select({text}, {axis}, {forms[mode].format(i=place, n=size)})"
        return text

    def _sliding_window_view(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        size, axis = found["window"], found.get("axis")
        sizes = size if isinstance(size, (tuple, list)) else (size,)
        axes = axis if isinstance(axis, (tuple, list)) else (axis,) if axis is not None else range(len(sizes))
        if isinstance(size, Scalar) and size.kind == "shape":
            raise UntraceableError("makes windows of sizes whose number is known only at the call", node.line)
        return w.text(found["a"], ATOM) + "".join(
            f".unfold({w.text(place)}, {w.text(item)}, 1)" for place, item in zip(axes, sizes)
        )

    def _diff(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        more = "".join(f", {key}={w.text(found[key])}" for key in ("prepend", "append") if key in found)
        axis = w.text(found.get("axis", -1))
        return f"torch.diff({w.text(found['a'])}, n={w.text(found.get('n', 1))}, dim={axis}{more})"


def _arrays(items: Any, node: Node) -> list[Node]:
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, (Node, np.ndarray)) for item in items):
        raise UntraceableError(f"calls np.{node.function} on what is not a list of arrays", node.line)
    return list(items)
