"""numpy's operations in torch's words.

Only expressions stand here; the file around them is ``torch_file``'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.dialect import Call, is_array
from opkit.export.text.torch_shapes import REDUCTIONS, ROWS, TorchShapes
from opkit.export.text.torch_values import BINARY, UNARY
from opkit.export.text.writer import ATOM, Writer
from opkit.export.trace.graph import Node, Scalar, reads, walk

#: Results that share memory with no other array, so that they can be written to.
_SHARED = {"input", "getitem", "reshape", "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "broadcast_to"}
_SHARED |= {"constant", "item", "diagonal", "ravel", "astype", "split"}
_IN_PLACE = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow"}


class TorchDialect(TorchShapes):
    """torch's way."""

    title, rows = "torch", ROWS

    def called(self, c: Call) -> tuple[str, int]:
        """Return the expression of a call."""
        if isinstance(c.node.value, (np.ndarray, np.generic)):
            self.dtype(c.dtype)  # refuses a dtype that torch lacks
        if id(c.node) in c.w.reused:
            return self._in_place(c, c.w.reused[id(c.node)])
        if c.name in UNARY:
            return self._unary(c), ATOM
        if c.name in BINARY:
            return self._binary(c)
        if c.name in REDUCTIONS:
            return self._reduction(c, REDUCTIONS[c.name]), ATOM
        return super().called(c)

    def _in_place(self, c: Call, base: Node) -> tuple[str, int]:
        """Write into an operand that nothing reads any more."""
        words = _IN_PLACE.get(c.name) or UNARY[c.name]
        others = ", ".join(c.text(item) for item in c.args if item is not base)
        return f"{c.text(base, ATOM)}.{words}_({others})", ATOM

    def _full(self, c: Call) -> str:
        if not isinstance(c["fill"], Node):
            return self._zeros(c) if "shape" in c else self._zeros_like(c)
        shape = c.text(c["shape"]) if "shape" in c else f"{c.text(c['a'], ATOM)}.shape"
        return f"{c.cast(c['fill'], ATOM)}.expand({shape})"

    _full_like = _full

    def _array(self, c: Call) -> str:
        value = c["a"]
        if isinstance(value, Node) and isinstance(value.value, list):
            return f"torch.stack({self._joined_list(c, value)})"
        if isinstance(value, list) and value and all(isinstance(item, Node) for item in value):
            return f"torch.stack([{', '.join(c.cast(item) for item in value)}])"
        if isinstance(value, Node):
            return f"{c.text(value, ATOM)}.clone()"
        if isinstance(value, Scalar) and value.kind == "shape":
            value = Scalar("call", ("list", value), value.value)
        if _holds_node(value):
            raise c.error("makes an array of nested lists of values")
        return f"torch.tensor({c.text(value)}, dtype={self.dtype(c.dtype)}{self.device(c.w)})"

    _asarray = _array

    # --- items

    def _part(self, c: Call, part: Any) -> str:
        if isinstance(part, slice) and isinstance(part.step, Scalar) and part.step.value < 0:
            raise c.error("steps backwards by a number that is known only at the call")
        return super()._part(c, part)

    def _getitem(self, c: Call) -> str:
        value, place = c.args
        parts = list(place) if isinstance(place, tuple) else [place]
        if any(_is_backwards(part) for part in parts):
            return self._reversed(c, parts)
        return f"{c.text(value, ATOM)}[{self._index(c, place)}]"

    def _reversed(self, c: Call, parts: list[Any]) -> str:
        """Write steps backwards: the part forwards, turned over, then every so many."""
        dims = _turned(parts, c)
        first = tuple(_forwards(part, c) for part in parts)
        steps = tuple(slice(None, None, -part.step) if _is_backwards(part) else _whole(part) for part in parts)
        text = c.text(c.args[0])
        if not all(part is Ellipsis or part == slice(None) for part in first):
            text = f"{c.text(c.args[0], ATOM)}[{self._index(c, first)}]"
        text = f"torch.flip({text}, {dims})"
        if all(_is_backwards(part) is False or part.step == -1 for part in parts):
            return text
        return f"{text}[{self._index(c, steps)}]"

    def own(self, writer: Writer, node: Node) -> str:
        """Return a value as a variable that may be written to: a copy where others hold it too."""
        text = writer.text(node)
        is_alone = len(writer.users.get(id(node), [])) == 1 and id(node) not in writer.leaving
        return text if is_alone and _is_own(node, text) else f"{writer.text(node, ATOM)}.clone()"

    def _owned(self, c: Call) -> str:
        """Return a variable that holds a copy of the first argument, to be written to."""
        base = c.args[0]
        text = c.text(base)
        may_write = _is_own(base, text) and _is_read_before(c)
        if may_write and text.isidentifier():
            return text
        name = c.w.fresh(c.node.name or base.name or "out")
        c.w.lines.append(f"{name} = {text}" if may_write else f"{name} = {c.text(base, ATOM)}.clone()")
        return name

    def _setitem(self, c: Call) -> str:
        _, place, value = c.args
        name = self._owned(c)
        given = c.text(value)
        if isinstance(value, Node) and value.dtype != c.dtype:
            given = f"{c.text(value, ATOM)}.to({name}.dtype)"
        parts = list(place) if isinstance(place, tuple) else [place]
        if any(_is_backwards(part) for part in parts):
            if any(_is_backwards(part) and part != slice(None, None, -1) for part in parts):
                raise c.error("writes backwards to a part of an array")
            dims = tuple(axis for axis in _turned(parts, c, c.node.ndim) if -axis <= np.ndim(_value_of(value)))
            given = f"torch.flip({given}, {dims})" if dims else given
            place = tuple(slice(None) if _is_backwards(part) else part for part in parts)
        c.w.lines.append(f"{name}[{self._index(c, place)}] = {given}")
        return name

    def _add_at(self, c: Call) -> str:
        base, place, value = c.args
        places = self._all_places(c, base, place)
        sign = "-" if c.name == "subtract.at" else ""
        given = c.text(value, 8 if sign else 0)
        if not isinstance(value, Node):
            given = f"torch.tensor({given}, dtype={c.text(base, ATOM)}.dtype{self.device(c.w)})"
        elif value.dtype != c.dtype:
            given = f"{c.text(value, ATOM)}.to({c.text(base, ATOM)}.dtype)"
        return f"{c.text(base, ATOM)}.index_put({places}, {sign}{given}, accumulate=True)"

    _subtract_at = _add_at

    def _all_places(self, c: Call, base: Node, place: Any) -> str:
        """Return one array of indices per axis; a whole axis is written as all its places."""
        parts = list(place) if isinstance(place, tuple) else [place]
        if all(is_array(part) for part in parts):
            return c.text(tuple(parts))
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            parts[at : at + 1] = [slice(None)] * (base.ndim - len(parts) + 1)
        parts += [slice(None)] * (base.ndim - len(parts))
        known = [index for index, part in enumerate(parts) if is_array(part)]
        is_dense = bool(known) and known == list(range(known[0], known[-1] + 1))
        if not is_dense or any(part != slice(None) for index, part in enumerate(parts) if index not in known):
            raise c.error(f"uses np.{c.name} with such a mixture of slices and indices")
        wide = max(np.ndim(_value_of(parts[index])) for index in known)
        rank = base.ndim - len(known) + wide
        texts = []
        for axis, part in enumerate(parts):
            if axis in known:
                after = rank - known[0] - wide
                more = ", ".join(["...", *["None"] * after])
                texts.append(f"{c.text(part, ATOM)}[{more}]" if after else c.text(part))
                continue
            own = axis if axis < known[0] else axis - len(known) + wide
            sizes = ", ".join("-1" if other == own else "1" for other in range(rank))
            texts.append(f"torch.arange({c.text(base, ATOM)}.shape[{axis}]{self.device(c.w)}).reshape({sizes})")
        return f"({', '.join(texts)})"

    def _maximum_at(self, c: Call) -> str:
        base, place, value = c.args
        if not isinstance(place, Node) or place.ndim != 1 or not isinstance(value, Node) or value.ndim != base.ndim:
            raise c.error(f"uses np.{c.name} with other than one list of indices")
        how = {"maximum.at": "amax", "minimum.at": "amin", "multiply.at": "prod"}[c.name]
        given = c.cast(value)
        return f'{c.text(base, ATOM)}.index_reduce(0, {self._places(c, place)}, {given}, "{how}")'

    _minimum_at = _multiply_at = _maximum_at

    def _take_along_axis(self, c: Call) -> str:
        indices = self._places(c, c["indices"])
        return f"torch.take_along_dim({c.text(c['a'])}, {indices}, dim={c.text(c.get('axis', -1))})"

    def _places(self, c: Call, item: Any) -> str:
        return c.cast(item, dtype=np.dtype("int64")) if is_array(item) else c.text(item)

    def _put_along_axis(self, c: Call) -> str:
        base, values, indices = c["a"], c["values"], c["indices"]
        place = self._places(c, indices)
        if isinstance(values, Node):
            text = c.cast(values, ATOM)
            if np.shape(values.value) != np.shape(indices.value):
                text = f"{text}.expand({place}.shape)"
        else:
            text = c.text(values)
        return f"{c.text(base, ATOM)}.scatter({c.text(c['axis'])}, {place}, {text})"

    def _take(self, c: Call) -> str:
        if "axis" not in c:
            return f"{c.text(c['a'], ATOM)}.reshape(-1)[{c.text(c['indices'])}]"
        axis = c["axis"]
        indices = c["indices"]
        if "mode" in c:
            raise c.error("takes with mode=")
        if not isinstance(axis, int):
            if isinstance(indices, Node) and indices.ndim == 1:
                return f"torch.index_select({c.text(c['a'])}, {c.text(axis)}, {self._places(c, indices)})"
            if isinstance(indices, (int, Scalar)):
                return f"{c.text(c['a'], ATOM)}.select({c.text(axis)}, {c.text(indices)})"
            raise c.error("takes along an axis that is known only at the call")
        before = ":, " * axis if axis >= 0 else "..., "
        after = ", :" * (-axis - 1) if axis < 0 else ""
        return f"{c.text(c['a'], ATOM)}[{before}{c.text(c['indices'])}{after}]"


def _value_of(item: Any) -> Any:
    return item.value if isinstance(item, (Node, Scalar)) else item


def _is_backwards(part: Any) -> bool:
    return isinstance(part, slice) and isinstance(part.step, int) and part.step < 0


def _whole(part: Any) -> Any:
    return slice(None) if isinstance(part, slice) else part


def _forwards(part: Any, c: Call) -> Any:
    """Return the slice that holds what a step backwards runs through, in the other direction."""
    if not _is_backwards(part):
        return part
    start, stop = part.start, part.stop
    if any(item is not None and (not isinstance(item, int) or item < 0) for item in (start, stop)):
        raise c.error("steps backwards between places that are known only at the call")
    return slice(None if stop is None else stop + 1, None if start is None else start + 1)


def _turned(parts: list[Any], c: Call, rank: int = 0) -> tuple[int, ...]:
    """Return the axes that are run through backwards, counted from the end after an ellipsis or given a rank."""
    if not all(isinstance(part, slice) or part is Ellipsis for part in parts):
        raise c.error("steps backwards and indexes in one place")
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    axes = {index: index - rank for index in range(at)} | {
        index: index - len(parts) for index in range(at + 1, len(parts))
    }
    return tuple(axes[index] for index, part in enumerate(parts) if _is_backwards(part))


def _is_own(node: Node, text: str) -> bool:
    """Return whether a value shares its memory with no other."""
    return node.function not in _SHARED and not (node.function in ("full", "full_like") and "expand" in text)


def _is_read_before(c: Call) -> bool:
    """Return whether all that reads the array that a node writes to is computed before the write."""
    w, node, base = c.w, c.node, c.args[0]
    if id(base) in w.leaving or id(node) in w.collected:
        return False
    before: set[int] = set()
    stack = walk((node.args[1:], node.kwargs))
    while stack:
        item = stack.pop()
        if id(item) not in before:
            before.add(id(item))
            stack += reads(item)
    if base.function == "carried" and any(user.function in _SHARED for user in w.users.get(id(node), [])):
        return False
    for user in w.users.get(id(base), []):
        if user is node:
            continue
        later = [other for other in w.users.get(id(user), []) if id(other) not in before and other is not node]
        if id(user) not in before or (user.function in _SHARED and (later or id(user) in w.leaving)):
            return False
    return True


def _holds_node(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_node(item) for item in value)
    return isinstance(value, Node)
