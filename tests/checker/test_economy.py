"""Economy: what a check need not run, it does not run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit.checker import Case, Options, check
from opkit.checker.derivative.jacobian import analytic
from opkit.checker.model.evaluate import Evaluator
from opkit.verify import gradcheck
from tests.checker.functions import checkable_of


def strides_seen(select: frozenset[str], x: np.ndarray) -> list[tuple[int, ...]]:
    """Return how the arguments of forward lay in memory, call by call."""
    seen: list[tuple[int, ...]] = []

    def forward(x: Any) -> Any:
        seen.append(x.strides)
        return x * x

    report = check(checkable_of(forward, lambda x, y, dy: 2 * x * dy, [x]), Options(select=select))
    assert report.status.value == "pass"
    return seen


def test_a_check_whose_reports_are_unwanted_is_not_run() -> None:
    """Memory layouts are tried where GC130 or GC131 is wanted, and not for the sake of others."""
    plain = {(8,)}
    assert set(strides_seen(frozenset({"GC101"}), np.ones(4))) == plain
    assert set(strides_seen(frozenset({"GC101", "GC131"}), np.ones(4))) > plain


def test_a_layout_is_tried_once() -> None:
    """Reversed and permuted are one layout of an array with one axis: as often tried as either."""
    codes = frozenset({"GC101", "GC130"})
    row, matrix = np.linspace(1.0, 2.0, 6), np.linspace(1.0, 2.0, 6).reshape(2, 3)
    reversed_row = strides_seen(codes, row).count((-8,))
    assert reversed_row == strides_seen(codes, matrix).count((-24, -8)) > 0


def jacobian_of(backward: Any) -> tuple[np.ndarray, int]:
    """Return the Jacobian (24, 24) that backward claims for a cube, and the calls of backward that it took."""
    called: list[int] = []

    def counted(x: Any, y: Any, dy: Any) -> Any:
        called.append(1)
        return backward(x, y, dy)

    x = np.linspace(1.0, 2.0, 24).reshape(4, 6)
    ev = Evaluator(checkable_of(lambda x: x**3, counted, [x]), Case({"x": x}, {})).prepare()
    return analytic(ev)[ev.leaves[0]], len(called)


def test_elements_that_backward_keeps_apart_take_two_calls() -> None:
    """The Jacobian of 24 separate elements is known from one call, and proven by a second."""
    found, calls = jacobian_of(lambda x, y, dy: 3 * x * x * dy)
    assert calls == 2
    assert np.allclose(found, np.diag(3 * np.linspace(1.0, 2.0, 24) ** 2), 1e-15, 0.0)


@pytest.mark.parametrize("share", [1e-6, 1.0])
def test_an_element_that_gets_what_belongs_to_another_is_not_separate(share: float) -> None:
    """However little of one element's gradient comes from another's, the whole Jacobian is asked for."""

    def backward(x: Any, y: Any, dy: Any) -> Any:
        given = 3 * x * x * dy
        given[2, 3] += share * dy[1, 1]
        return given

    found, _ = jacobian_of(backward)
    assert found[7, 15] == pytest.approx(share, 1e-9)


@pytest.mark.parametrize(
    "spoilt", [lambda dy: np.clip(dy, -1, 1), np.abs, lambda dy: dy + 1e-6, lambda dy: dy**3 / (dy * dy)]
)
def test_a_gradient_that_does_not_follow_what_comes_in_is_not_separate(spoilt: Any) -> None:
    """Clipped, without its sign, with something added, or not defined at 0: multiples of two show it."""
    _, calls = jacobian_of(lambda x, y, dy: 3 * x * x * spoilt(dy))
    assert calls >= 24


def test_an_option_of_a_type_that_forward_refuses_is_not_tried_with_other_shapes() -> None:
    """It raised on that type with every shape that it takes."""
    given: list[float] = []

    def forward(x: Any, w: Any, size: Any = None) -> Any:
        if type(size) is float:
            given.append(size)
            raise TypeError("size is an int")
        return x * w * (size or 1)

    def backward(x: Any, w: Any, dy: Any, size: Any = None) -> Any:
        return w * dy * (size or 1), x * dy * (size or 1)

    report = gradcheck(forward, backward, isolate=False)
    assert report.ops[0].status.value == "pass"
    assert 0 < given.count(0.5) < 60  # 1,234 with others
