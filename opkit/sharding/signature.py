"""Signature: how all arguments of an op lie on the devices of a group.

Whether it holds is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opkit.record import record
from opkit.sharding.sbp import Sbp

#: An argument of an op and an index among its tensors.
Arg = tuple[str, int]


@record
class Signature:
    """How the inputs of an op are cut, and how its outputs then lie.

    Args:
        inputs, outputs: in the order of the op's arguments; optional ones that are left out have no entry.
    """

    inputs: tuple[tuple[Arg, Sbp], ...]
    outputs: tuple[tuple[Arg, Sbp], ...]

    @staticmethod
    def of(parts: Mapping[Arg, Sbp], inputs: Sequence[Arg], outputs: Sequence[Arg]) -> Signature:
        """Return the signature that gives each argument its part.

        Raises:
            KeyError: an argument has none.
        """
        return Signature(tuple((arg, parts[arg]) for arg in inputs), tuple((arg, parts[arg]) for arg in outputs))

    @property
    def parts(self) -> dict[Arg, Sbp]:
        """The part of each argument."""
        return dict((*self.inputs, *self.outputs))

    @property
    def is_whole(self) -> bool:
        """Whether nothing is cut: every device does all the work."""
        return all(sbp.kind == "B" for _, sbp in (*self.inputs, *self.outputs))

    def __str__(self) -> str:
        return f"{_listed(self.inputs)} -> {_listed(self.outputs)}"


def _listed(parts: Sequence[tuple[Arg, Sbp]]) -> str:
    return ", ".join(str(sbp) for _, sbp in parts) or "()"
