"""A gradient that is not finite in float16: a fault, or what float16's range explains."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.verify.subjects.half_precision import difference

X = np.array([0.5, -1.25, 2.0])
LOST = np.array([0.5, np.nan, 2.0], np.float16)


def _of(
    *, exact: object = X, given: object = LOST, dtype: str = "float16", results: object = X, source: object = X
) -> str:
    one, other, made, read = (np.asarray(item) for item in (exact, given, results, source))
    return difference(one, other, dtype, 1e-3, [np.ones(3)], [made], [read, np.arange(3)])


def test_a_gradient_that_float16_can_hold_is_finite_in_it() -> None:
    """One entry that is not finite is enough: nothing about the inputs or the results explains it."""
    assert "not finite in float16" in _of()


@pytest.mark.parametrize(
    "changed",
    [
        {"exact": np.array([0.5, 1e5, 2.0])},
        {"results": np.array([1.0, np.inf])},
        {"source": np.array([0.5, 1e-2, 2.0])},
        {"source": np.array([15.0, 10.0])},
    ],
    ids=["gradient", "results", "small input", "large inputs"],
)
def test_what_float16_cannot_hold_explains_it(changed: dict[str, np.ndarray]) -> None:
    """The exact gradient, forward's results, or the square of a square norm lie beyond its range."""
    assert _of(**changed) == ""


def test_the_range_explains_nothing_in_bfloat16() -> None:
    """The range of bfloat16 is that of float32: a gradient that is mostly not finite in it is another one."""
    lost = np.full(3, np.nan, np.float32)
    assert "another one in bfloat16" in _of(given=lost, dtype="bfloat16", source=np.array([1e-2]))
