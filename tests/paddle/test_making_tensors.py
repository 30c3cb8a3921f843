"""Tensors of lists, copies of Tensors, tensor arrays, and values that are refused. Facts of Paddle 2.6.2."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([np.ones(2)], "float32"),
        ([np.ones(2, "float16")], "float32"),
        ([[np.ones(2)], [[1.0, 2.0]]], "float32"),
        ((np.float64(1.0),), "float32"),
        ([np.ones(2, "int32")], "int64"),
        ([np.int32(1)], "int64"),
        ([np.uint8(1)], "uint8"),
        (np.ones(2), "float64"),
        (np.float64(1.0), "float64"),
    ],
)
def test_a_list_has_the_default_dtype(data: Any, expected: str) -> None:
    """A list of arrays is a list of numbers: floats take the default dtype, int32 becomes int64."""
    assert paddle.to_tensor(data).dtype == expected


def test_a_list_with_a_tensor_has_the_default_dtype() -> None:
    """A Tensor of int64 beside a float gives float32."""
    assert paddle.to_tensor([paddle.to_tensor(1), 2.0]).dtype == "float32"
    assert paddle.to_tensor([paddle.ones([1], "float64")]).dtype == "float32"


def test_a_copy_has_no_gradient() -> None:
    """copy.deepcopy of a Tensor copies its data alone."""
    x = paddle.to_tensor([1.0], stop_gradient=False)
    (x * 2).sum().backward()
    assert copy.deepcopy(x).grad is None


def test_fill_takes_a_number() -> None:
    """A list is not one."""
    with pytest.raises(TypeError, match="fill_ takes a number"):
        paddle.ones([2]).fill_([1])


def test_a_negative_limit_is_refused() -> None:
    """clip_grad_value_ cuts off at plus and minus a value."""
    with pytest.raises(ValueError, match="not negative"):
        paddle.nn.utils.clip_grad_value_(paddle.ones([2]), -1.0)


def test_zero_copy_is_warned_of() -> None:
    """to_variable copies."""
    with pytest.warns(UserWarning, match="zero_copy"):
        paddle.base.dygraph.to_variable(np.ones(2), zero_copy=True)
