"""Tensors of lists, copies of Tensors, tensor arrays, and values that are refused. Facts of Paddle 2.6.2."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import UnsupportedError
from opkit.paddle.tensor import array_length, array_read, array_write, create_array


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


def test_a_tensor_array_is_a_list() -> None:
    """array_write puts a Tensor at a place or behind the last; array_read takes it."""
    at = [paddle.to_tensor([k]) for k in range(3)]
    held = array_write(paddle.ones([2]), at[0])
    held = array_write(paddle.zeros([2]), at[1], held)
    array_write(paddle.full([2], 5.0), at[0], held)
    assert array_read(held, at[0]).numpy().tolist() == [5.0, 5.0]
    assert int(array_length(held)) == 2
    assert create_array("float32", [held[1]])[0] is held[1]
    with pytest.raises(AssertionError, match="between 0 and 2"):
        array_write(held[0], paddle.to_tensor(3), held)
    with pytest.raises(TypeError, match="is a list"):
        array_read(np.ones(2), at[0])


def test_graphs_have_no_tensor_array() -> None:
    """In a graph the message names what to use."""
    paddle.enable_static()
    try:
        with pytest.raises(UnsupportedError, match="list of Variables"):
            create_array("float32")
    finally:
        paddle.disable_static()


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
