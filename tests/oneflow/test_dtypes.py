"""Dtypes under OneFlow: integers stay integers, nothing is promoted, and a blob's dtype is flow's."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.paddle as paddle
from opkit.errors import DtypeError
from opkit.oneflow import typing as tp

INT = tp.Numpy.Placeholder((3,), dtype=flow.int32)
FLOAT = tp.Numpy.Placeholder((3,), dtype=flow.float32)
X, Y = np.array([7, -7, 6], np.int32), np.array([2, 2, -3], np.int32)


@pytest.fixture(params=["graph", "op by op"], autouse=True)
def _execution(request: pytest.FixtureRequest) -> None:
    flow.enable_eager_execution(request.param == "op by op")


def run(build: Any, *arrays: np.ndarray) -> Any:
    """Run a job of int32 blobs."""
    if len(arrays) == 1:

        def one(x: INT) -> tp.Numpy:  # type: ignore[valid-type]
            return build(x)

        return flow.global_function()(one)(*arrays)

    def two(x: INT, y: INT) -> tp.Numpy:  # type: ignore[valid-type]
        return build(x, y)

    return flow.global_function()(two)(*arrays)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x, y: flow.math.divide(x, y), [3, -3, -2]),
        (lambda x, y: x / y, [3, -3, -2]),
        (lambda x, y: flow.math.add(x, y), [9, -5, 3]),
        (lambda x, y: x * y, [14, -14, -18]),
        (lambda x, y: flow.math.floordiv(x, y), [3, -4, -2]),
        (lambda x, y: flow.math.maximum(x, y), [7, 2, 6]),
        (lambda x, y: flow.math.squared_difference(x, y), [25, 81, 81]),
        (lambda x, y: flow.math.reduce_sum(x) + flow.math.reduce_sum(y), [7]),
    ],
)
def test_two_integer_blobs_give_integers(build: Any, expected: list[int]) -> None:
    """Arithmetic of int32 blobs is int32; a quotient is cut off towards 0, as in C."""
    found = run(build, X, Y)
    assert (found.dtype, found.tolist()) == (np.int32, expected)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: flow.math.reduce_sum(x), [6]),
        (lambda x: flow.math.reduce_sum(x, axis=0, keepdims=True), [6]),
        (lambda x: flow.math.reduce_mean(x), [2]),
        (lambda x: flow.math.reduce_prod(x), [-294]),
        (lambda x: flow.math.divide(x, 2), [3, -3, 3]),
        (lambda x: x / 2, [3, -3, 3]),
        (lambda x: x + 1.0, [8, -6, 7]),
        (lambda x: 2.5 * x, [14, -14, 12]),
        (lambda x: 1 - x, [-6, 8, -5]),
        (lambda x: flow.math.abs(x), [7, 7, 6]),
        (lambda x: flow.math.negative(x), [-7, 7, -6]),
        (lambda x: flow.math.square(x), [49, 49, 36]),
    ],
)
def test_one_integer_blob_gives_integers(build: Any, expected: list[int]) -> None:
    """Reductions keep the dtype; a number is converted to the blob's (OneFlow v0.4: scalar_add, scalar_mul)."""
    found = run(build, X)
    assert (found.dtype, found.tolist()) == (np.int32, expected)


@pytest.mark.parametrize("build", [flow.math.add, flow.math.divide, flow.math.maximum, lambda x, y: x * y])
def test_blobs_of_two_dtypes_do_not_meet(build: Any) -> None:
    """The error names both blobs."""

    @flow.global_function()
    def job(x: INT, y: FLOAT) -> tp.Numpy:  # type: ignore[valid-type]
        return build(x, y)

    with pytest.raises(DtypeError, match=r"int32\[3\] and float32\[3\]: the dtypes must be the same"):
        job(X, X.astype(np.float32))


def test_the_exponential_of_integers_is_an_error() -> None:
    """OneFlow has no such kernel; nothing is cast in silence."""
    with pytest.raises(DtypeError, match="floating-point"):
        run(flow.math.exp, X)


def test_division_of_integers_by_zero_is_an_error() -> None:
    """It ends the process in OneFlow; here it says what happened."""
    with pytest.raises(ZeroDivisionError, match="divisor"):
        run(flow.math.divide, X, Y * 0)


def test_a_blob_has_flows_dtype() -> None:
    """It is, compares to and prints as flow's, while Paddle is imported too."""
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.extend([x.dtype, (x + x).dtype, str(x.dtype), np.zeros(1, x.dtype).dtype, str(x)])
        return x

    run(look, X)
    assert seen[0] is seen[1] is flow.int32
    assert seen[2:4] == [str(flow.int32), np.dtype("int32")]
    assert "paddle" not in seen[4].lower()
    assert "lod" not in seen[4].lower()
    assert repr(paddle.to_tensor([1.0]).dtype) == "paddle.float32"


@pytest.mark.parametrize("other", [(np.float32, flow.float32), [1], {}, None, 3, object(), "no dtype"])
def test_a_dtype_compares_with_anything(other: Any) -> None:
    """What is not a dtype is not equal, and is not an error."""
    assert (flow.float16 == other) is False
    assert (other == flow.float16) is False
    assert flow.float16 != other


def test_equal_dtypes_of_any_form() -> None:
    """numpy's, Python's names and the other facade's dtypes compare by what they are."""
    assert flow.float32 == np.float32 == flow.float32
    assert flow.float32 == np.dtype("float32")
    assert flow.float32 == "float32"
    assert flow.float32 == paddle.float32
    assert paddle.float32 == flow.float32
    assert flow.float32 != flow.float64


def test_without_paddle_values_outside_jobs_are_flows() -> None:
    """Where OneFlow's facade is the one in use, its words and rules hold outside of jobs too."""
    code = (
        "import numpy as np, opkit.oneflow as flow\n"
        "x = flow.math.add(np.ones(2, np.int32), 1)\n"
        "print(x.dtype is flow.int32, (x / x).dtype is flow.int32, 'paddle' in repr(x))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "True", "False"]


@pytest.mark.parametrize("other", [(np.float32, flow.float32), [1], None, 3, "no dtype", np.dtype("S3")])
def test_a_dtype_is_not_equal_to_what_is_none(other: Any) -> None:
    """Comparing it with something else is False from either side, never an error."""
    assert (flow.float16 == other) is False
    assert (other == flow.float16) is False
