"""Contexts: what OneFlow hands to infer functions and checks, with one device and without the framework.

Generated code calls these methods; ``library`` maps C++ names to them. What sharding functions get
is in ``sbp_contexts``, what gradient functions get in ``gradient_contexts``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from opkit.record import mutable, mutable_entity
from opkit.spec.runtime.containers import FieldPointer, field_pointer
from opkit.spec.runtime.faults import FatalError
from opkit.spec.runtime.objects import Desc, Shape
from opkit.spec.runtime.sbp import Arg, Distribution, Sbp

__all__ = ["Arg", "Conf", "InferContext", "missing", "modifier_getter", "Modifier", "ParallelContext"]


@mutable_entity
class Conf:
    """A UserOpConfWrapper: what an op of the graph was built with.

    Args:
        op_name, op_type: its names.
        inputs, outputs: argument name to blob names.
        attrs: ``"name:type"`` to the value in the form that generated code uses.
    """

    op_name: str
    op_type: str
    inputs: Mapping[str, Sequence[str]]
    outputs: Mapping[str, Sequence[str]]
    attrs: Mapping[str, Any]

    def input(self, name: str, index: int) -> str:
        """Return the blob at an input."""
        return self._blob(self.inputs, "input", name, index)

    def output(self, name: str, index: int) -> str:
        """Return the blob at an output."""
        return self._blob(self.outputs, "output", name, index)

    def _blob(self, blobs: Mapping[str, Sequence[str]], kind: str, name: str, index: int) -> str:
        given = blobs.get(name, ())
        if not 0 <= index < len(given):
            raise FatalError(f"op {self.op_type!r} has no {kind} {name!r} at index {index}")
        return given[index]

    def has_input(self, name: str, index: int) -> bool:
        """Return whether an input is there."""
        return len(self.inputs.get(name, ())) > index

    def has_output(self, name: str, index: int) -> bool:
        """Return whether an output is there."""
        return len(self.outputs.get(name, ())) > index

    def input_size(self, name: str) -> int:
        """Return how many blobs an input has."""
        return len(self.inputs.get(name, ()))

    def output_size(self, name: str) -> int:
        """Return how many blobs an output has."""
        return len(self.outputs.get(name, ()))


class ParallelContext:
    """One of ``num`` devices; also the ParallelDesc, whose hierarchy is flat."""

    __slots__ = ("hierarchy", "id", "num")

    def __init__(self, num: int = 1, id: int = 0) -> None:
        self.num = num
        self.id = id
        self.hierarchy = Shape((num,))


class InferContext:
    """The context of infer functions: descriptions by (name, index), attributes, the op's arguments.

    ``desc`` is the bound ``get`` of the dict of descriptions, the quickest look-up there is.
    """

    __slots__ = ("attrs", "conf", "desc", "descs", "inputs", "logical", "outputs", "parallel", "sbps")

    def __init__(
        self, descs: dict[Arg, Desc], attrs: Mapping[str, Any], inputs: list[Arg], outputs: list[Arg], conf: Conf
    ) -> None:
        self.descs = descs
        self.desc = descs.get
        self.attrs = attrs
        self.inputs = inputs
        self.outputs = outputs
        self.conf = conf
        self.parallel = ParallelContext()
        self.sbps: Mapping[Arg, Sbp] = {}
        self.logical: dict[Arg, Desc] | None = None

    def shape_pointer(self, name: str, index: int) -> Shape | None:
        """Return the Shape of an argument, null where it is missing."""
        desc = self.desc((name, index))
        return None if desc is None else desc.shape

    def field(self, name: str, index: int, field: str) -> FieldPointer | None:
        """Return a pointer to dtype or is_dynamic, null where the argument is missing."""
        return field_pointer(self.desc((name, index)), field)

    def need(self, name: str, index: int) -> Desc:
        """Return the description that a reference is taken of."""
        found = self.desc((name, index))
        if found is None:
            raise FatalError(missing(name, index))
        return found

    def logical_desc(self, name: str, index: int) -> Desc | None:
        """Return the description over all devices."""
        return (self.logical or self.descs).get((name, index))

    def sbp(self, name: str, index: int) -> Sbp:
        """Return how an argument is distributed; on one device, broadcast."""
        self.need(name, index)
        return self.sbps.get((name, index)) or Sbp("B")

    def distribution(self, name: str, index: int) -> Distribution:
        """Return the distribution over a flat hierarchy."""
        return Distribution([self.sbp(name, index)])


def missing(name: str, index: int) -> str:
    """Say that an argument is not there."""
    return f"there is no argument {name!r} with index {index}"


@mutable
class Modifier:
    """An InputArgModifier: flags by name."""

    flags: dict[str, bool] = field(default_factory=dict)

    def set(self, name: str, value: bool) -> None:
        """Set a flag."""
        self.flags[name] = value


def modifier_getter(found: dict[Arg, Modifier]) -> Callable[[str, int], Modifier | None]:
    """Return the function that hands out the modifiers of the arguments that exist."""
    return lambda name, index: found.get((name, index))
