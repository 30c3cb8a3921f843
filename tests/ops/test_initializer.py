"""Initializers draw from the distributions that they name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from opkit.errors import UsageError
from opkit.ops.kernels import initializer as init

SHAPE = (300, 400)


def draw(recipe: init.Initializer, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return recipe(np.random.default_rng(0), shape, "float64")


def test_a_constant_has_the_asked_shape_and_dtype() -> None:
    """Shape and dtype are the variable's."""
    value = init.constant(2)(np.random.default_rng(0), (2, 3), "int32")
    assert value.dtype == np.int32
    assert (value == 2).all()
    assert value.shape == (2, 3)


def test_truncated_normal_stays_within_two_deviations() -> None:
    """No draw lies further out, and the spread is that of the cut-off normal."""
    values = draw(init.truncated_normal(1.0, 0.5))
    assert abs(values - 1.0).max() <= 1.0
    assert values.std() == pytest.approx(0.5 * 0.8796, rel=0.01)


@pytest.mark.parametrize("distribution", ["random_uniform", "random_normal", "truncated_normal"])
@pytest.mark.parametrize(("mode", "fan"), [("fan_in", 400), ("fan_out", 300), ("fan_avg", 350)])
def test_variance_scaling_has_variance_scale_over_fan(distribution: str, mode: str, fan: int) -> None:
    """All three distributions have the same variance."""
    values = draw(init.variance_scaling(2.0, mode, distribution))
    assert values.var() == pytest.approx(2.0 / fan, rel=0.02)
    assert abs(values.mean()) < 4 * math.sqrt(2.0 / fan / values.size)


def test_fans_of_a_filter_count_its_window() -> None:
    """Both layouts of a filter have the same fans."""
    assert init.fans((8, 3, 5, 5)) == init.fans((8, 5, 5, 3), channels_first=False) == (75.0, 200.0)


def test_a_vector_has_no_fans() -> None:
    """One axis does not tell inputs from outputs."""
    with pytest.raises(UsageError, match="two or more axes"):
        draw(init.variance_scaling(1.0, "fan_in", "random_normal"), (3,))
