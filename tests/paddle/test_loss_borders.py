"""Losses at the borders of their domains. Facts of Paddle 2.6.2."""

from __future__ import annotations

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle.nn import functional


def test_certain_and_wrong_costs_a_hundred() -> None:
    """Logarithms of probabilities are of at least -100, and certain and right costs nothing."""
    chance = paddle.to_tensor(np.array([0.0, 1.0, 0.0, 1.0, 1e-30, 0.3]))
    label = paddle.to_tensor(np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.2]))
    loss = functional.binary_cross_entropy(chance, label, reduction="none")
    assert loss.numpy().tolist() == pytest.approx([100.0, 100.0, 0.0, 0.0, 69.07755278982137, 0.5261345160161732])


def test_the_slope_divides_by_no_less_than_the_floor() -> None:
    """A certain and wrong probability has a gradient of 1e12, a certain and right one none."""
    chance = paddle.to_tensor(np.array([0.0, 1.0, 0.0, 1.0, 1e-13, 0.3]), stop_gradient=False)
    label = paddle.to_tensor(np.array([1.0, 0.0, 0.0, 1.0, 0.5, 0.2]))
    functional.binary_cross_entropy(chance, label, reduction="sum").backward()
    assert chance.grad.numpy().tolist() == pytest.approx(
        [-1e12, 1e12, 0.0, 0.0, -499999999999.9, 0.4761904761904761], rel=1e-9
    )


@pytest.mark.parametrize("chance", [1.5, -0.2])
def test_no_probability_is_refused(chance: float) -> None:
    """What is not between 0 and 1 is not a probability."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        functional.binary_cross_entropy(paddle.to_tensor([chance]), paddle.to_tensor([1.0]))


def test_mass_that_is_not_positive_counts_nothing() -> None:
    """kl_div of a target of 0 or below is 0, and has no gradient; one that is not a number is not."""
    logs = paddle.to_tensor([0.1, -0.2, float("-inf"), 0.5, 0.4], stop_gradient=False)
    loss = functional.kl_div(logs, paddle.to_tensor([-1.0, 0.0, 0.0, 2.0, float("nan")]), "none")
    loss.sum().backward()
    assert loss.numpy().tolist() == pytest.approx([0.0, 0.0, 0.0, 0.38629436, float("nan")], nan_ok=True)
    assert logs.grad.numpy().tolist() == pytest.approx([0.0, 0.0, 0.0, -2.0, float("nan")], nan_ok=True)
