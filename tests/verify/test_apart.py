"""By how much a gradient is another one than a framework's rule asks for."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.checker.model.evaluate import InputLeaf
from opkit.verify.subjects.foreign.running import differing

X = InputLeaf("x")


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 5.0]), "x (5 at [1], not 2)"),
        (np.array([1.0, -3.0]), None, "x (none at [1], not -3)"),
        (None, np.array([[0.0, 0.5]]), "x (0.5 at [0, 1], not 0)"),
        (np.array([1.0, 2.0]), np.array([np.nan, 9.0]), "x (nan at [0], not 1)"),
        (np.ones(2), np.ones((2, 1)), "x (of shape [2, 1], not [2])"),
    ],
)
def test_it_is_told_where_it_is_furthest(expected: np.ndarray | None, actual: np.ndarray | None, said: str) -> None:
    """The element with the largest distance, and both numbers; NaN is further than any."""
    (fault,) = differing({X: expected}, {X: actual}, "is another one")
    assert fault.message == f"the gradient of {said} is another one"


def test_what_agrees_is_no_fault() -> None:
    """None counts as zeros."""
    assert not list(differing({X: None}, {X: np.zeros(3)}, "is another one"))
