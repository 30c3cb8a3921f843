"""Case: one set of inputs and attributes on which an op is checked.

Cases come from the user or from search; nothing is generated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from opkit.checker.model.thresholds import EXTREME, MOST_BITS, SOME
from opkit.checker.model.types import Attrs
from opkit.ir import Shape
from opkit.record import entity

_Item = TypeVar("_Item")

#: The label of a case that an earlier run failed on; whether the op still takes it is open.
FORMER = "a former failure"


def first_of_each(items: Iterable[_Item], kind: Callable[[_Item], object]) -> tuple[list[_Item], list[_Item]]:
    """Return the first item of each kind, and the others."""
    first: dict[object, _Item] = {}
    others = [item for item in items if first.setdefault(kind(item), item) is not item]
    return [*first.values()], others


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold; NaN and infinity become the strings "nan", "inf", "-inf"."""
    if isinstance(value, ndarray):
        return [plain(item) for item in value.tolist()] if value.ndim else plain(value.item())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        if value != value:
            return "nan"
        if value in (float("inf"), float("-inf")):
            return "inf" if value > 0 else "-inf"
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value)


@entity
class Case:
    """Inputs and attributes of one check.

    Args:
        inputs: {input name: array | list of arrays | None}.
        attrs: complete attributes.
        regime: what is special about the values: "normal", "large", "ties", "user", "called" (a call is shown)
        seed: reproduces the values.
        origin: "search", "user" (drawn by a cases function), "recorded" (by a run) or "given" (to a Python call).
        label: "case 3 of the cases file", for messages.
        precision: the float dtype in which the values were seen, where they are checked in a wider one: gradients need
            be right to its resolution only. "" where the arrays' own dtype counts.
    """

    inputs: Mapping[str, Any]
    attrs: Attrs = field(default_factory=dict)
    regime: str = "normal"
    seed: int = 0
    origin: str = "search"
    label: str = ""
    precision: str = ""

    @property
    def arrays(self) -> list[ndarray]:
        """All arrays among the inputs, in order."""
        found: list[ndarray] = []
        for value in self.inputs.values():
            if isinstance(value, ndarray):
                found.append(value)
            elif isinstance(value, (list, tuple)):
                found += value
        return found

    @property
    def floats(self) -> list[ndarray]:
        """Those of a float dtype."""
        return [array for array in self.arrays if array.dtype.kind == "f"]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of all arrays."""
        return tuple([array.shape for array in self.arrays])

    @property
    def ranks(self) -> tuple[int, ...]:
        """How many axes each array has."""
        return tuple([array.ndim for array in self.arrays])

    @property
    def sizes(self) -> list[int]:
        """How many elements each array has."""
        return [array.size for array in self.arrays]

    @property
    def lengths(self) -> list[int]:
        """The different lengths of axes, the least first."""
        return sorted({*chain(*self.shapes)})

    @property
    def is_empty(self) -> bool:
        """Whether one of the arrays has no elements."""
        return any(array.size == 0 for array in self.arrays)

    @property
    def is_scalar(self) -> bool:
        """Whether all arrays are 0-d."""
        return not any(self.ranks)

    @property
    def is_extreme(self) -> bool:
        """Whether rounding alone may make results worthless."""
        return self.regime.split()[0] in EXTREME

    def to_json(self, formats: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return {"x": {"shape", "dtype", "regime", "seed"}, attribute: value} (arrays only by description).

        A few whole numbers, or truth values, are told besides, as "values": labels, lengths, masks.

        Args:
            formats: {input: its dtype}, where that is not its arrays'.
        """
        described = {name: self._describe(value, (formats or {}).get(name)) for name, value in self.inputs.items()}
        return described | {name: plain(value) for name, value in self.attrs.items()}

    def _describe(self, value: Any, dtype: str | None) -> Any:
        if isinstance(value, ndarray):
            is_told = value.dtype.kind in "biu" and 0 < value.size <= SOME
            return {
                "shape": list(value.shape),
                "dtype": dtype or value.dtype.name,
                "regime": self.regime,
                "seed": self.seed,
                **({"values": value.tolist()} if is_told else {}),
            }
        if isinstance(value, (list, tuple)):
            return [self._describe(item, dtype) for item in value]
        return None
