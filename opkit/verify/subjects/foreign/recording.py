"""Recording: the calls of custom functions that a run made, a few of each signature, arrays copied.

Listening to calls is a framework's business; making checkables of what was heard is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from opkit.eager import Tensor
from opkit.record import mutable, record

#: How many calls are kept of each signature, and how many signatures of each function.
MOST_CALLS = 3
MOST_SIGNATURES = 16


@record
class Call:
    """One call.

    Args:
        values: arguments by name, arrays as numpy arrays.
        constants: the float inputs that took no gradient, None where nothing marks them.
        is_idle: whether no input took one.
        device: where it ran, "" for the CPU or where nothing says so.
    """

    values: Mapping[str, Any]
    constants: frozenset[str] | None = None
    is_idle: bool = False
    device: str = ""


@mutable
class Recording:
    """What a run called.

    Attributes:
        calls: of each function, by the functions themselves.
    """

    calls: dict[Any, dict[Any, list[Call]]] = field(default_factory=dict)

    def wants(self, function: Any, signature: Any) -> bool:
        """Return whether another call of this signature is to be kept."""
        known = self.calls.get(function, {})
        if signature in known:
            return len(known[signature]) < MOST_CALLS
        return len(known) < MOST_SIGNATURES

    def keep(self, function: Any, signature: Any, call: Call) -> None:
        """Keep a call."""
        self.calls.setdefault(function, {}).setdefault(signature, []).append(call)

    def groups(self, function: Any) -> list[tuple[frozenset[str] | None, bool, str, list[Mapping[str, Any]]]]:
        """Return the calls of a function by the inputs that took no gradient: (constants, is_idle, device, arguments).

        Calls of evaluation alone count only where there are no others.
        """
        every = [call for calls in self.calls.get(function, {}).values() for call in calls]
        used = [call for call in every if not call.is_idle] or every
        found: dict[tuple[frozenset[str] | None, bool, str], list[Mapping[str, Any]]] = {}
        for call in used:
            found.setdefault((call.constants, call.is_idle, call.device), []).append(call.values)
        return [(*key, values) for key, values in found.items()]


def signature_of(value: Any) -> Any:
    """Return what two calls have in common that need not both be kept."""
    if isinstance(value, Tensor):
        value = value._data
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str)
    if isinstance(value, Mapping):
        return tuple((name, signature_of(item)) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(signature_of(item) for item in value)
    return (type(value).__name__, value if isinstance(value, (int, float, str, bool)) else id(value))
