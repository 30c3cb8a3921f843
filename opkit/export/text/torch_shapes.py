"""torch's words for shapes: reductions, what is moved, joined and made.

Writes to places are not these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.dialect import Call, is_array
from opkit.export.text.torch_values import TorchValues
from opkit.export.text.writer import ATOM, Cast
from opkit.export.trace.graph import Node, Scalar

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
    def _axes(self, c: Call) -> str:
        axis, keeps = c.get("axis"), c.get("keepdims", False)
        if isinstance(keeps, Scalar):
            raise c.error("passes keepdims that is known only at the call")
        if axis is None:
            return f"dim={tuple(range(c['a'].ndim))}, keepdim=True" if keeps else ""
        return f"dim={c.text(axis)}" + (", keepdim=True" if keeps else "")

    def _reduction(self, c: Call, function: str) -> str:
        c.reduced()
        x = c["a"]
        if "initial" in c:
            return self._begun(c, function)
        text = c.text(x, ATOM)
        axes = self._axes(c)
        if c.get("axis") == ():
            return f"{text}.clone()"
        if function in ("mean", "sum", "prod") and x.dtype != c.dtype:
            axes += f"{', ' if axes else ''}dtype={self.dtype(c.dtype)}"
        if function in ("any", "all") and x.dtype != bool:
            text = f"({c.text(x, 2)} != 0)"
        if function in ("amax", "amin") and x.dtype == bool:
            function = {"amax": "any", "amin": "all"}[function]
        return f"{text}.{function}({axes})"

    def _begun(self, c: Call, function: str) -> str:
        """Write a reduction that begins with a value."""
        rest = Node(c.name, (c["a"],), c.node.value, {key: c[key] for key in ("axis", "keepdims") if key in c})
        text, first = self._reduction(Call(c.w, rest), function), c.text(c["initial"])
        if function in ("amax", "amin") and 0 not in np.shape(c["a"].value):
            return f"torch.clamp({text}, {'min' if function == 'amax' else 'max'}={first})"
        if function == "sum":
            return f"({text} + {first})"
        raise c.error(f"calls np.{c.name} with initial=")

    def _prod(self, c: Call) -> str:
        axis = c.get("axis")
        if axis is None and c.get("keepdims"):
            axis = tuple(range(c["a"].ndim))
        if not isinstance(axis, tuple):
            return self._reduction(c, "prod")
        keeps = ", keepdim=True" if c.get("keepdims") else ""
        if not all(isinstance(item, int) for item in axis) or "initial" in c:
            raise c.error("multiplies over several axes that are known only at the call")
        kind = f", dtype={self.dtype(c.dtype)}" if c["a"].dtype != c.dtype else ""
        order = sorted((item % c["a"].ndim for item in axis), reverse=True)
        return c.text(c["a"], ATOM) + "".join(f".prod(dim={item}{keeps}{kind})" for item in order)

    _multiply_reduce = _prod

    def _var(self, c: Call) -> str:
        ddof = c.get("ddof", c.get("correction", 0))
        axes = self._axes(c)
        text = c.cast(c["a"], ATOM)
        return f"{text}.{c.name}({axes + ', ' if axes else ''}correction={c.text(ddof)})"

    _std = _var

    def _count_nonzero(self, c: Call) -> str:
        axes = self._axes(c)
        return f"({c.text(c['a'], 2)} != 0).sum({axes})"

    def _argmax(self, c: Call) -> str:
        axes = self._axes(c) if "axis" in c else ""
        return f"torch.{c.name}({c.text(c['a'])}{', ' + axes if axes else ''})"

    _argmin = _argmax

    def _cumsum(self, c: Call) -> str:
        x = c.text(c["a"], ATOM)
        if "axis" not in c:
            x += ".reshape(-1)"
        axis = c.text(c.get("axis", 0))
        more = f", dtype={self.dtype(c.dtype)}" if c["a"].dtype != c.dtype else ""
        return f"torch.{c.name.replace('add.accumulate', 'cumsum')}({x}, dim={axis}{more})"

    _cumprod = _add_accumulate = _cumsum

    def _searchsorted(self, c: Call) -> str:
        if "sorter" in c or not isinstance(c["v"], Node):
            raise c.error("calls np.searchsorted with sorter= or for a number")
        common = np.result_type(*(np.asarray(getattr(item, "value", item)).dtype for item in (c["a"], c["v"])))
        operands = [item if item.dtype == common else Cast(item, common) for item in (c["a"], c["v"])]
        side = ", right=True" if c.get("side", "left") == "right" else ""
        places = f"{c.w.operand(operands[0])}, {c.w.operand(operands[1], ATOM)}.contiguous()"
        return f"torch.searchsorted({places}{side})"

    def _logaddexp_reduce(self, c: Call) -> str:
        c.given.setdefault("axis", 0)
        return f"torch.logsumexp({c.text(c['a'])}, {self._axes(c)})"

    # --- shapes

    def _transpose(self, c: Call) -> str:
        x = c["a"]
        if "axes" in c:
            return f"{c.text(x, ATOM)}.permute({c.text(c['axes'])})"
        if x.ndim == 2:
            return f"{c.text(x, ATOM)}.T"
        return c.text(x, ATOM) if x.ndim < 2 else f"{c.text(x, ATOM)}.permute({tuple(reversed(range(x.ndim)))})"

    def _expand_dims(self, c: Call) -> str:
        text = c.text(c["a"], ATOM)
        axes = c["axis"] if isinstance(c["axis"], tuple) else (c["axis"],)
        if len(axes) > 1:
            axes = tuple(sorted(axis % c.node.ndim for axis in axes))
        return text + "".join(f".unsqueeze({c.text(axis)})" for axis in axes)

    def _join(self, c: Call, function: str, axis: Any) -> str:
        return f"torch.{function}({self._joined_list(c, c['arrays'])}, dim={c.text(axis)})"

    def _joined_list(self, c: Call, items: Any) -> str:
        """Return a list of arrays of the result's dtype: one that a loop collected, or one that is written out."""
        if isinstance(items, Node) and isinstance(items.value, list):
            text = c.text(items)
            is_cast = np.asarray(items.value[0]).dtype != c.dtype
            return f"[{self.cast('item', self.dtype(c.dtype))} for item in {text}]" if is_cast else text
        return f"[{', '.join(c.cast(item) for item in _arrays(items, c))}]"

    def _concatenate(self, c: Call) -> str:
        return self._join(c, "cat", c.get("axis", 0))

    _concat = _concatenate

    def _stack(self, c: Call) -> str:
        return self._join(c, "stack", c.get("axis", 0))

    def _vstack(self, c: Call) -> str:
        items = _arrays(c["arrays"], c)
        return self._join(c, "stack" if items[0].ndim == 1 else "cat", 0)

    def _hstack(self, c: Call) -> str:
        items = _arrays(c["arrays"], c)
        return self._join(c, "cat", 0 if items[0].ndim == 1 else 1)

    def _flip(self, c: Call) -> str:
        default = {"flipud": 0, "fliplr": 1}.get(c.name)
        axis = c.get("axis", default)
        if axis is None:
            axis = tuple(range(c["a"].ndim))
        axes = axis if isinstance(axis, tuple) else (axis,)
        return f"torch.flip({c.text(c['a'])}, {c.text(axes)})"

    _flipud = _flip
    _fliplr = _flip

    def _tile(self, c: Call) -> str:
        reps = c["reps"] if isinstance(c["reps"], tuple) else (c["reps"],)
        return f"torch.tile({c.text(c['a'])}, {c.text(reps)})"

    def _pad(self, c: Call) -> str:
        mode = c.get("mode", "constant")
        width = c["width"]
        if not isinstance(width, (tuple, list)):
            width = ((width, width),) * c["a"].ndim
        elif not isinstance(width[0], (tuple, list)):
            width = ((width[0], width[-1]),) * c["a"].ndim
        pairs = [(pair[0], pair[-1]) for pair in width]
        if mode != "constant":
            return self._pad_by_index(c, mode, pairs)
        flat = tuple(item for pair in reversed(pairs) for item in pair)
        fill = c.get("constant_values", 0)
        value = f", value={c.text(fill)}" if not (isinstance(fill, int) and fill == 0) else ""
        return f"torch.nn.functional.pad({c.text(c['a'])}, {c.text(flat)}{value})"

    def _pad_by_index(self, c: Call, mode: str, pairs: list[tuple[Any, Any]]) -> str:
        """Write a padding that repeats the array as indices along each axis."""
        forms = {
            "edge": "{i}.clamp(0, {n} - 1)",
            "wrap": "{i} % {n}",
            "reflect": "({n} - 1) - ({n} - 1 - {i} % max(2 * {n} - 2, 1)).abs()",
            "symmetric": "torch.minimum({i} % (2 * {n}), 2 * {n} - 1 - {i} % (2 * {n}))",
        }
        if mode not in forms:
            raise c.error(f"pads in the mode {mode!r}")
        text = c.text(c["a"], ATOM)
        for axis, (before, after) in enumerate(pairs):
            if all(isinstance(item, int) and item == 0 for item in (before, after)):
                continue
            place = c.w.fresh("place")
            size = f"{text}.shape[{axis}]"
            places = f"-{c.text(before, 9)}, {size} + {c.text(after, 7)}{self.device(c.w)}"
            c.w.lines.append(f"{place} = torch.arange({places})")
            text = f"torch.index_select({text}, {axis}, {forms[mode].format(i=place, n=size)})"
        return text

    def _sliding_window_view(self, c: Call) -> str:
        unfolded = (f".unfold({c.text(place)}, {c.text(item)}, 1)" for place, item in self.windows(c))
        return c.text(c["a"], ATOM) + "".join(unfolded)


def _arrays(items: Any, c: Call) -> list[Node]:
    if not isinstance(items, (list, tuple)) or not all(map(is_array, items)):
        raise c.error(f"calls np.{c.name} on what is not a list of arrays")
    return list(items)
