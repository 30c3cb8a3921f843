"""Arguments that Paddle 2.6.2 refuses, although numpy would take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opkit.paddle as paddle
import opkit.paddle.nn.functional as F


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_a_condition_holds_booleans(dtype: str) -> None:
    """A condition takes no numbers: 0.5 would count as true."""
    x = paddle.ones([3])
    with pytest.raises(TypeError, match="where: condition holds booleans"):
        paddle.where(paddle.ones([3]).astype(dtype), x, x)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32"])
def test_classes_are_whole_numbers(dtype: str) -> None:
    """one_hot takes int32 and int64 alone."""
    with pytest.raises(TypeError, match="one_hot: x must hold integers"):
        F.one_hot(paddle.ones([3]).astype(dtype), 4)


@pytest.mark.parametrize(("x", "vec"), [([2, 2, 3], [3]), ([3], [3]), ([2, 3], [3, 1])])
def test_mv_takes_a_matrix_and_a_vector(x: list[int], vec: list[int]) -> None:
    """A product by mv takes no stacks of matrices, and no matrix for the vector."""
    with pytest.raises(ValueError, match="mv: x is a matrix and vec a vector"):
        paddle.mv(paddle.ones(x), paddle.ones(vec))


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.pad(paddle.ones([2, 3, 4]), [1, 0]),  # NCHW, with three axes
        lambda: F.pad(paddle.ones([2, 3, 4, 5]), [1, 0]),  # half of the spatial axes
        lambda: F.pad(paddle.ones([2, 3]), [1, 0], data_format="NCL"),
    ],
)
def test_padding_names_the_axes_it_means(call: Callable[[], Any]) -> None:
    """data_format has a letter for each axis, and each spatial axis its two numbers."""
    with pytest.raises(ValueError, match="pad: "):
        call()


@pytest.mark.parametrize("updates", [[6], [1, 6], [2, 1, 3]])
def test_scattered_updates_have_the_shape_of_what_is_picked(updates: list[int]) -> None:
    """As many numbers in another shape would be added where nobody meant them."""
    with pytest.raises(ValueError, match=r"the updates need the shape \[2, 3\]"):
        paddle.scatter_nd_add(paddle.zeros([5, 3]), paddle.zeros([2, 1], dtype="int64"), paddle.ones(updates))
