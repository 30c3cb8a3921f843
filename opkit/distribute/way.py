"""Way: how one built-in or user op may run over several devices: how its inputs must lie, how its results then lie.

Positions stand for arguments, as in an Operation. Which way is best is ``choice``'s to say.

Lay: where a value is and how: a group of devices, and what each of them has of it.

Arrays are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from opkit.ir import Shape
from opkit.record import record
from opkit.sharding import BROADCAST, Device, DeviceGroup, Sbp, balanced


@record
class Facts:
    """What a rule knows of an applied op.

    Args:
        inputs: shapes of the inputs, None for one left out.
        results: shapes of the results.
        dtypes: of the inputs, None for one left out.
        attrs: its attributes.
        count: of devices.
    """

    inputs: tuple[Shape | None, ...]
    results: tuple[Shape, ...]
    dtypes: tuple[np.dtype | None, ...]
    attrs: Mapping[str, Any]
    count: int

    def given(self, index: int) -> Shape:
        """Return the shape of an input that is not optional."""
        shape = self.inputs[index]
        assert shape is not None
        return shape

    @property
    def rank(self) -> int:
        """Number of axes of the first input."""
        return len(self.given(0))

    def all_inputs(self, sbp: Sbp) -> tuple[Sbp | None, ...]:
        """Return one entry for every input that is there."""
        return tuple(None if shape is None else sbp for shape in self.inputs)

    def alike(self, sbp: Sbp) -> Way:
        """Return the way in which every input and every result lies alike."""
        return Way(self.all_inputs(sbp), (sbp,) * len(self.results))


@record
class Way:
    """How an op may run over devices.

    Args:
        inputs: how each input lies, None for one left out.
        results: how each result then lies.
        shape_attr: the attribute that holds the shape of the first result, which is another one on each device.
    """

    inputs: tuple[Sbp | None, ...]
    results: tuple[Sbp, ...]
    shape_attr: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the devices share the work."""
        return any(sbp is not None and sbp.is_split for sbp in (*self.inputs, *self.results))

    def fits(self, facts: Facts) -> bool:
        """Return whether every axis that is split is there, and at least as long as there are devices."""
        pairs = (*zip(self.inputs, facts.inputs), *zip(self.results, facts.results))
        return all(
            sbp is None
            or shape is None
            or not sbp.is_split
            or (sbp.axis < len(shape) and shape[sbp.axis] >= facts.count)
            for sbp, shape in pairs
        )

    def __str__(self) -> str:
        inputs, results = _listed(self.inputs), _listed(self.results)
        return f"{inputs} -> {results}"


#: The ways in which a rule finds that an op may run.
Ways: TypeAlias = Iterator[Way]


def _listed(parts: Sequence[Sbp | None]) -> str:
    return ", ".join(str(sbp) for sbp in parts if sbp is not None) or "()"


def replicated(facts: Facts) -> Way:
    """Return the way in which every device does all the work."""
    return facts.alike(BROADCAST)


#: The process that the script runs in: what is fed comes from there, results go there, effects happen there.
HOST = DeviceGroup("host", (Device(-1, 0),))
#: Each device has an array of its own (the mirrored view): nothing can be put together from them.
MIRRORED = Sbp("M")


@record
class Lay:
    """Where a value is and how it lies there.

    Args:
        devices: that have it, or a part of it.
        sbp: what each has of it.
    """

    devices: DeviceGroup
    sbp: Sbp

    def __str__(self) -> str:
        return f"{self.sbp} on {self.devices}"


WHOLE_ON_HOST = Lay(HOST, BROADCAST)


def local_shape(shape: Sequence[int], sbp: Sbp, count: int, place: int) -> Shape:
    """Return the shape that one device's part has.

    Args:
        shape: of the whole.
        sbp: how it lies.
        count: of devices.
        place: of the device among them.
    """
    sizes = list(shape)
    if sbp.is_split:
        sizes[sbp.axis] = len(balanced(shape[sbp.axis], count)[place])
    return tuple(sizes)
