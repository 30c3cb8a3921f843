"""Checks of what a backward computes, on request: NaN and infinity (Paddle's FLAGS_check_nan_inf)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.errors import AutogradError

__all__ = ["NonFiniteError", "checks"]


class NonFiniteError(AutogradError, ValueError):
    """A gradient holds NaN or infinity, and the user asked to be told."""


class _Checks:
    """Which checks are on, in the whole process."""

    def __init__(self) -> None:
        self.nan_inf = False

    def checked_visit(self, step: Any, douts: Sequence[Any], release: bool) -> Sequence[Any]:
        """Run a step's rule and look at what it returned."""
        return self.checked(step, douts, step.walk_rule(step, douts, release))

    def checked(self, step: Any, douts: Sequence[Any], grads: Sequence[Any]) -> Sequence[Any]:
        """Return the cotangents of a step's inputs.

        Raises:
            NonFiniteError: one holds NaN or infinity.
        """
        for index, grad in enumerate(grads):
            if grad is None or grad._data.dtype.kind not in "fc":
                continue
            bad = int(np.size(grad._data) - np.count_nonzero(np.isfinite(grad._data)))
            if bad:
                came_in = any(d is not None and not np.isfinite(d._data).all() for d in douts)
                raise NonFiniteError(
                    f"the gradient of {step.opdef.name!r} for input {index} holds {bad} NaN or infinite "
                    f"value{'s' if bad > 1 else ''} of {grad._data.size}",
                    help="the incoming gradient held some already" if came_in else "the incoming gradient was finite",
                )
        return grads


checks = _Checks()
