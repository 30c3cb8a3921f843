"""A gradient that is not finite in float16: a fault, or what float16's range explains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit.checker import Case, Checkable
from opkit.checker.basis import rests_on
from opkit.checker.model.formats import FORMATS
from opkit.verify.subjects.half_precision import half_precision

X = np.array([0.5, -1.25, 2.0])
LOST = np.array([0.5, np.nan, np.nan], np.float16)


def _of(*, exact: object = X, given: object = LOST, dtype: str = "float16", source: object = X) -> str:
    """Return what is said of gradients of x, exact in float32 and another in half."""

    def run(arrays: Any, attrs: Any, douts: Any, form: str) -> Any:
        if form not in (dtype, "float32", "float64"):
            raise TypeError(form)
        return [np.ones(3)], {"x": np.asarray(given if form == dtype else exact)}

    found = half_precision(run, {"x": np.asarray(source), "n": np.arange(3)}, {}, [np.ones(3)])
    return "".join(fault.message for fault in found)


def test_a_gradient_that_float16_can_hold_is_finite_in_it() -> None:
    """Nothing about the inputs or the results explains that most entries are not finite."""
    assert "not finite in float16" in _of()


@pytest.mark.parametrize(
    "changed",
    [
        {"exact": np.array([0.5, 1e5, 2.0])},
        {"source": np.array([0.5, 1e-2, 2.0])},
        {"source": np.array([15.0, 10.0])},
    ],
    ids=["gradient", "small input", "large inputs"],
)
def test_what_float16_cannot_hold_explains_it(changed: dict[str, np.ndarray]) -> None:
    """The exact gradient, or the square of a square norm, lies beyond its range."""
    assert _of(**changed) == ""


def test_a_report_says_the_format_whose_numbers_the_arrays_hold() -> None:
    """Arrays of float32 that are handed on in bfloat16, in the case and in the line about all."""
    case = Case({"x": np.float32([1.0]), "w": np.float32([1.0])}, origin="user")
    op = Checkable("f", (), (), lambda arrays, attrs: [], formats={"x": "bfloat16"})
    assert [case.to_json(op.formats)[name]["dtype"] for name in "xw"] == ["bfloat16", "float32"]
    assert rests_on(op, [case]) == "1 case drawn (x in [1, 1], bfloat16; w in [1, 1], float32)"


def test_the_range_explains_nothing_in_bfloat16() -> None:
    """The range of bfloat16 is that of float32: a gradient that is mostly not finite in it is another one."""
    lost = np.full(3, np.nan, np.float32)
    assert "another one in bfloat16" in _of(given=lost, dtype="bfloat16", source=np.array([1e-2]))


@pytest.mark.parametrize(("added", "is_told"), [(0.0, False), (0.5, True)])
def test_what_float32_loses_too_is_lost_by_cancellation(added: float, is_told: bool) -> None:
    """The gradient of a norm of two elements is the small difference of large terms; one that is wrong in half alone is told."""

    def run(arrays: Any, attrs: Any, douts: Any, form: str) -> Any:
        if form == "bfloat16":
            raise TypeError(form)
        x, dy = arrays["x"].astype(form), (np.ones(2) if douts is None else douts[0]).astype(form)
        dy, centred = dy * np.array([0.78397547, 1.49343115], form), x - x.mean()
        variance = np.square(centred).mean() + x.dtype.type(1e-5)
        scale = 1 / np.sqrt(variance)
        inner = (dy * centred).sum() * centred / (2 * variance ** x.dtype.type(1.5))
        dx = dy * scale - dy.sum() * scale / 2 - inner
        dx = dx + added if form == "float16" else dx
        return [np.asarray(centred * scale, np.float64)], {"x": np.asarray(dx, np.float64)}

    given = {"x": np.array([-0.65382861, -0.12961363])}
    found = half_precision(run, given, {}, [np.array([-0.09098672, 1.50240355])])
    assert [item.message.partition(":")[0] for item in found] == ["the gradient of x is another one in float16 than in float32"] * is_told


@pytest.mark.parametrize(("left", "count"), [(0.03, 0), (2.0, 1)])
def test_a_gradient_that_cancels_in_float32_may_leave_rounding(left: float, count: int) -> None:
    """A softmax of one has none: what bfloat16 leaves of the difference of two equal sums is little."""

    def run(arrays: Any, attrs: Any, douts: Any, form: str) -> Any:
        given = np.full(3, left if form == "bfloat16" else 0.0)
        return [np.ones(3)], {"x": given if douts is not None else None}

    assert len(half_precision(run, {"x": np.ones(3)}, {}, [np.ones(3)])) == count


@pytest.mark.parametrize("seed", range(3))
def test_most_entries_need_not_differ_for_the_first_incoming_gradient(seed: int) -> None:
    """A term that has the wrong sign in half alone is small beside some incoming gradients: others are tried."""
    rng = np.random.default_rng(seed)
    x, dout = rng.standard_normal((4, 6)), rng.standard_normal((4, 6))

    def run(arrays: Any, attrs: Any, douts: Any, form: str) -> Any:
        if form == "float16":
            raise TypeError(form)
        rounded = FORMATS[form].rounded if form == "bfloat16" else np.asarray
        scale = 1 / np.sqrt(np.square(arrays["x"]).mean(-1, keepdims=True))
        unit = arrays["x"] * scale
        dy = np.ones_like(unit) if douts is None else douts[0]
        inner = unit * (dy * unit).mean(-1, keepdims=True)
        return [rounded(unit)], {"x": rounded(scale * (dy + inner if form == "bfloat16" else dy - inner))}

    assert [fault.input for fault in half_precision(run, {"x": x}, {}, [dout])] == ["x"]
