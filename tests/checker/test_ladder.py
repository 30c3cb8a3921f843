"""Numeric derivatives along lines: values, bounds and what they are taken for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.gradcheck_coverage import CORNERS, ZOO, measure
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.ladder import derivative, settle, steps_for

F = Callable[[np.ndarray], np.ndarray]


def test_the_bound_covers_the_error_on_the_whole_zoo() -> None:
    """On at least 40 functions at most one point in a hundred lies outside the bound."""
    missed = np.concatenate([measure(row, count=60)[0] for row in ZOO])
    assert len(ZOO) >= 40
    assert missed.mean() <= 0.01


@pytest.mark.parametrize("row", [row for row in ZOO if row[0] in ("sin", "tanh(1e3(x-.3))", "sin(300x)", "exp(30x)")])
def test_smooth_functions_are_known_to_a_relative_1e_9(row: tuple[str, F, F, tuple[float, float], float]) -> None:
    """Smooth, steep and oscillating functions get bounds far below the promised 1e-7."""
    _, bound, kind = measure(row)
    assert np.median(bound) < 1e-9
    assert (kind == Behaviour.REGULAR).all()


@pytest.mark.parametrize(("name", "function", "point", "interval"), CORNERS)
def test_a_kink_is_called_one_and_holds_its_slopes(
    name: str, function: F, point: float, interval: tuple[float, float]
) -> None:
    """At a kink the interval runs from one slope to the other."""
    found = derivative(function, np.full(2, point))
    assert Behaviour(found.kind[0, 0]) is Behaviour.KINK, name
    assert found.low[0, 0] == pytest.approx(interval[0], abs=1e-6)
    assert found.high[0, 0] == pytest.approx(interval[1], abs=1e-6)


def test_a_jump_is_called_one() -> None:
    """At a jump the derivative does not exist, and the slopes beside it are held for valid."""
    found = derivative(lambda x: x - np.floor(x), np.array([2.0]))
    assert Behaviour(found.kind[0, 0]) is Behaviour.JUMP
    assert found.low[0, 0] <= 0 <= found.high[0, 0]
    assert found.high[0, 0] == pytest.approx(1)


def test_an_infinite_slope_has_no_bound() -> None:
    """The square root at 0 has no finite derivative."""
    found = derivative(np.sqrt, np.array([0.0]))
    assert not np.isfinite(found.bound[0, 0])


def test_one_sided_at_the_edge_of_the_domain() -> None:
    """Where values exist on one side only, the slope of that side is the derivative."""
    found = derivative(lambda x: np.where(x >= 1, x * x, np.nan), np.array([1.0]))
    assert found.value[0, 0] == pytest.approx(2, rel=1e-7)
    assert Behaviour(found.kind[0, 0]) is Behaviour.ONE_SIDED


def test_noise_widens_the_bound() -> None:
    """A function with noise of 1e-6 has a bound that says so."""
    rng = np.random.default_rng(0)
    found = derivative(lambda x: np.sin(x) + 1e-6 * rng.standard_normal(x.shape), np.linspace(0.3, 1, 20))
    error = np.abs(found.value[0] - np.cos(np.linspace(0.3, 1, 20)))
    assert (error <= found.bound[0]).mean() >= 0.95
    assert np.median(found.bound[0]) > 1e-7


@settings(max_examples=40, deadline=None)
@given(st.floats(-3, 3), st.floats(0.1, 20))
def test_a_scaled_sine_is_within_three_bounds(point: float, rate: float) -> None:
    """|numeric - true| stays below three bounds, beyond which a gradient is accused, for sin(rate x)."""
    found = derivative(lambda x: np.sin(rate * x), np.array([point]))
    scale = max(abs(found.value[0, 0]), 1e-12)
    assert abs(found.value[0, 0] - rate * np.cos(rate * point)) <= 3 * found.bound[0, 0] + 1e-13 * scale


def test_steps_have_no_common_period() -> None:
    """No simple period divides all steps, so that periodic functions do not look constant."""
    steps = steps_for(np.array([1e6]))[0]
    assert not np.allclose(np.modf(steps[:6])[0], 0)


def test_walk_and_settle_work_for_vectors() -> None:
    """A vector function along a direction gives one derivative per entry."""
    point, direction = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    steps = steps_for(1.0)
    rungs = steps[None, :, None]
    plus, minus, base = (
        np.array([[x.sum(), x.prod()] for x in (point + sign * step * direction for step in steps)])
        for sign in (1, -1, 0)
    )
    base = base[0]
    found = settle(plus[None], minus[None], base, rungs, rungs, np.full(2, 2.3e-16), np.ones((1, 1)))
    assert found.value[0] == pytest.approx([3.0, 0.3 * 2 - 0.4], rel=1e-10)
