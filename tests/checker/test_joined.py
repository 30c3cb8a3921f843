"""A large element of a result hides no wrong one that shares nothing with it: Lennard-Jones energies beside a pole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opkit.checker import OpReport, Status, check
from opkit.checker.derivative.joined import joined, largest_joined
from tests.checker.functions import checkable_of


def switch(r: Any) -> Any:
    """Go from 1 at 2.0 to 0 at 2.5, with its slope."""
    t = np.clip(2 * (r - 2), 0, 1)
    return 1 - t * t * (3 - 2 * t), -12 * t * (1 - t)


def energy(r: np.ndarray) -> np.ndarray:
    i = (1 / r) ** 6
    return np.asarray(4 * (i * i - i) * switch(r)[0])


def report(has_slope: bool, points: list[float]) -> OpReport:
    def backward(r: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
        i, (value, slope) = (1 / r) ** 6, switch(r)
        return np.asarray(dy * 4 * ((-12 * i * i + 6 * i) / r * value + has_slope * (i * i - i) * slope))

    made = checkable_of(energy, backward, [np.array(points)])
    return check(made if points else replace(made, cases=None, recorded=()))


@pytest.mark.parametrize("points", [[], [0.15, 2.3, 1.5, 2.2], [0.02, 2.3, 1.5, 2.2]], ids=["found", "3e10", "1e21"])
@pytest.mark.parametrize(("has_slope", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_what_is_wrong_beside_a_pole_is_seen(has_slope: bool, status: Status, points: list[float]) -> None:
    """Results of 1e10 and more are rounded by more than the gradient of another element is large."""
    found = report(has_slope, points)
    assert found.status is status
    assert [item.code for item in found.checks if item.status is Status.FAIL] == ["GC101"] * (not has_slope)


def test_elements_are_joined_by_entries_that_both_change() -> None:
    """The first two share an entry; the third has one of its own, and the last changes nothing."""
    links = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    elements, entries = joined(links)
    assert elements.tolist() == [0, 0, 3, 4]
    assert entries.tolist() == [0, 0, 2, 3]
    assert largest_joined(np.array([1.0, -5.0, np.nan, 2.0]), entries).tolist() == [5.0, 5.0, 0.0, 2.0]
