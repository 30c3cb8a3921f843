"""Way: how one built-in or user op may run over several devices: how its inputs must lie, how its results then lie.

Positions stand for arguments, as in an Operation. Which way is best is ``choice``'s to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from opkit.ir import Shape
from opkit.record import record
from opkit.sharding import BROADCAST, Sbp


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
