"""Numbers at the edges of their dtypes: what numpy makes of them, the same in both modes, or an error of opkit's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor
from opkit.errors import OpkitError, ShapeError, UsageError
from opkit.ir import Program
from opkit.static import program_guard
from opkit.static.parameters import data
from tests.ops.both_modes import dynamic, same, static
from tests.ops.cases import CASES, OpCase, arrays_of


def edges(dtype: np.dtype) -> np.ndarray:
    """The least and the largest numbers, denormal ones, zeros, infinities and NaN."""
    info = np.finfo(dtype)
    least, small = info.smallest_subnormal, info.tiny / 2
    found = [least, -least, 0.0, info.max, np.inf, small, 1.0, -np.inf, -0.0, -info.max, np.nan, -small, info.tiny]
    return np.array(found, dtype)


def stressed(array: np.ndarray, start: int) -> np.ndarray:
    """Replace floats by numbers at the edges."""
    if array.dtype.kind != "f":
        return array
    numbers = edges(array.dtype)
    return numbers[(np.arange(array.size) + start) % numbers.size].reshape(array.shape)


def outcome(run: Callable[[], Any]) -> tuple[Any, type | None]:
    """Return what a run gives, or the class of opkit's error; another error is raised."""
    try:
        return run(), None
    except OpkitError as error:
        return None, type(error)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_at_the_edges(case: OpCase) -> None:
    """Denormal and huge numbers, infinities and NaN: both modes give the same bits, or the same error of opkit's."""
    for dtype in case.dtypes[::-1][:2]:
        arrays = [stressed(array, 5 * i) for i, array in enumerate(arrays_of(case, dtype))]
        first, error = outcome(lambda arrays=arrays: dynamic(case, arrays))
        second, other = outcome(lambda arrays=arrays: static(case, arrays, known=True))
        assert error is other
        if error is None:
            for kind, one, two in zip(("output", "gradient"), first, second):
                for i, (a, b) in enumerate(zip(one, two)):
                    same(a, b, f"{dtype}: {kind} {i}")


@pytest.mark.parametrize(
    "matrices",
    [ops.svd, ops.pseudo_inverse],
    ids=["svd", "pinv"],
)
def test_a_decomposition_that_does_not_converge_is_an_error(matrices: Callable[[Any], Any]) -> None:
    """Matrices with NaN: the op is named, and the class is RuntimeError too."""
    with pytest.raises(UsageError, match=r"op '\w+': .*did not converge") as raised:
        matrices(Tensor(np.full((2, 2), np.nan)))
    assert isinstance(raised.value, RuntimeError)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_wrap_as_numpys_do(dtype: str) -> None:
    """Beyond the largest number comes the least: sums, products and negations, without a warning, in both modes."""
    most = np.iinfo(dtype).max
    case = OpCase("wraps", lambda x, y: (ops.add(x, y), ops.mul(x, y), ops.neg(ops.sub(ops.neg(x), y))), ())
    arrays = [np.array([most, most, -most - 1], dtype), np.array([1, most, -1], dtype)]
    with np.errstate(all="ignore"):
        expected = [arrays[0] + arrays[1], arrays[0] * arrays[1], -(-arrays[0] - arrays[1])]
    for run in (dynamic(case, arrays), static(case, arrays, known=True)):
        for found, array in zip(run[0], expected):
            same(found, array, dtype)


HUGE = 2**31 + 8


@pytest.mark.parametrize(
    ("name", "function", "shape"),
    [
        ("reshape", lambda x: ops.reshape(x, [2, -1]), (2, HUGE // 2)),
        ("expand", lambda x: ops.expand_dims(x, 1), (HUGE, 1)),
        ("part", lambda x: ops.slice(x, [0], [HUGE - 3], [HUGE]), (3,)),
        ("item", lambda x: ops.getitem(x, (HUGE - 1,)), ()),
        ("broadcast", lambda x: ops.broadcast_to(x, [2, HUGE]), (2, HUGE)),
        ("shape", lambda x: ops.swapaxes(ops.expand_dims(x, 0), 0, 1), (HUGE, 1)),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_more_elements_than_32_bits_count(name: str, function: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    """2**31 + 8 elements of one number, which take no memory: views of them take none either, and places are right."""
    found = function(Tensor(np.broadcast_to(np.float32(7), (HUGE,))))
    assert found._data.shape == shape
    assert found._data.reshape(-1)[-1] == 7 if found._data.size < HUGE else found._data.flat[-1] == 7


def test_sizes_beyond_64_bits_are_inferred_exactly() -> None:
    """A graph may speak of shapes that no memory holds; the count of elements is a Python number."""
    with program_guard(Program(), Program()):
        x = data("x", (2**40, 2**40), "float32")
        assert ops.shape_of(ops.matmul(x, ops.swapaxes(x, 0, 1))) == (2**40, 2**40)
        assert ops.shape_of(ops.reshape(x, [2**80])) == (2**80,)
        with pytest.raises(ShapeError):
            ops.reshape(x, [2**79])
