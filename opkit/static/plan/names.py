"""Names: the names in the text of a chunk, and what they mean."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import field
from keyword import iskeyword
from sys import getrefcount
from typing import Any

import numpy as np

from opkit.ir import Shape, TensorDesc, Value
from opkit.record import mutable
from opkit.static.plan.layout import Layout
from opkit.static.plan.prune import Like
from opkit.static.plan.runs import flat, spread
from opkit.static.plan.sizes import Known

#: What the text uses as names of locals.
_LOCAL = re.compile(r"[nuvwt]\d+(_\d+)?|[shbrij]|end|part")


def _only(result: Any) -> Any:
    """Return the only result of a kernel that omits optional ones."""
    return result[0] if type(result) is tuple else result


#: What every chunk's text may use; ``run`` is the chunk itself.
_NAMESPACE: dict[str, Any] = {
    "asarray": np.asarray,
    "ndarray": np.ndarray,
    "getrefcount": getrefcount,
    "empty": np.empty,
    "errstate": np.errstate,
    "flat": flat,
    "spread": spread,
    "only": _only,
    "run": None,
}


@mutable
class Chunk:
    """One function of a plan.

    Attributes:
        lines: its text; it depends on the chunk's form alone, so that chunks of one form share their code.
        ops: line number -> position of the op.
        namespace: what the text's names mean.
        slots: slot of each local, by the local's number.
    """

    lines: list[str] = field(default_factory=list)
    ops: dict[int, int] = field(default_factory=dict)
    namespace: dict[str, Any] = field(default_factory=_NAMESPACE.copy)
    slots: list[int] = field(default_factory=list)


class Names:
    """The names in the text of one chunk.

    Args:
        chunk: the chunk that they belong to.
        start: position of its first op.
        known: descriptions of the Values.
        constants: Values that the plan holds.
        layout: where all others live.
    """

    def __init__(
        self, chunk: Chunk, start: int, known: Known, constants: Mapping[Value, np.ndarray], layout: Layout
    ) -> None:
        self.known = known
        self.constants = constants
        self.layout = layout
        self.namespace = chunk.namespace
        self._slots = chunk.slots
        self._start = start
        self._names: dict[int, str] = {}
        self._locals: dict[Value, int] = {}

    def offset(self, position: int) -> int:
        """Return a position counted from the start of the chunk."""
        return position - self._start

    def local(self, value: Value) -> str:
        """Return the name of the local that holds a Value in this chunk."""
        found = self._locals.get(value)
        if found is None:
            found = self._locals[value] = len(self._locals)
            self._slots.append(self.layout.number[value])
        return f"v{found}"

    def slot(self, value: Value) -> str:
        """Return the text of the slot in which a Value lives between chunks."""
        name = "n" + self.local(value)[1:]
        self.namespace[name] = self.layout.number[value]
        return f"s[{name}]"

    def argument(self, value: Value | None) -> str:
        """Return the name of what holds a Value."""
        if value is None:
            return "None"
        if value in self.constants:
            return self.name_of(self.constants[value], f"c_{value.variable.name}")
        return self.local(value)

    def like(self, desc: TensorDesc) -> str:
        """Return the name of what stands for a value whose shape alone is read."""
        name = f"like_{desc.dtype}_{'x'.join(map(str, desc.shape)) or '0d'}"
        if name not in self.namespace:
            self.namespace[name] = Like(desc)
        return name

    def name_of(self, item: Any, hint: str) -> str:
        """Return the name by which the text calls an object."""
        found = self._names.get(id(item))
        if found is None:
            found = base = re.sub(r"\W", "_", hint) or "f"
            if base[0].isdigit() or iskeyword(base) or _LOCAL.fullmatch(base):
                found = base = "_" + base
            count = 1
            while found in self.namespace:
                count += 1
                found = f"{base}_{count}"
            self._names[id(item)] = found
            self.namespace[found] = item
        return found

    def literal(self, value: Any, name: str) -> str:
        """Return the text of an attribute's value."""
        if isinstance(value, (bool, str, type(None))) or type(value) is int:
            return repr(value)
        if type(value) is float and math.isfinite(value):
            return repr(value)
        if type(value) is tuple and len(value) < 10 and all(type(item) in (int, bool, str) for item in value):
            return repr(value)
        return self.name_of(value, f"attr_{name}")

    def shape_name(self, shape: Shape) -> str:
        """Return the name of a shape."""
        name = "shape_" + ("x".join(map(str, shape)) or "0d")
        self.namespace[name] = shape
        return name
