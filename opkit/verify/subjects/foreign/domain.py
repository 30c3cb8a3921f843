"""Domain: which of the shapes that a custom function takes it is meant for, where nothing declares them.

Arrays of other frameworks broadcast, and so a forward takes far more shapes than its backward is written for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker.model.evaluate import leaves_of
from opkit.errors import UsageError
from opkit.verify.subjects.foreign.subject import ForeignRunner

#: A shape for every input at once.
_ALIKE = (3, 4)
#: Sizes of a single input, by rank.
_SIZES = (3, 4, 5, 2, 3)


class Domain:
    """Stands before a forward while cases are searched, and refuses what it is not meant for.

    Refused are inputs of shapes for which backward raises, a single input by its rank (where backward raises for all,
    none are refused), inputs that merely broadcast against each other where the function takes inputs of one shape, and
    empty and 0-d arrays for which backward raises. Other options than the defaults are not asked about: a backward that
    raises there is wrong. A forward whose results are float32 for float64 inputs is meant for float32.

    Args:
        runner: runs the function.
        defaults: its options.

    Attributes:
        has_refused: whether forward took something that was refused here.
        first_error: what forward raised first.
        speaks_of_dtypes: whether something that it raised did.
    """

    def __init__(self, runner: ForeignRunner, defaults: Mapping[str, Any]) -> None:
        self._runner = runner
        self._defaults = dict(defaults)
        self._known: dict[Any, str] = {}
        self._takes_alike: dict[int, bool] = {}
        self.has_refused = False
        self.first_error: Exception | None = None
        self.speaks_of_dtypes = False

    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Sequence[np.ndarray]:
        """Run forward.

        Raises:
            UsageError: the inputs are not what the function is meant for.
        """
        try:
            outputs = self._runner.forward(arrays, attrs)
        except SystemExit as error:
            raise UsageError("forward leaves the interpreter") from error
        except Exception as error:
            self.first_error = self.first_error or error
            self.speaks_of_dtypes |= any(word in str(error).lower() for word in ("dtype", "float", "double"))
            raise
        try:
            self._keep_width(arrays, outputs)
            self._admit(arrays, attrs)
        except UsageError:
            self.has_refused = True
            raise
        return outputs

    def _keep_width(self, arrays: Mapping[str, Any], outputs: Sequence[np.ndarray]) -> None:
        """Refuse float64 inputs of which forward makes float32 alone.

        Raises:
            UsageError: it does.
        """
        given = {array.dtype.name for _, array in leaves_of(arrays) if array.dtype.kind == "f"}
        made = {item.dtype.name for item in outputs if item.dtype.kind == "f"}
        if given == {"float64"} and made == {"float32"}:
            self.speaks_of_dtypes = True
            raise UsageError("forward makes float32 of float64")

    def _admit(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> None:
        given = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}
        if not all(value.size and value.ndim for value in given.values()):
            self._take_edge(given, attrs)
        if not given or len(given) < sum(value is not None for value in arrays.values()):
            return
        if any(attrs.get(name) is not value for name, value in self._defaults.items()):
            return
        key = tuple(value.shape for value in given.values())
        if key not in self._known:
            self._known[key] = self._why_not(given, attrs)
        if self._known[key]:
            raise UsageError(self._known[key])

    def _take_edge(self, given: Mapping[str, np.ndarray], attrs: Mapping[str, Any]) -> None:
        """Refuse empty and 0-d arrays where backward raises: a framework's functions do so, and no value is wrong.

        Raises:
            UsageError: backward raises.
        """
        try:
            outputs, pullback = self._runner.vjp(given, attrs)
            pullback([np.ones_like(item) for item in outputs], frozenset(given))
        except Exception as error:  # user code
            raise UsageError(f"backward takes no empty or 0-d arrays: {error}") from error

    def _why_not(self, given: Mapping[str, np.ndarray], attrs: Mapping[str, Any]) -> str:
        """Say why a function is not meant for these shapes, "" where nothing speaks against them."""
        is_float = all(value.dtype.kind == "f" for value in given.values())
        shapes = {value.shape for value in given.values()}
        if is_float and len(shapes) > 1 and _broadcast(shapes) and self._is_for_one_shape(list(given), attrs):
            return "the inputs merely broadcast"
        if len(given) == 1:
            given = self._usual(given, attrs)
        return "" if self._fits(given, attrs) else "backward raises"

    def _usual(self, given: Mapping[str, np.ndarray], attrs: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
        """Return an input of the same rank and of sizes above 1, where forward takes one; else the input itself."""
        ((name, array),) = given.items()
        if array.dtype.kind != "f" or not 0 < array.ndim <= len(_SIZES):
            return given
        usual = {name: np.random.default_rng(0).uniform(0.1, 0.9, _SIZES[: array.ndim]).astype(array.dtype)}
        try:
            self._runner.forward(usual, attrs)
        except Exception:  # user code: it takes other sizes
            return given
        return usual

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
        except Exception:  # user code
            return False
        return True


def _broadcast(shapes: set[tuple[int, ...]]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True
