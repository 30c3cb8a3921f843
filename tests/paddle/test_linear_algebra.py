"""What ``paddle.linalg`` refuses, and that it says so."""

from __future__ import annotations

import pytest

from opkit import paddle
from opkit.errors import ShapeError


def test_batches_of_matrices_have_one_size() -> None:
    """A batch of one is not broadcast: Paddle refuses it, too."""
    with pytest.raises(ShapeError, match="two batches of one size"):
        paddle.bmm(paddle.ones([2, 2, 2]), paddle.ones([1, 2, 2]))
