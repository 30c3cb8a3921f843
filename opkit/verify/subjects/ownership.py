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
        self.values, self._given = dict(given), given
        self._lists: list[str] = []
        self._tensors: dict[int, tuple[str, Tensor, np.ndarray]] = {}
        for name, value in given.items():
            if type(value) is list:
                self._lists.append(name)
                self.values[name] = list(value)
            self.keep(name, listed(value))

    def keep(self, name: str, values: Iterable[Any]) -> None:
        """Watch over the Tensors among values, under one name: results and incoming gradients must stay as they are."""
        for item in values:
            if isinstance(item, Tensor):
                self._tensors.setdefault(id(item), (name, item, item._data))

    def gave(self, outputs: Iterable[Tensor]) -> bool:
        """Return whether one of the outputs stands for the array of an argument."""
        given = {id(array) for _, _, array in self._tensors.values()}
        return any(id(item._data) in given for item in outputs)

    def verify(self, what: str, exempt: Sequence[Tensor] = ()) -> None:
        """Compare the arguments with what they were.

        Args:
            what: the function that was called.
            exempt: Tensors that it may change: an input that forward returns was changed in place on purpose.

        Raises:
            KernelError: one was changed.
        """
        changed = [
            name
            for name, item, array in self._tensors.values()
            if item._data is not array and not any(item is one for one in exempt)
        ]
        changed += [name for name in self._lists if [*map(id, self._given[name])] != [*map(id, self.values[name])]]
        if changed:
            raise KernelError(
                f"{what} changed {changed[0]}, which is read-only: the caller still holds it; work on a copy"
            )
