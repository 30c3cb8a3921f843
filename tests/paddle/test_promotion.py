"""Paddle's own rules of dtypes, for its operators and functions, in both modes; they hold nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.paddle as paddle
from opkit import ops
from opkit.errors import DtypeError
from opkit.ir import STRICT, Program, speaking
from opkit.oneflow import typing as tp


@pytest.fixture(params=["dynamic", "static"])
def made(request: pytest.FixtureRequest) -> Any:
    """Return what makes a value of a dtype in one of the two modes."""
    if request.param == "dynamic":
        yield lambda dtype: paddle.to_tensor(np.ones(2, dtype))
        return
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        mode = paddle.in_dynamic_mode()
        assert not mode
        count = iter(range(100))
        yield lambda dtype: paddle.static.data(f"x{next(count)}", [2], dtype)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("float32", "float64", "float64"),
        ("float64", "float32", "float64"),
        ("float16", "float32", "float32"),
        ("float32", "int64", "float32"),
        ("int64", "float32", "float32"),
        ("int32", "int64", "int64"),
        ("bool", "float32", "float32"),
        ("uint8", "int32", "int32"),
    ],
)
def test_dtypes_meet(made: Any, left: str, right: str, expected: str) -> None:
    """Two floats meet in the wider; a float stays what it is when it meets an integer."""
    x, y = made(left), made(right)
    for found in (x + y, x * y, paddle.add(x, y), paddle.multiply(x, y), paddle.maximum(x, y)):
        assert found.dtype == expected


def test_quotient_of_integers_is_float32(made: Any) -> None:
    """Quotients: int / int, int / number and int + 1.5 are float32 (Paddle 2.6)."""
    x = made("int64")
    for found in (x / x, x / 2, x + 1.5, 1.5 * x, x**0.5, paddle.pow(x, 0.5), paddle.exp(x)):
        assert found.dtype == "float32"
    assert (x + 1).dtype == "int64"
    assert paddle.divide(x, x).dtype == "int64"


def test_sum_and_mean_of_integers(made: Any) -> None:
    """The sum of int32 or bool is int64, the mean of integers stays an integer (Paddle 2.6)."""
    assert paddle.sum(made("int32")).dtype == "int64"
    assert made("bool").sum().dtype == "int64"
    assert made("int32").mean().dtype == "int32"


def test_a_job_of_the_other_framework_does_not_disturb_tensors() -> None:
    """A OneFlow job, traced or op by op, has its own rules while it runs, and Paddle's tensors theirs after it."""

    def sums(x: tp.Numpy.Placeholder((2,), dtype=flow.int32)) -> tp.Numpy:  # type: ignore[valid-type]
        return (x + x) / x

    x = paddle.to_tensor([1, 2])
    data = np.array([3, 4], np.int32)
    for is_eager in (False, True):
        flow.enable_eager_execution(is_eager)
        try:
            assert flow.global_function()(sums)(data).dtype == np.int32
        finally:
            flow.enable_eager_execution(False)
        assert (x / x).dtype == paddle.float32


def test_without_a_facade_operators_are_strict() -> None:
    """Tensors and Programs that no framework's rules hold for promote nothing."""
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1, 2])
    with speaking(STRICT), pytest.raises(DtypeError, match="must be the same"):
        x + y
    with paddle.static.program_guard(Program(STRICT)):
        a, b = paddle.static.data("a", [2], "float32"), paddle.static.data("b", [2], "int64")
        with pytest.raises(DtypeError, match="must be the same"):
            a + b
        assert a.dtype is np.dtype("float32")


def test_gradients_of_promoted_operands_have_their_dtypes() -> None:
    """Each operand gets its gradient in its own dtype."""
    x = paddle.to_tensor(np.ones(2, "float32"), stop_gradient=False)
    y = paddle.to_tensor(np.ones(2, "float64"), stop_gradient=False)
    (x * y / (x + y)).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (paddle.float32, paddle.float64)


def test_the_rows_below_hold_no_promotion() -> None:
    """What Paddle's operators do, the shared builders refuse."""
    x, y = paddle.to_tensor([1.0]), paddle.to_tensor([1])
    assert (x + y).dtype == paddle.float32
    with pytest.raises(DtypeError, match="must be the same"):
        ops.add(x, y)
