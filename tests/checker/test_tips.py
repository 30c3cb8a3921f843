"""A gradient that is not finite: undecided at the tip of a cone that nobody gave, a failure everywhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opkit.checker import Case, OpReport, Status, check
from opkit.checker.checks.cone_tips import is_tip
from opkit.checker.model.evaluate import Evaluator
from opkit.ir import TensorDesc
from tests.checker.table import checkable

Function = Callable[..., np.ndarray]


def _norm(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((x * x).sum(axis=-1)))


def _norm_back(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    return np.asarray(x / y[..., None] * dy[..., None])


def _report(forward: Function, backward: Function, **fields: Any) -> OpReport:
    """Return the report on an op as the search meets it: on ordinary numbers, on zeros, on slices of one."""
    arrays = (np.array([[0.5, -1.0, 2.0], [1.0, 3.0, -0.5]]), np.zeros((2, 3)), np.zeros((2, 1)))
    made = checkable(forward, backward, **{"infer": None, **fields})
    return check(made if "cases" in fields else replace(made, recorded=tuple(Case({"x": array}) for array in arrays)))


def _statuses(report: OpReport) -> list[Status]:
    return [item.status for item in report.checks if item.code == "GC105"]


@pytest.mark.parametrize(
    ("forward", "is_one"),
    [
        (_norm, True),
        (lambda x: np.sqrt((x * x).mean()), True),
        (lambda x: (np.abs(x) ** 3).sum(axis=-1) ** (1 / 3), True),
        (lambda x: x.std(axis=-1), True),
        (lambda x: -np.logaddexp(-np.hypot(x[..., 0], x[..., 1]), -np.hypot(x[..., 2], x[..., 3])), True),
        (np.abs, False),
        (lambda x: np.abs(x).sum(axis=-1), False),
        (lambda x: np.abs(x).max(axis=-1), False),
        (lambda x: np.abs(x[..., 0] - x[..., 1]), False),
        (lambda x: np.maximum(x, 0.0), False),
    ],
    ids=["norm", "rms", "cubes", "deviation", "least of norms", "abs", "sum of abs", "largest", "distance", "relu"],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_tip_is_told_from_an_edge(forward: Function, is_one: bool, dtype: str) -> None:
    """A norm's kink takes a whole slice, that of an absolute value one element or one difference."""
    evaluator = Evaluator(checkable(forward, None), Case({"x": np.zeros((2, 4), dtype)})).prepare()
    assert is_tip(evaluator, evaluator.leaves[0], 0, [0]) is is_one


def test_values_that_do_not_meet_at_a_point_make_it_a_tip() -> None:
    """The angle of two vectors that are both zero is 0 along every axis, and anything beside it."""

    def angle(x: np.ndarray) -> np.ndarray:
        return np.asarray(
            np.arctan2(x[..., 0] * x[..., 3] - x[..., 1] * x[..., 2], x[..., 0] * x[..., 2] + x[..., 1] * x[..., 3])
        )

    for forward, is_one in ((angle, True), (lambda x: x.prod(axis=-1), False), (lambda x: (x * x).sum(axis=-1), False)):
        evaluator = Evaluator(checkable(forward, None), Case({"x": np.zeros((2, 4))})).prepare()
        assert is_tip(evaluator, evaluator.leaves[0], 0, [0], is_bent=False) is is_one


def test_nan_at_a_norms_zero_is_undecided_where_nobody_gave_it() -> None:
    """The search chose the zeros; the report says that cases decide."""
    report = _report(_norm, _norm_back)
    assert report.status is Status.UNDECIDED
    assert _statuses(report) == [Status.UNDECIDED]
    (item,) = [item for item in report.checks if item.code == "GC105"]
    assert item.beyond
    assert "return a finite gradient there, or say so in a cases function" in item.message


def test_nan_at_a_norms_zero_fails_where_it_was_given() -> None:
    """Cases say what is meant."""
    report = _report(_norm, _norm_back, cases=lambda rng: [{"x": np.array([[0.0, 0.0], [1.0, 2.0]])}])
    assert Status.FAIL in _statuses(report)


def test_nan_at_a_norms_zero_fails_where_a_definition_takes_it() -> None:
    """An infer function says which shapes are meant, and an op directory is for any values of them."""
    report = _report(_norm, _norm_back, infer=lambda descs, attrs: [TensorDesc(descs["x"][0].shape[:-1], "float64")])
    assert Status.FAIL in _statuses(report)


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (np.abs, lambda x, y, dy: x / y * dy),
        (lambda x: (x * x).sum(axis=-1), lambda x, y, dy: 2 * x * x / x * dy[..., None]),
        (
            lambda x: (x * x).sum(axis=-1),
            lambda x, y, dy: 2 * np.sqrt(y * y)[..., None] * x / y[..., None] * dy[..., None],
        ),
    ],
    ids=["edge", "removable", "removable for a slice"],
)
def test_nan_that_one_element_makes_or_that_is_needless_fails(forward: Function, backward: Function) -> None:
    """At an edge, and where forward has a derivative, a gradient that is not finite is wrong."""
    assert Status.FAIL in _statuses(_report(forward, backward))


def test_a_norm_of_one_element_is_no_other_case() -> None:
    """Where larger slices have tips, what happens at slices of one or two is the same matter."""
    report = _report(
        lambda x: x.std(axis=-1),
        lambda x, y, dy: (x - x.mean(-1, keepdims=True)) / (y * x.shape[-1])[..., None] * dy[..., None],
    )
    assert _statuses(report) == [Status.UNDECIDED]


def _hyperbolic(x: np.ndarray) -> np.ndarray:
    """The distance from the origin, which a step of 1e-9 does not change: its cosine is 1 in float64."""
    return np.asarray(np.arccosh(np.sqrt(1 + (x * x).sum(axis=-1))))


@pytest.mark.parametrize(
    ("forward", "is_one"), [(_hyperbolic, True), (lambda x: (x * x).sum(axis=-1), False), (np.zeros_like, False)]
)
def test_a_tip_is_seen_where_fine_steps_are_lost_in_rounding(forward: Function, is_one: bool) -> None:
    """No ladder shows the kink there; results of other rows, which do not depend on the element, say nothing."""
    evaluator = Evaluator(checkable(forward, None), Case({"x": np.zeros((2, 4))})).prepare()
    assert is_tip(evaluator, evaluator.leaves[0], 0, [0, 1], is_bent=False) is is_one
