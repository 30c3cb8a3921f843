"""Learning rates follow the formulas of OneFlow v0.4.0's sources."""

from __future__ import annotations

import math

import numpy as np
import pytest

from opkit.errors import UsageError
from opkit.oneflow.semantics import schedules as s

BASE, STEPS = 0.1, 10

#: name -> (schedule, the formula written out independently)
FORMULAS = {
    "cosine": (
        s.CosineScheduler(BASE, STEPS, alpha=0.2),
        lambda t: BASE * (0.8 * 0.5 * (1 + math.cos(math.pi * min(t, STEPS) / STEPS)) + 0.2),
    ),
    "exponential": (s.ExponentialScheduler(BASE, STEPS, 0.5), lambda t: BASE * 0.5 ** (t / STEPS)),
    "exponential_staircase": (s.ExponentialScheduler(BASE, STEPS, 0.5, True), lambda t: BASE * 0.5 ** (t // STEPS)),
    "inverse_time": (s.InverseTimeScheduler(BASE, STEPS, 0.5), lambda t: BASE / (1 + 0.5 * t / STEPS)),
    "polynomial": (
        s.PolynomialScheduler(BASE, STEPS, 1e-4, 2.0),
        lambda t: (BASE - 1e-4) * (1 - min(t, STEPS) / STEPS) ** 2 + 1e-4,
    ),
    "polynomial_cycle": (
        s.PolynomialScheduler(BASE, STEPS, 1e-4, 1.0, True),
        lambda t: (BASE - 1e-4) * (1 - max(t, 1) / (STEPS * math.ceil(max(t, 1) / STEPS))) + 1e-4,
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("step", [0, 1, 5, 9, 10, 11, 20, 25])
def test_decay_follows_its_formula(name: str, step: int) -> None:
    """Each decay equals its formula in float32."""
    schedule, formula = FORMULAS[name]
    assert schedule.rate(step) == np.float32(formula(step))


@pytest.mark.parametrize(("step", "rate"), [(0, 1.0), (2, 1.0), (3, 0.5), (5, 0.5), (6, 0.25), (100, 0.25)])
def test_piecewise_constant_includes_its_boundary(step: int, rate: float) -> None:
    """A boundary belongs to the interval before it."""
    assert s.PiecewiseConstantScheduler([2, 5], [1.0, 0.5, 0.25]).rate(step) == np.float32(rate)


def test_piecewise_scaling_multiplies_the_base_rate() -> None:
    """The first interval has scale 1."""
    schedule = s.PiecewiseScalingScheduler(0.2, [1, 3], [0.5, 0.1])
    assert [schedule.rate(t) for t in (0, 2, 4)] == [np.float32(0.2), np.float32(0.1), np.float32(0.2 * 0.1)]


@pytest.mark.parametrize("scale", [0.5, [0.5]])
def test_one_scale_holds_after_every_boundary(scale: float | list[float]) -> None:
    """A number, or a list of one, is repeated."""
    schedule = s.PiecewiseScalingScheduler(0.2, [1, 3], scale)
    assert [schedule.rate(t) for t in (0, 2, 4)] == [np.float32(0.2), np.float32(0.1), np.float32(0.1)]


def test_scales_that_fit_no_boundary_are_refused() -> None:
    """Two scales and three boundaries are an error."""
    with pytest.raises(UsageError, match="one scale per boundary, got 2 and 3"):
        s.PiecewiseScalingScheduler(0.2, [1, 3, 5], [0.5, 0.1])


def test_piecewise_with_the_wrong_number_of_values_is_refused() -> None:
    """There is one value more than boundaries."""
    with pytest.raises(UsageError, match="one value more than boundaries"):
        s.PiecewiseConstantScheduler([1, 2], [0.1, 0.2])


def test_linear_warmup_scales_the_base_rate_and_does_not_shift_the_step() -> None:
    """Warm-up replaces the decay while it lasts."""
    schedule = s.CosineScheduler(BASE, STEPS, warmup=s.linear_warmup(4, 0.2))
    plain = s.CosineScheduler(BASE, STEPS)
    assert [schedule.rate(t) for t in range(4)] == [np.float32(BASE * (0.2 + 0.8 * t / 4)) for t in range(4)]
    assert schedule.rate(4) == plain.rate(4)


def test_constant_warmup_is_a_multiple_of_the_base_rate() -> None:
    """Constant warm-up holds one rate."""
    schedule = s.ExponentialScheduler(BASE, STEPS, 0.5, warmup=s.constant_warmup(3, 0.1))
    assert {float(schedule.rate(t)) for t in range(3)} == {float(np.float32(BASE * 0.1))}
