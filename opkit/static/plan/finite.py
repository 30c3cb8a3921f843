"""Finite: the search for the op that makes the first NaN or infinity, on request (Paddle's FLAGS_check_nan_inf)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.errors import GraphError
from opkit.ir import Operation

__all__ = ["NonFiniteValueError", "finite"]


class NonFiniteValueError(GraphError, ValueError):
    """An op computed NaN or infinity, and the user asked to be told."""


class _Finite:
    """Whether results are looked at, in the whole process."""

    def __init__(self) -> None:
        self.is_on = False

    def check(self, op: Operation, results: Sequence[Any]) -> None:
        """Refuse results that are not finite.

        Raises:
            NonFiniteValueError: names the op, its line, and how many elements are NaN or infinite.
        """
        for value, array in zip(op.results, results):
            if array.dtype.kind not in "fc":
                continue
            wrong = int(array.size - np.count_nonzero(np.isfinite(array)))
            if wrong:
                raise NonFiniteValueError(
                    f"op {op.label or op.type!r} computed {wrong} NaN or infinite elements of {array.size} in "
                    f"{value.name!r}",
                    where=op.where,
                    help="it is the first op of this run whose result is not finite (FLAGS_check_nan_inf)",
                )


finite = _Finite()
