"""Signature: an op as a C++ kernel sees it before it runs, and its text for the entry points of a library.

Values are plain Python values; arrays are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from opkit.errors import DtypeError
from opkit.record import record

#: OneFlow's numbers of the dtypes that a tensor of a kernel may have; a bool is one byte, as OneFlow has it.
NUMBERS = {
    "char": 1,
    "float32": 2,
    "float64": 3,
    "int8": 4,
    "bool": 4,
    "int32": 5,
    "int64": 6,
    "uint8": 7,
    "of_record": 8,
    "float16": 9,
    "tensor_buffer": 10,
}


@record
class Tensor:
    """One tensor of an op.

    Args:
        name: of its argument.
        index: within the argument.
        shape: its sizes.
        dtype: by opkit's name.
    """

    name: str
    index: int
    shape: tuple[int, ...]
    dtype: str


@record
class Signature:
    """An op with its tensors and attributes.

    Args:
        op: the op type.
        inputs, outputs: the tensors that are there, in declared order.
        declared: the names of all arguments, also of those that were left out.
        attrs: {name: (type, value)}; the types are those of op definitions.
        sub_tag: the op's device_sub_tag, "" without one.
        name: of the op, for messages of the kernel.
    """

    op: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    declared: tuple[str, ...]
    attrs: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    sub_tag: str = ""
    name: str = ""

    def encoded(self) -> bytes:
        """Return the text that a library's ``opkit_prepare`` reads.

        Raises:
            DtypeError: a tensor has a dtype that the kernel language lacks.
        """
        return b"".join(_field(item) for item in self._fields())

    def _fields(self) -> Iterator[object]:
        yield from (self.op, self.name or self.op, "cpu", self.sub_tag)
        yield from (len(self.declared), *self.declared)
        for tensors in (self.inputs, self.outputs):
            yield len(tensors)
            for tensor in tensors:
                yield from (tensor.name, tensor.index, _number(tensor.dtype, tensor.name, self.op))
                yield from (len(tensor.shape), *tensor.shape)
        yield len(self.attrs)
        for name, (kind, value) in self.attrs.items():
            yield from (name, kind, *_plain(kind, value))


def _number(dtype: str, name: str, op: str) -> int:
    if dtype not in NUMBERS:
        known = ", ".join(sorted(NUMBERS))
        raise DtypeError(f"{name!r} of op {op!r} is {dtype}, which C++ kernels do not have (they have {known})")
    return NUMBERS[dtype]


def _plain(kind: str, value: Any) -> Sequence[object]:
    if kind.startswith("list_"):
        return (len(value), *(item for part in value for item in _plain(kind[5:], part)))
    if kind == "shape":
        return (len(value), *value)
    if kind == "data_type":
        return (NUMBERS.get(str(value), 0),)
    return (repr(float(value)) if kind in ("float", "double") else int(value) if kind == "bool" else value,)


def _field(item: object) -> bytes:
    data = str(item).encode("utf-8", "surrogateescape")
    return b"%d:%s" % (len(data), data)


def fields_of(data: bytes) -> list[str]:
    """Return the fields of a text that a library gave."""
    found: list[str] = []
    at = 0
    while at < len(data):
        colon = data.index(b":", at)
        end = colon + 1 + int(data[at:colon])
        found.append(data[colon + 1 : end].decode("utf-8", "surrogateescape"))
        at = end
    return found
