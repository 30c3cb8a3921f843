"""numpy's operations in torch's words.

Only expressions stand here; the file around them is ``torch_file``'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.text.arguments import arguments
from opkit.export.text.dialect import in_dtype, is_array
from opkit.export.text.torch_shapes import REDUCTIONS, ROWS, TorchShapes
from opkit.export.text.torch_values import BINARY, UNARY
from opkit.export.text.writer import ATOM, Writer
from opkit.export.trace.graph import Node, Scalar, UntraceableError, reads, walk

#: Results that share memory with no other array, so that they can be written to.
_SHARED = {"input", "getitem", "reshape", "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "broadcast_to"}
_SHARED |= {"constant", "item", "diagonal", "ravel", "astype", "split"}
_IN_PLACE = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow"}


class TorchDialect(TorchShapes):
    """torch's way."""

    title, rows = "torch", ROWS

    def operation(self, writer: Writer, node: Node) -> tuple[str, int]:
        """Return the expression of a node."""
        name = node.function
        if isinstance(node.value, (np.ndarray, np.generic)):
            self.dtype(node.dtype)  # refuses a dtype that torch lacks
        if id(node) in writer.reused:
            return self._in_place(writer, node, writer.reused[id(node)])
        if name in UNARY:
            return self._unary(writer, node), ATOM
        if name in BINARY:
            return self._binary(writer, node)
        if name in REDUCTIONS:
            return self._reduction(writer, node, REDUCTIONS[name]), ATOM
        return super().operation(writer, node)

    def _in_place(self, w: Writer, node: Node, base: Node) -> tuple[str, int]:
        """Write into an operand that nothing reads any more."""
        words = _IN_PLACE.get(node.function) or UNARY[node.function]
        others = ", ".join(w.text(item) for item in node.args if item is not base)
        return f"{w.text(base, ATOM)}.{words}_({others})", ATOM

    def _full(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if not isinstance(found["fill"], Node):
            return self._zeros(w, node) if "shape" in found else self._zeros_like(w, node)
        shape = w.text(found["shape"]) if "shape" in found else f"{w.text(found['a'], ATOM)}.shape"
        return f"{in_dtype(w, found['fill'], node.dtype, ATOM)}.expand({shape})"

    _full_like = _full

    def _array(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        value = found["a"]
        if isinstance(value, Node) and isinstance(value.value, list):
            return f"torch.stack({self._joined_list(w, node, value)})"
        if isinstance(value, list) and value and all(isinstance(item, Node) for item in value):
            return f"torch.stack([{', '.join(in_dtype(w, item, node.dtype) for item in value)}])"
        if isinstance(value, Node):
            return f"{w.text(value, ATOM)}.clone()"
        if isinstance(value, Scalar) and value.kind == "shape":
            value = Scalar("call", ("list", value), value.value)
        if _holds_node(value):
            raise UntraceableError("makes an array of nested lists of values", node.line)
        return f"torch.tensor({w.text(value)}, dtype={self.dtype(node.dtype)}{self.device(w)})"

    _asarray = _array

    # --- items

    def _part(self, w: Writer, part: Any, node: Node) -> str:
        if isinstance(part, slice) and isinstance(part.step, Scalar) and part.step.value < 0:
            raise UntraceableError("steps backwards by a number that is known only at the call", node.line)
        return super()._part(w, part, node)

    def _getitem(self, w: Writer, node: Node) -> str:
        value, place = node.args
        parts = list(place) if isinstance(place, tuple) else [place]
        if any(_is_backwards(part) for part in parts):
            return self._reversed(w, node, parts)
        return f"{w.text(value, ATOM)}[{self._index(w, place, node)}]"

    def _reversed(self, w: Writer, node: Node, parts: list[Any]) -> str:
        """Write steps backwards: the part forwards, turned over, then every so many."""
        dims = _turned(parts, node)
        first = tuple(_forwards(part, node) for part in parts)
        steps = tuple(slice(None, None, -part.step) if _is_backwards(part) else _whole(part) for part in parts)
        text = w.text(node.args[0])
        if not all(part is Ellipsis or part == slice(None) for part in first):
            text = f"{w.text(node.args[0], ATOM)}[{self._index(w, first, node)}]"
        text = f"torch.flip({text}, {dims})"
        if all(_is_backwards(part) is False or part.step == -1 for part in parts):
            return text
        return f"{text}[{self._index(w, steps, node)}]"

    def own(self, writer: Writer, node: Node) -> str:
        """Return a value as a variable that may be written to: a copy where others hold it too."""
        text = writer.text(node)
        is_alone = len(writer.users.get(id(node), [])) == 1 and id(node) not in writer.leaving
        return text if is_alone and _is_own(node, text) else f"{writer.text(node, ATOM)}.clone()"

    def _owned(self, w: Writer, node: Node) -> str:
        """Return a variable that holds a copy of the first argument, to be written to."""
        base = node.args[0]
        text = w.text(base)
        may_write = _is_own(base, text) and _is_read_before(w, node)
        if may_write and text.isidentifier():
            return text
        name = w.fresh(node.name or base.name or "out")
        w.lines.append(f"{name} = {text}" if may_write else f"{name} = {w.text(base, ATOM)}.clone()")
        return name

    def _setitem(self, w: Writer, node: Node) -> str:
        _, place, value = node.args
        name = self._owned(w, node)
        given = w.text(value)
        if isinstance(value, Node) and value.dtype != node.dtype:
            given = f"{w.text(value, ATOM)}.to({name}.dtype)"
        parts = list(place) if isinstance(place, tuple) else [place]
        if any(_is_backwards(part) for part in parts):
            if any(_is_backwards(part) and part != slice(None, None, -1) for part in parts):
                raise UntraceableError("writes backwards to a part of an array", node.line)
            dims = tuple(axis for axis in _turned(parts, node, node.ndim) if -axis <= np.ndim(_value_of(value)))
            given = f"torch.flip({given}, {dims})" if dims else given
            place = tuple(slice(None) if _is_backwards(part) else part for part in parts)
        w.lines.append(f"{name}[{self._index(w, place, node)}] = {given}")
        return name

    def _add_at(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        places = self._all_places(w, base, place, node)
        sign = "-" if node.function == "subtract.at" else ""
        given = w.text(value, 8 if sign else 0)
        if not isinstance(value, Node):
            given = f"torch.tensor({given}, dtype={w.text(base, ATOM)}.dtype{self.device(w)})"
        elif value.dtype != node.dtype:
            given = f"{w.text(value, ATOM)}.to({w.text(base, ATOM)}.dtype)"
        return f"{w.text(base, ATOM)}.index_put({places}, {sign}{given}, accumulate=True)"

    _subtract_at = _add_at

    def _all_places(self, w: Writer, base: Node, place: Any, node: Node) -> str:
        """Return one array of indices per axis; a whole axis is written as all its places."""
        parts = list(place) if isinstance(place, tuple) else [place]
        if all(is_array(part) for part in parts):
            return w.text(tuple(parts))
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            parts[at : at + 1] = [slice(None)] * (base.ndim - len(parts) + 1)
        parts += [slice(None)] * (base.ndim - len(parts))
        known = [index for index, part in enumerate(parts) if is_array(part)]
        is_dense = bool(known) and known == list(range(known[0], known[-1] + 1))
        if not is_dense or any(part != slice(None) for index, part in enumerate(parts) if index not in known):
            raise UntraceableError(f"uses np.{node.function} with such a mixture of slices and indices", node.line)
        wide = max(np.ndim(_value_of(parts[index])) for index in known)
        rank = base.ndim - len(known) + wide
        texts = []
        for axis, part in enumerate(parts):
            if axis in known:
                after = rank - known[0] - wide
                more = ", ".join(["...", *["None"] * after])
                texts.append(f"{w.text(part, ATOM)}[{more}]" if after else w.text(part))
                continue
            own = axis if axis < known[0] else axis - len(known) + wide
            sizes = ", ".join("-1" if other == own else "1" for other in range(rank))
            texts.append(f"torch.arange({w.text(base, ATOM)}.shape[{axis}]{self.device(w)}).reshape({sizes})")
        return f"({', '.join(texts)})"

    def _maximum_at(self, w: Writer, node: Node) -> str:
        base, place, value = node.args
        if not isinstance(place, Node) or place.ndim != 1 or not isinstance(value, Node) or value.ndim != base.ndim:
            raise UntraceableError(f"uses np.{node.function} with other than one list of indices", node.line)
        how = {"maximum.at": "amax", "minimum.at": "amin", "multiply.at": "prod"}[node.function]
        given = in_dtype(w, value, node.dtype)
        return f'{w.text(base, ATOM)}.index_reduce(0, {self._places(w, place)}, {given}, "{how}")'

    _minimum_at = _multiply_at = _maximum_at

    def _take_along_axis(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        indices = self._places(w, found["indices"])
        return f"torch.take_along_dim({w.text(found['a'])}, {indices}, dim={w.text(found.get('axis', -1))})"

    def _places(self, w: Writer, item: Any) -> str:
        return in_dtype(w, item, np.dtype("int64")) if is_array(item) else w.text(item)

    def _put_along_axis(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        base, values, indices = found["a"], found["values"], found["indices"]
        place = self._places(w, indices)
        if isinstance(values, Node):
            text = in_dtype(w, values, node.dtype, ATOM)
            if np.shape(values.value) != np.shape(indices.value):
                text = f"{text}.expand({place}.shape)"
        else:
            text = w.text(values)
        return f"{w.text(base, ATOM)}.scatter({w.text(found['axis'])}, {place}, {text})"

    def _take(self, w: Writer, node: Node) -> str:
        found = arguments(node)
        if "axis" not in found:
            return f"{w.text(found['a'], ATOM)}.reshape(-1)[{w.text(found['indices'])}]"
        axis = found["axis"]
        indices = found["indices"]
        if "mode" in found:
            raise UntraceableError("takes with mode=", node.line)
        if not isinstance(axis, int):
            if isinstance(indices, Node) and indices.ndim == 1:
                return f"torch.index_select({w.text(found['a'])}, {w.text(axis)}, {self._places(w, indices)})"
            if isinstance(indices, (int, Scalar)):
                return f"{w.text(found['a'], ATOM)}.select({w.text(axis)}, {w.text(indices)})"
            raise UntraceableError("takes along an axis that is known only at the call", node.line)
        before = ":, " * axis if axis >= 0 else "..., "
        after = ", :" * (-axis - 1) if axis < 0 else ""
        return f"{w.text(found['a'], ATOM)}[{before}{w.text(found['indices'])}{after}]"


def _value_of(item: Any) -> Any:
    return item.value if isinstance(item, (Node, Scalar)) else item


def _is_backwards(part: Any) -> bool:
    return isinstance(part, slice) and isinstance(part.step, int) and part.step < 0


def _whole(part: Any) -> Any:
    return slice(None) if isinstance(part, slice) else part


def _forwards(part: Any, node: Node) -> Any:
    """Return the slice that holds what a step backwards runs through, in the other direction."""
    if not _is_backwards(part):
        return part
    start, stop = part.start, part.stop
    if any(item is not None and (not isinstance(item, int) or item < 0) for item in (start, stop)):
        raise UntraceableError("steps backwards between places that are known only at the call", node.line)
    return slice(None if stop is None else stop + 1, None if start is None else start + 1)


def _turned(parts: list[Any], node: Node, rank: int = 0) -> tuple[int, ...]:
    """Return the axes that are run through backwards, counted from the end after an ellipsis or given a rank."""
    if not all(isinstance(part, slice) or part is Ellipsis for part in parts):
        raise UntraceableError("steps backwards and indexes in one place", node.line)
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    axes = {index: index - rank for index in range(at)} | {
        index: index - len(parts) for index in range(at + 1, len(parts))
    }
    return tuple(axes[index] for index, part in enumerate(parts) if _is_backwards(part))


def _is_own(node: Node, text: str) -> bool:
    """Return whether a value shares its memory with no other."""
    return node.function not in _SHARED and not (node.function in ("full", "full_like") and "expand" in text)


def _is_read_before(w: Writer, node: Node) -> bool:
    """Return whether all that reads the array that a node writes to is computed before the write."""
    base = node.args[0]
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
