"""Domain: which of the shapes that a custom function takes it is meant for, where nothing declares them.

Arrays of other frameworks broadcast, and so a forward takes far more shapes than its backward is written for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.verify.subjects.foreign.subject import ForeignRunner

__all__ = ["Domain"]

#: A shape for every input at once.
_ALIKE = (3, 4)


class Domain:
    """Stands before a forward while cases are searched, and refuses what it is not meant for.

    Refused are shapes for which backward's gradient does not even have the input's shape, inputs that merely broadcast
    against each other where the function takes inputs of one shape, and empty arrays that backward refuses. Single
    inputs that are not empty are not asked about, nor other options than the defaults: a backward that fails there is
    wrong.

    Args:
        runner: runs the function.
        defaults: its options.
    """

    def __init__(self, runner: ForeignRunner, defaults: Mapping[str, Any]) -> None:
        self._runner = runner
        self._defaults = dict(defaults)
        self._known: dict[Any, str] = {}
        self._takes_alike: dict[int, bool] = {}

    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Sequence[np.ndarray]:
        """Run forward.

        Raises:
            UsageError: the inputs are not what the function is meant for.
        """
        outputs = self._runner.forward(arrays, attrs)
        given = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}
        if not all(value.size for value in given.values()):
            self._take_empty(given, attrs)
        if len(given) < 2 or len(given) < sum(value is not None for value in arrays.values()):
            return outputs
        if any(attrs.get(name) is not value for name, value in self._defaults.items()):
            return outputs
        key = tuple((value.shape, value.dtype) for value in given.values())
        if key not in self._known:
            self._known[key] = self._why_not(given, attrs)
        if self._known[key]:
            raise UsageError(self._known[key])
        return outputs

    def _take_empty(self, given: Mapping[str, np.ndarray], attrs: Mapping[str, Any]) -> None:
        """Refuse empty arrays that backward refuses: a framework's own functions do, and lead to no wrong value.

        Raises:
            UsageError: backward raises.
        """
        try:
            outputs, pullback = self._runner.vjp(given, attrs)
            pullback([np.ones_like(item) for item in outputs], frozenset(given))
        except Exception as error:  # user code
            raise UsageError(f"backward takes no empty arrays: {error}") from error

    def _why_not(self, given: Mapping[str, np.ndarray], attrs: Mapping[str, Any]) -> str:
        """Say why a function is not meant for these shapes, "" where nothing speaks against them."""
        is_float = all(value.dtype.kind == "f" for value in given.values())
        shapes = {value.shape for value in given.values()}
        if is_float and len(shapes) > 1 and _broadcast(shapes) and self._is_for_one_shape(list(given), attrs):
            return "the inputs merely broadcast"
        return "" if self._fits(given, attrs) else "backward gives a gradient of another shape than its input's"

    def _is_for_one_shape(self, names: Sequence[str], attrs: Mapping[str, Any]) -> bool:
        count = len(names)
        if count not in self._takes_alike:
            rng = np.random.default_rng(0)
            alike = {name: rng.uniform(0.1, 0.9, _ALIKE) for name in names}
            try:
                self._runner.forward(alike, attrs)
                self._takes_alike[count] = self._fits(alike, attrs)
            except Exception:  # user code: it is not for one shape
                self._takes_alike[count] = False
        return self._takes_alike[count]

    def _fits(self, given: Mapping[str, np.ndarray], attrs: Mapping[str, Any]) -> bool:
        try:
            outputs, pullback = self._runner.vjp(given, attrs)
            pullback([np.ones_like(item) for item in outputs], frozenset(given))
        except Exception as error:  # user code: only what is said of shapes concerns the domain
            return not self._runner.is_misfit(error)
        return True


def _broadcast(shapes: set[tuple[int, ...]]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True
