"""torch's words for shapes: reductions, what is moved, joined and made.

Writes to places are not these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import arguments
from opkit.export.text.dialect import in_dtype, is_array, reduced
from opkit.export.text.torch_values import TorchValues
from opkit.export.text.writer import ATOM, Cast, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError

REDUCTIONS = {
    "max": "amax", "amax": "amax", "min": "amin", "amin": "amin", "mean": "mean", "sum": "sum", "any": "any",
    "all": "all", "add.reduce": "sum", "maximum.reduce": "amax", "minimum.reduce": "amin",
}  # fmt: skip
#: What torch writes as one call; see ``dialect``.
ROWS = {
    "sort": "torch.sort({a}, dim={axis=-1}, stable=True).values",
    "maximum.accumulate": "torch.cummax({a}, dim={axis=0}).values",
    "minimum.accumulate": "torch.cummin({a}, dim={axis=0}).values",
    "logaddexp.accumulate": "torch.logcumsumexp({a}, dim={axis=0})",
    "reshape": "{a.}.reshape({shape})",
    "ravel": "{a.}.reshape(-1)",
    "matrix_transpose": "{a.}.mT",
    "swapaxes": "{a.}.transpose({axis1}, {axis2})",
    "moveaxis": "torch.moveaxis({a}, {source}, {destination})",
    "squeeze": "{a.}.squeeze({axis})",
    "broadcast_to": "torch.broadcast_to({a}, {shape})",
    "split": "torch.tensor_split({a}, {indices}, dim={axis=0})",
    "array_split": "torch.tensor_split({a}, {indices}, dim={axis=0})",
    "roll": "torch.roll({a}, {shift}[[, dims={axis}]])",
    "repeat": "{a.}.repeat_interleave({repeats}[[, dim={axis}]])",
    "diff": "torch.diff({a}, n={n=1}, dim={axis=-1}[[, prepend={prepend}]][[, append={append}]])",
    "diagonal": "torch.diagonal({a}, {offset=0}, {axis1=0}, {axis2=1})",
    "diag": "torch.diag({a}, {k=0})",
    "tril": "torch.tril({a}, {k=0})",
    "triu": "torch.triu({a}, {k=0})",
    "round": "torch.round({a}[[, decimals={decimals}]])",
    "nan_to_num": "torch.nan_to_num({a}[[, nan={nan}]][[, posinf={posinf}]][[, neginf={neginf}]])",
    "positive": "{a.}",
    "conjugate": "{a.}",
    "inner": "torch.inner({a!}, {b!})",
    "vdot": "torch.dot({a!.}.reshape(-1), {b!.}.reshape(-1))",
    "linalg.inv": "torch.linalg.inv({a!})",
    "linalg.det": "torch.linalg.det({a!})",
    "linalg.cholesky": "torch.linalg.cholesky({a!})",
    "linalg.solve": "torch.linalg.solve({a!}, {b!})",
    "linalg.slogdet": "torch.linalg.slogdet({a})",
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
        found = reduced(node)
        x = found["a"]
        if "initial" in found:
            return self._begun(w, node, function, found)
        text = w.text(x, ATOM)
        axes = self._axes(w, node, found)
        if found.get("axis") == ():
            return f"{text}.clone()"
        if function in ("mean", "sum", "prod") and x.dtype != node.dtype:
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
        text = in_dtype(w, found["a"], node.dtype, ATOM)
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

    _cumprod = _add_accumulate = _cumsum

    def _searchsorted(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if "sorter" in found or not isinstance(found["v"], Node):
            raise UntraceableError("calls np.searchsorted with sorter= or for a number", node.line)
        common = np.result_type(*(np.asarray(getattr(item, "value", item)).dtype for item in (found["a"], found["v"])))
        operands = [item if item.dtype == common else Cast(item, common) for item in (found["a"], found["v"])]
        side = ", right=True" if found.get("side", "left") == "right" else ""
        places = f"{w.operand(operands[0])}, {w.operand(operands[1], ATOM)}.contiguous()"
        return f"torch.searchsorted({places}{side})"

    def _logaddexp_reduce(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        found.setdefault("axis", 0)
        return f"torch.logsumexp({w.text(found['a'])}, {self._axes(w, node, found)})"

    # --- shapes

    def _transpose(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        x = found["a"]
        if "axes" in found:
            return f"{w.text(x, ATOM)}.permute({w.text(found['axes'])})"
        if x.ndim == 2:
            return f"{w.text(x, ATOM)}.T"
        return w.text(x, ATOM) if x.ndim < 2 else f"{w.text(x, ATOM)}.permute({tuple(reversed(range(x.ndim)))})"

    def _expand_dims(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        text = w.text(found["a"], ATOM)
        axes = found["axis"] if isinstance(found["axis"], tuple) else (found["axis"],)
        if len(axes) > 1:
            axes = tuple(sorted(axis % node.ndim for axis in axes))
        return text + "".join(f".unsqueeze({w.text(axis)})" for axis in axes)

    def _join(self, w: Writer, node: Node, function: str, axis: Any) -> str:
        return f"torch.{function}({self._joined_list(w, node, arguments(node)['arrays'])}, dim={w.text(axis)})"

    def _joined_list(self, w: Writer, node: Node, items: Any) -> str:
        """Return a list of arrays of the result's dtype: one that a loop collected, or one that is written out."""
        if isinstance(items, Node) and isinstance(items.value, list):
            text = w.text(items)
            is_cast = np.asarray(items.value[0]).dtype != node.dtype
            return f"[{self.cast('item', self.dtype(node.dtype))} for item in {text}]" if is_cast else text
        return f"[{', '.join(in_dtype(w, item, node.dtype) for item in _arrays(items, node))}]"

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


def _arrays(items: Any, node: Node) -> list[Node]:
    if not isinstance(items, (list, tuple)) or not all(map(is_array, items)):
        raise UntraceableError(f"calls np.{node.function} on what is not a list of arrays", node.line)
    return list(items)
