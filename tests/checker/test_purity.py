"""A gradient depends on what its arguments hold, not on where they lie."""

from __future__ import annotations

import numpy as np

from opkit.checker import Status, check
from tests.checker.functions import checkable_of


def test_a_gradient_remembered_by_the_place_of_its_argument_is_found() -> None:
    """Memory is used again, in a training loop as in the check: what lay there before says nothing of the argument."""
    seen: dict[int, np.ndarray] = {}

    def backward(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return 2 * seen.setdefault(x.__array_interface__["data"][0], x.copy()) * dy

    kept = np.array([0.5, -1.5, 2.0])
    report = check(checkable_of(lambda x: x * x, backward, [kept]))
    assert "GC125" in [item.code for item in report.checks if item.status is Status.FAIL]
