"""Contexts: what OneFlow hands to the functions of a spec, with one device and no framework behind it.

Generated code calls these methods; which C++ name reaches which stands in ``library``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opkit.spec.runtime.containers import FieldPointer, field_pointer
from opkit.spec.runtime.faults import FatalError
from opkit.spec.runtime.objects import Desc, Shape

__all__ = [
    "Conf",
    "DistributionContext",
    "InferContext",
    "Modifier",
    "ParallelContext",
    "Sbp",
    "SbpBuilder",
    "SbpContext",
    "SbpInferContext",
    "TimeShapeContext",
]

Arg = tuple[str, int]


class Conf:
    """A UserOpConfWrapper: what an op of the graph was built with.

    Args:
        op_name, op_type: its names.
        inputs, outputs: argument name to blob names.
        attrs: ``"name:type"`` to the value in the form that generated code uses.
    """

    __slots__ = ("attrs", "inputs", "op_name", "op_type", "outputs")

    def __init__(
        self,
        op_name: str,
        op_type: str,
        inputs: Mapping[str, Sequence[str]],
        outputs: Mapping[str, Sequence[str]],
        attrs: Mapping[str, Any],
    ) -> None:
        self.op_name = op_name
        self.op_type = op_type
        self.inputs = inputs
        self.outputs = outputs
        self.attrs = attrs

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
        """Say whether an input is there."""
        return len(self.inputs.get(name, ())) > index

    def has_output(self, name: str, index: int) -> bool:
        """Say whether an output is there."""
        return len(self.outputs.get(name, ())) > index

    def input_size(self, name: str) -> int:
        """Return how many blobs an input has."""
        return len(self.inputs.get(name, ()))

    def output_size(self, name: str) -> int:
        """Return how many blobs an output has."""
        return len(self.outputs.get(name, ()))


class Sbp:
    """A SbpParallel: ``kind`` is "" (unset), "S", "B" or "P"."""

    __slots__ = ("axis", "kind")

    def __init__(self, kind: str = "", axis: int = 0) -> None:
        self.kind = kind
        self.axis = axis

    def become(self, kind: str) -> Sbp:
        """Set the kind, as the ``mutable_`` accessors do, and return itself."""
        if self.kind != kind:
            self.kind, self.axis = kind, 0
        return self

    def assign(self, other: Sbp) -> None:
        """Become a copy of another."""
        self.kind, self.axis = other.kind, other.axis

    def copy(self) -> Sbp:
        """Return a copy."""
        return Sbp(self.kind, self.axis)

    def set_axis(self, axis: int) -> None:
        """Set the axis that is split."""
        self.axis = axis

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sbp) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.kind, self.axis))

    def __str__(self) -> str:
        return f"S({self.axis})" if self.kind == "S" else self.kind


class Distribution:
    """A ParallelDistribution: one Sbp for each axis of the device hierarchy."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Sbp] = ()) -> None:
        self.parts = [part.copy() for part in parts]

    def at(self, index: int) -> Sbp:
        """Return the Sbp of one axis."""
        if 0 <= index < len(self.parts):
            return self.parts[index]
        raise FatalError(f"the distribution has {len(self.parts)} parts, none at {index}")

    def add(self) -> Sbp:
        """Append an unset Sbp and return it."""
        self.parts.append(Sbp())
        return self.parts[-1]

    def clear(self) -> None:
        """Remove all parts."""
        self.parts.clear()

    def assign(self, other: Distribution) -> None:
        """Become a copy of another."""
        self.parts = [part.copy() for part in other.parts]

    def copy(self) -> Distribution:
        """Return a copy."""
        return Distribution(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]


class ParallelContext:
    """One of ``num`` devices; also the ParallelDesc, whose hierarchy is flat."""

    __slots__ = ("hierarchy", "id", "num")

    def __init__(self, num: int = 1, id: int = 0) -> None:
        self.num = num
        self.id = id
        self.hierarchy = Shape((num,))


class InferContext:
    """What infer functions see: descriptions by (name, index), attributes, the op's arguments.

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


class SbpBuilder:
    """A UserOpSbpSignatureBuilder: collects one signature, ``build`` adds a copy to the list."""

    __slots__ = ("into", "parts")

    def __init__(self, into: list[dict[Arg, str]]) -> None:
        self.into = into
        self.parts: dict[Arg, str] = {}

    def split(self, arg: Arg, axis: int) -> SbpBuilder:
        """Split one argument at an axis."""
        self.parts[arg] = f"S({axis})"
        return self

    def split_all(self, args: Sequence[Arg], axis: int) -> SbpBuilder:
        """Split several arguments at an axis."""
        for arg in args:
            self.parts[arg] = f"S({axis})"
        return self

    def broadcast(self, arg: Arg) -> SbpBuilder:
        """Broadcast one argument."""
        self.parts[arg] = "B"
        return self

    def broadcast_all(self, args: Sequence[Arg]) -> SbpBuilder:
        """Broadcast several arguments."""
        for arg in args:
            self.parts[arg] = "B"
        return self

    def partial(self, arg: Arg) -> SbpBuilder:
        """Make one argument a partial sum."""
        self.parts[arg] = "P"
        return self

    def partial_all(self, args: Sequence[Arg]) -> SbpBuilder:
        """Make several arguments partial sums."""
        for arg in args:
            self.parts[arg] = "P"
        return self

    def build(self) -> None:
        """Add the signature to the list."""
        if len(self.into) >= 10_000:
            raise FatalError("more than 10,000 sharding signatures")
        self.into.append(dict(self.parts))


class SbpContext:
    """What SBP functions see."""

    __slots__ = ("attrs", "conf", "device_type", "found", "inputs", "logical", "outputs", "parallel_num")

    def __init__(
        self,
        logical: dict[Arg, Desc],
        attrs: Mapping[str, Any],
        inputs: list[Arg],
        outputs: list[Arg],
        conf: Conf,
        parallel_num: int,
    ) -> None:
        self.logical = logical
        self.attrs = attrs
        self.inputs = inputs
        self.outputs = outputs
        self.conf = conf
        self.parallel_num = parallel_num
        self.device_type = "kCPU"
        self.found: list[dict[Arg, str]] = []

    def desc(self, name: str, index: int) -> Desc:
        """Return the description of an input."""
        found = self.logical.get((name, index))
        if found is None:
            raise FatalError(f"there is no input {name!r} with index {index}")
        return found

    def builder(self) -> SbpBuilder:
        """Return a builder that adds to the result."""
        return SbpBuilder(self.found)


class SbpInferContext(SbpContext):
    """What SbpSignatureInferFn functions see: hints in, one signature out."""

    __slots__ = ("given", "hints", "signature")

    def __init__(self, *args: Any, hints: Mapping[Arg, Sbp]) -> None:
        super().__init__(*args)
        self.hints = hints
        self.signature: dict[str, Sbp] = {}
        self.given: dict[str, Sbp] = {}

    def hint(self, name: str, index: int) -> Sbp:
        """Return how the input arrives."""
        return self.hints.get((name, index)) or Sbp("B")


class DistributionContext:
    """What ParallelDistributionInferFn functions see."""

    __slots__ = ("conf", "found", "hierarchy", "hints", "inputs", "logical", "outputs")

    def __init__(
        self,
        logical: dict[Arg, Desc],
        conf: Conf,
        hierarchy: Shape,
        hints: Mapping[Arg, Distribution],
        inputs: list[Arg],
        outputs: list[Arg],
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.logical = logical
        self.conf = conf
        self.hierarchy = hierarchy
        self.hints = hints
        self.found: dict[Arg, Distribution] = {}

    def desc(self, name: str, index: int) -> Desc:
        """Return the description of an input."""
        found = self.logical.get((name, index))
        if found is None:
            raise FatalError(f"there is no input {name!r} with index {index}")
        return found

    def hint(self, name: str, index: int) -> Distribution:
        """Return how the input arrives."""
        found = self.hints.get((name, index))
        if found is None:
            raise FatalError(f"there is no input {name!r} with index {index}")
        return found

    def distribution(self, name: str, index: int) -> Distribution:
        """Return the distribution that the function fills in."""
        return self.found.setdefault((name, index), Distribution())


class TimeShapeContext:
    """What OutputBlobTimeShapeInferFn functions see."""

    __slots__ = ("conf", "result", "shapes")

    def __init__(self, conf: Conf, shapes: Mapping[Arg, Shape]) -> None:
        self.conf = conf
        self.shapes = shapes
        self.result = Shape()

    def shape(self, name: str, index: int) -> Shape:
        """Return the time shape of an input."""
        found = self.shapes.get((name, index))
        if found is None:
            raise FatalError(missing(name, index))
        return found


class Modifier:
    """An InputArgModifier or OutputArgModifier: flags by name."""

    __slots__ = ("flags",)

    def __init__(self) -> None:
        self.flags: dict[str, bool] = {}

    def set(self, name: str, value: bool) -> None:
        """Set a flag."""
        self.flags[name] = value


def modifier_getter(found: dict[Arg, Modifier]) -> Callable[[str, int], Modifier | None]:
    """Return the function that hands out the modifiers of the arguments that exist."""
    return lambda name, index: found.get((name, index))
