"""Functions that live on scales finer than most steps, or coarser than float64's resolution."""

from __future__ import annotations

import numpy as np
import pytest

import opkit
from opkit.checker import Status


def verdict(forward, backward, inputs: list[np.ndarray], code: str) -> Status:
    """Return the status of one check of a pair of functions on inputs alone."""
    cases = [(item,) for item in inputs]
    report = opkit.gradcheck(forward=forward, backward=backward, cases=lambda rng: cases, replay=False)
    return Status.worst(item.status for item in report.ops[0].checks if item.code == code)


@pytest.mark.parametrize("rate", [3e4, 1e5, 1e6])
def test_an_oscillation_on_a_slope_is_not_accused(rate: float) -> None:
    """At 1e5, x + sin(rate x)^2 / rate changes by its slope of 1 at all but the finest steps."""
    inputs = [np.random.default_rng(1).normal(size=(4, 5)) + 1e5 for _ in range(4)]
    found = verdict(
        lambda x: x + np.sin(rate * x) ** 2 / rate, lambda x, dy: dy * (1 + np.sin(2 * rate * x)), inputs, "GC101"
    )
    assert found is not Status.FAIL


def test_a_slope_that_is_nowhere_the_derivative_is_accused() -> None:
    """Two per cent too much are a failure: no finer step shows that slope."""
    inputs = [np.random.default_rng(1).normal(size=(4, 5)) + 30 for _ in range(4)]
    found = verdict(lambda x: x + np.sin(x), lambda x, dy: dy * (1 + 1.02 * np.cos(x)), inputs, "GC101")
    assert found is Status.FAIL


def test_values_flat_in_float32_say_nothing_of_a_derivative() -> None:
    """In float32, sqrt(1 + x^2) is 1 for all x below 2e-4; a gradient of x there is not accused."""
    inputs = [np.array([-0.00127, 0.0003, 0.5, 1e-5, 0.02]) * share for share in (1.0, 0.7, 1.3)]

    def single(x: np.ndarray) -> np.ndarray:
        return x.astype(np.float32)

    def forward(x: np.ndarray) -> np.ndarray:
        return np.sqrt(1 + single(x) ** 2).astype(x.dtype)

    def backward(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return (single(x) / np.sqrt(1 + single(x) ** 2)).astype(x.dtype) * dy

    assert verdict(forward, backward, inputs, "GC101") is not Status.FAIL
    assert verdict(forward, backward, inputs, "GC151") is Status.FAIL


def test_a_gross_error_is_accused_though_float32_is_inside() -> None:
    """A gradient twice too large is a failure of its own beside the noise."""
    inputs = [np.random.default_rng(3).normal(size=(3, 4)) for _ in range(3)]
    found = verdict(
        lambda x: np.tanh(x.astype(np.float32)).astype(x.dtype),
        lambda x, dy: 2 * (1 - np.tanh(x) ** 2) * dy,
        inputs,
        "GC101",
    )
    assert found is Status.FAIL


@pytest.mark.parametrize(("slope", "status"), [(2.0, Status.PASS), (2.00001, Status.FAIL)])
def test_a_slight_error_is_not_excused_by_a_zero_beside_it(slope: float, status: Status) -> None:
    """An entry that is 0 on every scale, as beside an input of 0, says nothing of the others."""
    inputs = [np.array([0.0, 3.0]), np.array([0.0, -1.5])]
    assert verdict(lambda x: x**2, lambda x, dy: dy * slope * x, inputs, "GC101") is status
