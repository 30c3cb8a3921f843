"""Values: OneFlow's Shape and TensorDesc, and the objects of structs, for generated code.

Contexts and builders are in ``contexts``.

Blob: the name of a value in a gradient graph, a text with its parts.

Which op computes a blob, and what it holds, stands in the graph and not here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from opkit.spec.runtime.arithmetic import METER, to_i64
from opkit.spec.runtime.containers import MOST_AXES, copy_of
from opkit.spec.runtime.faults import FatalError

__all__ = [
    "Desc",
    "Record",
    "Shape",
    "shape_of",
]


class Record:
    """An object of a struct that the definition file defines; its fields are its attributes."""

    def set(self, **fields: Any) -> Record:
        """Set fields and return itself."""
        self.__dict__.update(fields)
        return self

    def assign(self, other: Record) -> None:
        """Become a copy of another."""
        METER.tick()
        self.__dict__.update({name: copy_of(value) for name, value in other.__dict__.items()})

    def copy(self) -> Record:
        """Return a copy, with copies of what its fields hold."""
        made = Record()
        made.assign(self)
        return made


@dataclass(slots=True, unsafe_hash=True)
class Shape:
    """OneFlow's Shape: its sizes are a tuple, so that copying one is copying a reference."""

    dims: tuple[int, ...] = ()

    def copy(self) -> Shape:
        """Return a copy."""
        return Shape(self.dims)

    def at(self, index: int) -> int:
        """Return one size, or raise a fault where the axis is out of range."""
        dims = self.dims
        if 0 <= index < len(dims):
            return dims[index]
        raise FatalError(f"axis {index} is out of range for shape {self}")

    def set(self, index: int, size: int) -> None:
        """Change one size."""
        dims = self.dims
        if not 0 <= index < len(dims):
            raise FatalError(f"axis {index} is out of range for shape {self}")
        self.dims = (*dims[:index], size, *dims[index + 1 :])

    def count(self, begin: int, end: int | None = None) -> int:
        """Return the product of sizes from one axis up to another."""
        end = len(self.dims) if end is None else end
        if not 0 <= begin <= end <= len(self.dims):
            raise FatalError(f"axes {begin} to {end} are out of range for shape {self}")
        return to_i64(math.prod(self.dims[begin:end]))

    def elements(self) -> int:
        """Return the number of elements; an empty Shape has 0, as in OneFlow."""
        return to_i64(math.prod(self.dims)) if self.dims else 0

    def __str__(self) -> str:
        return "(" + ",".join(map(str, self.dims)) + ("," if len(self.dims) == 1 else "") + ")"


def shape_of(dims: Sequence[int]) -> Shape:
    """Make a Shape of sizes."""
    if len(dims) > MOST_AXES:
        raise FatalError(f"a Shape holds at most {MOST_AXES} axes, not {len(dims)}")
    return Shape(tuple(dims))


@dataclass(slots=True, unsafe_hash=True)
class Desc:
    """A TensorDesc that infer functions read and write."""

    shape: Shape
    dtype: str
    is_dynamic: bool

    def assign(self, other: Desc) -> None:
        """Become a copy of another."""
        self.shape.dims = other.shape.dims
        self.dtype = other.dtype
        self.is_dynamic = other.is_dynamic

    def copy(self) -> Desc:
        """Return a copy."""
        return Desc(Shape(self.shape.dims), self.dtype, self.is_dynamic)

    def __str__(self) -> str:
        return f"{self.dtype}{self.shape}"


#: Forward's input, its output, the incoming gradient of an output, an output of a backward op, and a name that the
#: definition's own code puts together and that nothing in the graph has.
BlobKind = Literal["in", "out", "dout", "made", "foreign"]


class Blob(str):
    """The name of a value in a gradient graph: "in:x_0", "out:y_0", "dout:y_0" or "<op name>/dx_0".

    The definition language has strings here, and so do scripts that read a gradient graph; code that must know what a
    blob is reads its parts, never its text.

    Args:
        kind: what the blob is.
        arg: the argument of forward, or of the backward op.
        place: its index among the argument's blobs.
        op: name of the backward op, "" where forward has the blob.

    Example:
        >>> blob = Blob("made", "dx", 0, "fw_grad")
        >>> blob == "fw_grad/dx_0", blob.kind, blob.arg, blob.place
        (True, 'made', 'dx', 0)
    """

    __slots__ = ("arg", "kind", "op", "place")

    kind: BlobKind
    arg: str
    op: str
    place: int

    def __new__(cls, kind: BlobKind, arg: str, place: int, op: str = "") -> Blob:
        """Make a blob, and its text of its parts."""
        if kind == "foreign":
            text = arg
        else:
            text = f"{op}/{arg}_{place}" if kind == "made" else f"{kind}:{arg}_{place}"
        blob = super().__new__(cls, text)
        blob.kind = kind
        blob.arg = arg
        blob.place = place
        blob.op = op
        return blob

    def __getnewargs__(self) -> tuple[BlobKind, str, int, str]:  # type: ignore[override]
        return self.kind, self.arg, self.place, self.op


@lru_cache(maxsize=4096)
def forward_blob(kind: Literal["in", "out", "dout"], arg: str, place: int) -> Blob:
    """Return the blob of an argument of forward; the same few are asked for again and again."""
    return Blob(kind, arg, place)
