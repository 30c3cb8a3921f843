"""Agreement of two computations of the same."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.checker import Options, Status, check
from opkit.checker.model.agreement import agree
from tests.checker.table import checkable


def test_integers_agree_where_they_are_equal() -> None:
    """An index that comes out beside a value has no rounding."""
    assert agree(np.array([1, 2]), np.array([1, 2]))
    assert not agree(np.array([1, 2]), np.array([1, 3]))
    assert agree(np.array([1.0]), np.array([1.0 + 1e-16]))


@pytest.mark.parametrize(("is_singular", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_what_follows_rounding_alone_at_repeated_values_is_no_fault_of_a_layout(is_singular: bool, status: Status) -> None:
    """As the inverse of a matrix of equal rows does; a result that depends on strides is one all the same."""

    def spread(x: np.ndarray) -> np.ndarray:
        return x - x.mean() + 1e-17 * (x.strides[0] == 0) + 1e-30 * x if is_singular else x + 1e-3 * (x.strides[0] == 0)

    made = checkable(
        lambda x: np.asarray(1 / spread(x)) if is_singular else spread(x),
        lambda x, y, dy: dy,
        infer=None,
        cases=lambda rng: [{"x": rng.normal(size=(3, 4))}],
    )
    report = check(made, Options(select=frozenset({"GC130"})))
    assert {item.status for item in report.checks if item.code == "GC130"} == {status}


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_infinite_at_repeated_values_is_no_fault_of_a_layout() -> None:
    """The determinant of equal rows is 0 or the rounding of one, as its memory lies; its logarithm is far apart."""
    made = checkable(
        lambda x: np.log(np.abs(x[0, 0] - x[0, 1] + 1e-17 * (x.strides[1] == 0)))[None],
        lambda x, y, dy: dy,
        infer=None,
        cases=lambda rng: [{"x": rng.normal(size=(2, 2))}],
    )
    report = check(made, Options(select=frozenset({"GC130"})))
    assert {item.status for item in report.checks if item.code == "GC130"} == {Status.PASS}
