"""Owned: the arguments of one call, and whether the called function put something else in the place of one of them.

What was written to an array is found by the checker's custody; what follows from a change is its business too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.eager import Tensor
from opkit.errors import KernelError
from opkit.listed import listed


class Owned:
    """Arguments by name as one call gets them, and the arrays that Tensors among them stood for.

    Lists are copied for the call, so that a function that changes one spoils no later call.

    Args:
        given: the arguments.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.values = {name: list(value) if type(value) is list else value for name, value in given.items()}
        self._given = given
        self._tensors: list[tuple[str, Tensor, np.ndarray]] = []
        for name, value in given.items():
            self.keep(name, [item for item in listed(value) if isinstance(item, Tensor)])

    def keep(self, name: str, tensors: Iterable[Tensor]) -> None:
        """Watch over Tensors besides, under one name: results and incoming gradients must stay as they are too."""
        known = {id(tensor) for _, tensor, _ in self._tensors}
        self._tensors += [(name, item, item._data) for item in tensors if id(item) not in known]

    def gave(self, outputs: Iterable[Tensor]) -> bool:
        """Return whether one of the outputs stands for the array of an argument."""
        given = {id(array) for _, _, array in self._tensors}
        return any(id(item._data) in given for item in outputs)

    def verify(self, what: str, exempt: Sequence[Tensor] = ()) -> None:
        """Compare the arguments with what they were.

        Args:
            what: the function that was called.
            exempt: Tensors that it may change: an input that forward returns was changed in place on purpose.

        Raises:
            KernelError: one was changed.
        """
        changed = [name for name, item, array in self._tensors if item._data is not array and not _is_in(item, exempt)]
        for name, value in self._given.items():
            if type(value) is list and list(map(id, value)) != list(map(id, self.values[name])):
                changed.append(name)
        if changed:
            raise KernelError(
                f"{what} changed {changed[0]}, which is read-only: the caller still holds it; work on a copy"
            )


def _is_in(item: Tensor, tensors: Iterable[Tensor]) -> bool:
    return any(item is one for one in tensors)
