"""One mistake is one finding: what follows from it is folded under it, at the line that raised, with a hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit.checker import CheckResult, Report, Status, check, checkable_of
from opkit.checker.causes import folded

X = [[np.linspace(-1.0, 2.0, 12).reshape(3, 4)], [np.linspace(-1.0, 1.0, 16).reshape(4, 4)]]


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def without_keepdims(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    dot = (dy * y).sum(axis=-1)
    return y * (dy - dot)


def wrong_unpacking(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    rows, columns, depth = dy.shape
    return y * dy.reshape(rows, columns, depth)


def without_return(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> Any:
    y * (dy - (dy * y).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(
    ("backward", "code", "line", "hint"),
    [
        (without_keepdims, "GC181", 2, "keepdims=True"),
        (wrong_unpacking, "GC181", 1, "unpacked"),
        (without_return, "GC145", 0, "return"),
    ],
)
def test_a_mistake_is_one_finding(backward: Callable[..., Any], code: str, line: int, hint: str) -> None:
    """The exception or the contract is the cause; wrong numbers and further exceptions follow from it."""
    (cause,) = check(checkable_of(softmax, backward, X)).findings
    assert cause.code == code
    assert cause.consequences
    assert hint in cause.hint
    assert cause.where is not None
    assert cause.where.line == backward.__code__.co_firstlineno + line
    assert [item["code"] for item in cause.to_json()["consequences"]] == [item.code for item in cause.consequences]


def test_a_cause_of_one_input_takes_nothing_from_another() -> None:
    """A missing gradient of a explains nothing about b."""
    missing = CheckResult("missing_gradient", Status.FAIL, "GC145", input="a")
    wrong = CheckResult("jacobian", Status.FAIL, "GC101", input="b")
    assert [item.code for item in folded([wrong, missing])] == ["GC101", "GC145"]


def test_two_wrong_numbers_stand_side_by_side() -> None:
    """Without a cause nothing is folded."""
    results = [CheckResult("jacobian", Status.FAIL, "GC101"), CheckResult("additive", Status.FAIL, "GC110")]
    assert folded(results) == results


def test_a_report_reads_as_text_in_python() -> None:
    """str() is plain text with every finding, repr() one short line, the HTML form escaped; failures are at hand."""
    report = Report("1", 0, (check(checkable_of(softmax, without_keepdims, X)),))
    assert repr(report) == "<Report of 1 op: fail>"
    assert str(report).startswith("fail      softmax\n  fail GC181 backward_raises: backward raised ValueError")
    assert "hint: " in str(report)
    assert "--&gt;" in report._repr_html_()
    assert [item.code for item in report.failures] == ["GC181"]
