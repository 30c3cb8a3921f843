"""Recording: the calls of custom functions that a run made, a few of each signature, arrays copied.

Listening to calls is a framework's business; making checkables of what was heard is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from opkit.eager import Tensor
from opkit.record import mutable, record

#: How many calls are kept of each signature, and how many signatures of each function.
MOST_CALLS = 3
MOST_SIGNATURES = 16


@record
class Traits:
    """How the arrays of a call stood in the graph.

    Args:
        constants: the float inputs that took no gradient, None where nothing marks them.
        leaves: the inputs that took one and were leaves, where that makes a difference.
        options: the arguments that are options though they hold arrays: what takes gradients is marked, these are not.
        is_idle: whether there were float inputs and none took a gradient.
        device: where it ran, "" for the CPU or where nothing says so.
    """

    constants: frozenset[str] | None = None
    leaves: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    is_idle: bool = False
    device: str = ""


@mutable
class Recording:
    """What a run called.

    Attributes:
        calls: arguments by name, arrays as numpy arrays, of each function, by how these stood and by signature.
        failures: what a forward raised, of each call that did, where that is heard.
        twice: the functions of whose gradient a gradient was asked for (``create_graph=True``), where that is heard.
    """

    calls: dict[Any, dict[tuple[Traits, Any], list[Mapping[str, Any]]]] = field(default_factory=dict)
    failures: dict[Any, list[Exception]] = field(default_factory=dict)
    twice: set[Any] = field(default_factory=set)

    def hear(self, function: Any, traits: Traits, signature: Any, values: Callable[[], Mapping[str, Any]]) -> None:
        """Keep the values of a call, where another one of these traits and this signature is to be kept."""
        known, key = self.calls.setdefault(function, {}), (traits, signature)
        if len(known[key]) < MOST_CALLS if key in known else len(known) < MOST_SIGNATURES:
            known.setdefault(key, []).append(values())

    def groups(self, function: Any) -> list[tuple[Traits, list[Mapping[str, Any]]]]:
        """Return the calls of a function by their traits, those that say least of constants first.

        Calls of evaluation alone count only where there are no others; an input is a leaf where it was one in each.
        """
        every = [(traits, values) for (traits, _), calls in self.calls.get(function, {}).items() for values in calls]
        found: dict[Traits, list[tuple[Traits, Mapping[str, Any]]]] = {}
        for traits, values in [call for call in every if not call[0].is_idle] or every:
            found.setdefault(replace(traits, leaves=frozenset()), []).append((traits, values))
        groups = []
        for common, calls in sorted(found.items(), key=lambda group: len(group[0].constants or ())):
            leaves = frozenset.intersection(*(traits.leaves for traits, _ in calls))
            groups.append((replace(common, leaves=leaves), [values for _, values in calls]))
        return groups


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
