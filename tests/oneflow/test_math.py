"""flow.math: values and gradients as OneFlow v0.4 defines them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
from opkit.oneflow import typing as tp

VALUES = np.array([-2.0, -1.0, 0.5, 1.0, 3.0], np.float32)


def gradient(build: Any) -> np.ndarray:
    """Return how the sum of ``build(variable)`` changes with the variable: what a step of SGD takes away."""
    flow.clear_default_session()
    seen: list[np.ndarray] = []

    @flow.global_function(type="train")
    def job() -> tp.Numpy:
        x = flow.get_variable("x", (5,), initializer=flow.constant_initializer(0.0))
        flow.watch_diff(x, lambda diff: seen.append(diff.numpy().copy()))
        held = build(x)
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1])).minimize(flow.math.reduce_sum(held))
        return held

    flow.load_variables({"x": VALUES})
    job()
    return seen[0]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [((-1.0, 1.0), [0, 1, 1, 1, 0]), ((-1.0, None), [0, 1, 1, 1, 1]), ((None, 1.0), [1, 1, 1, 1, 0])],
)
def test_the_gradient_passes_at_the_bounds_of_clip_by_value(bounds: Any, expected: list[int]) -> None:
    """OneFlow's clip_by_scalar ops let the gradient through where a value is at a bound, Paddle's clip does not."""
    assert gradient(lambda x: flow.math.clip_by_value(x, *bounds)).tolist() == expected


def test_clip_by_value_takes_a_bound() -> None:
    """Without a bound there is nothing to do, which is reported as OneFlow does."""
    with pytest.raises(ValueError, match="min_value, max_value or both"):
        gradient(lambda x: flow.math.clip_by_value(x))


def test_clip_by_value_takes_an_infinite_bound() -> None:
    """An infinite bound holds nothing back."""
    assert gradient(lambda x: flow.math.clip_by_value(x, -1.0, float("inf"))).tolist() == [0, 1, 1, 1, 1]
