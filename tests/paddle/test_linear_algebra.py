"""What ``paddle.linalg`` refuses, and that it says so."""

from __future__ import annotations

import numpy as np
import pytest

from opkit import paddle
from opkit.errors import ShapeError, UnsupportedError


def test_lu_without_pivots_is_refused() -> None:
    """What is not there says so."""
    with pytest.raises(UnsupportedError, match="pivots"):
        paddle.linalg.lu(paddle.to_tensor(np.eye(2)), pivot=False)


def test_lu_of_a_constant_gives_back_the_matrix() -> None:
    """L @ U is the matrix with its rows exchanged."""
    matrix = np.random.default_rng(0).normal(size=(3, 3))
    packed, pivots = (item.numpy() for item in paddle.linalg.lu(paddle.to_tensor(matrix)))
    for row, other in enumerate(pivots - 1):
        matrix[[row, other]] = matrix[[other, row]]
    np.testing.assert_allclose((np.tril(packed, -1) + np.eye(3)) @ np.triu(packed), matrix, atol=1e-12)


def test_batches_of_matrices_have_one_size() -> None:
    """A batch of one is not broadcast: Paddle refuses it, too."""
    with pytest.raises(ShapeError, match="two batches of one size"):
        paddle.bmm(paddle.ones([2, 2, 2]), paddle.ones([1, 2, 2]))
