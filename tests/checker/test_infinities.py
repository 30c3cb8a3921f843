"""Infinities at declared points: those that stay whatever the floats are belong to the op; the others are no numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from opkit.checker import Status, check
from tests.checker.functions import checkable_of

X, PLACES = np.array([0.3, -1.2, 0.7, 2.0]), np.array([0, 2, 0, 2])


def log_sums(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials of each of three groups; minus infinity where one is empty."""
    with np.errstate(divide="ignore"):
        return np.log(np.bincount(places, np.exp(x), 3))


def slopes(factor: float) -> Callable[..., np.ndarray]:
    def backward(x: np.ndarray, places: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return np.asarray(factor * dy[places] * np.exp(x - y[places]))

    return backward



@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (0.5, Status.FAIL)])
def test_an_infinity_of_an_empty_group_is_meant(factor: float, status: Status) -> None:
    """The other elements of the case are compared: a wrong gradient of theirs is found."""
    found = check(checkable_of(log_sums, slopes(factor), [X, PLACES]))
    assert found.status is status
    assert [item.code for item in found.findings] == ["GC101"] * (status is Status.FAIL)
    assert "in places of inputs 0 forward gives infinity whatever floats the inputs hold: nothing is compared there" in found.notes


@pytest.mark.parametrize(
    ("forward", "x"),
    [
        (lambda x: np.log1p(np.exp(x)), [1000.0, 2.0]),
        (lambda x: x * x, [1e200, 2.0]),
        (lambda x: 1 / x, [0.0, 2.0]),
        (lambda x: x / 0.0, [1.0, 2.0]),
        (lambda x: x * np.nan, [1.0, 2.0]),
    ],
    ids=["an exponential", "a square", "a pole", "a divisor of 0", "NaN"],
)
def test_an_infinity_that_comes_and_goes_with_the_floats_is_a_failure(forward: Callable[..., np.ndarray], x: list[float]) -> None:
    """An overflow, or a pole, on a declared case."""
    with np.errstate(all="ignore"):
        found = check(checkable_of(forward, lambda x, dy: dy, [np.array(x)]))
    assert [item.code for item in found.findings] == ["GC180"]
    assert "forward gives NaN or infinity on inputs 0" in found.findings[0].message
