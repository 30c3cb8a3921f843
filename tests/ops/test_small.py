"""What costs less on small arrays gives the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.ops.kernels.small import ONE, ZERO, clipped, put, without

NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize(
    "bounds", [(0.0, 1.0), (-1.0, 0.0), (-0.0, 1.0), (-1.0, -0.0), (1.0, -1.0), (-np.inf, 0.5)], ids=str
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("repeats", [1, 500])
def test_clipped_is_clip(dtype: str, bounds: tuple[float, float], repeats: int) -> None:
    """Every number, the sign of every zero included, at sizes on both sides of the limit."""
    numbers = NUMBERS if dtype.startswith("float") else NUMBERS[:6]
    low, high = bounds if dtype.startswith("float") else (max(-9, bounds[0]).__trunc__(), bounds[1].__trunc__())
    x = np.repeat(np.array(numbers, dtype), repeats)
    assert clipped(x, low, high).tobytes() == np.clip(x, low, high).tobytes()


def test_numbers_have_the_dtype_asked_for() -> None:
    """A number of a dtype is made once."""
    assert ONE[np.dtype("float32")].dtype == np.float32
    assert ZERO[np.dtype("float64")] is ZERO[np.dtype("float64")]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(10,), (2, 5), (6000,), ()], ids=str)
def test_masks_are_where(dtype: str, shape: tuple[int, ...]) -> None:
    """Special numbers, sizes on both sides of the limit, other layouts, an array without axes."""
    x = np.resize(np.array(NUMBERS, dtype), shape)
    for values in (x, x.T, x[::-1] if shape else x):
        other, mask = values * values.dtype.type(3), values > ZERO[values.dtype]
        assert put(mask, values, other.copy()).tobytes() == np.where(mask, values, other).tobytes()
        found = without(~mask, values.copy())
        assert found.tobytes() == np.where(mask, values, ZERO[values.dtype]).tobytes()
        assert found.shape == values.shape
        assert found.dtype == values.dtype
