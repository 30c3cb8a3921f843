"""The process' generator, random ops, dropout, and the moving averages of batch norm."""

from __future__ import annotations

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor, grad
from opkit.errors import UsageError
from tests.ops.cases import named


def test_a_seed_repeats_the_numbers() -> None:
    """The same seed gives the same numbers; without a new one the next numbers differ."""
    ops.seed(7)
    first = ops.normal((5,))._data
    second = ops.normal((5,))._data
    ops.seed(7)
    assert np.array_equal(ops.normal((5,))._data, first)
    assert not np.array_equal(first, second)


def test_the_state_can_be_put_back() -> None:
    """Both together continue where they left off."""
    ops.seed(1)
    state = ops.generator_state()
    first = ops.uniform((4,))._data
    ops.set_generator_state(state)
    assert np.array_equal(ops.uniform((4,))._data, first)


def test_an_op_with_its_own_seed_leaves_the_generator_alone() -> None:
    """Such an op draws the same numbers every time."""
    ops.seed(3)
    expected = ops.uniform((2,))._data
    ops.seed(3)
    assert np.array_equal(ops.uniform((3,), seed=11)._data, ops.uniform((3,), seed=11)._data)
    assert np.array_equal(ops.uniform((2,))._data, expected)


def test_ranges_and_dtypes() -> None:
    """Numbers lie in their range, in the dtype asked for."""
    ops.seed(0)
    drawn = ops.uniform((10000,), -1, 1)._data
    assert drawn.dtype == "float32"
    assert drawn.min() >= -1
    assert drawn.max() < 1
    assert abs(drawn.mean()) < 0.05
    assert set(ops.randint(2, 5, (100,))._data.tolist()) == {2, 3, 4}
    assert sorted(ops.randperm(6)._data.tolist()) == list(range(6))
    with pytest.raises(UsageError, match="empty"):
        ops.randint(3, 3, (2,))


def test_dropout_keeps_the_expectation_and_its_mask_for_the_gradient() -> None:
    """Kept elements are divided by the rate kept; the gradient has the same zeros."""
    ops.seed(5)
    x = Tensor(np.ones(20000), stop_gradient=False)
    y = ops.dropout(x, 0.25)
    assert set(np.unique(y._data)) == {0.0, 1 / 0.75}
    assert y._data.mean() == pytest.approx(1, abs=0.02)
    (found,) = grad([y], [x])
    assert found is not None
    assert np.array_equal(found._data, y._data)
    assert ops.dropout(x, 0.0) is x
    assert not ops.dropout(x, 1.0)._data.any()
    with pytest.raises(UsageError, match="between 0 and 1"):
        ops.dropout(x, 1.5)


def test_batch_norm_moves_its_averages() -> None:
    """It is moving * momentum + batch * (1 - momentum); the variance is biased for Paddle, unbiased for OneFlow."""
    data = np.random.default_rng(0).normal(2.0, 3.0, (8, 3))
    for unbiased, ddof in ((False, 0), (True, 1)):
        mean, variance = Tensor(np.zeros(3)), Tensor(np.ones(3))
        y = ops.batch_norm(Tensor(data), mean, variance, training=True, momentum=0.9, unbiased=unbiased)
        np.testing.assert_allclose(mean._data, 0.1 * data.mean(0))
        np.testing.assert_allclose(variance._data, 0.9 + 0.1 * data.var(0, ddof=ddof))
        np.testing.assert_allclose(y._data, (data - data.mean(0)) / np.sqrt(data.var(0) + 1e-5))


def test_oneflows_normalization_by_name_does_the_same() -> None:
    """The op as a user's job names it, with gradients for x, gamma and beta."""
    data = np.random.default_rng(0).normal(2.0, 3.0, (8, 3))
    x = Tensor(data, stop_gradient=False)
    gamma, beta = Tensor(np.full(3, 1.5), stop_gradient=False), Tensor(np.full(3, 0.5), stop_gradient=False)
    mean, variance = Tensor(np.zeros(3)), Tensor(np.ones(3))
    attrs = {"axis": 1, "epsilon": 1e-5, "training": True, "momentum": 0.9}
    inputs = {"x": [x], "moving_mean": [mean], "moving_variance": [variance], "gamma": [gamma], "beta": [beta]}
    y, *_ = named("normalization", inputs, attrs)
    np.testing.assert_allclose(mean._data, 0.1 * data.mean(0))
    dx, dgamma, dbeta = grad([y], [x, gamma, beta])
    assert np.abs(dx._data).max() < 1e-12
    np.testing.assert_allclose(dbeta._data, 8)
    np.testing.assert_allclose(dgamma._data, 0, atol=1e-12)
