"""What a kernel does to Python and numpy is found and put back; what it raises can be read."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from opkit.checker import OpReport, Status, check
from opkit.checker.model.raised import readable, words_of
from opkit.replaced import put_back
from tests.checker.functions import checkable_of

X = np.array([0.5, -1.5, 2.0])


def report_of(harm: Callable[[], object], backward_factor: float = 2.0) -> OpReport:
    """Check x * x whose forward does something besides."""

    def forward(x: np.ndarray) -> np.ndarray:
        harm()
        return x * x

    made = checkable_of(lambda x: x * x, lambda x, y, dy: backward_factor * x * dy, [X.copy()])
    return check(replace(made, forward=lambda arrays, attrs: [forward(arrays["x"])]))


@pytest.mark.parametrize(
    ("space", "name"), [(np, "isfinite"), (np, "asarray"), (np.linalg, "norm"), (builtins, "sorted"), (builtins, "len")]
)
def test_a_function_that_a_kernel_replaces_is_named_and_put_back(space: object, name: str) -> None:
    """GC198 is the one finding of an op that is right otherwise."""
    before = getattr(space, name)
    report = report_of(lambda: vars(space).__setitem__(name, None))
    assert getattr(space, name) is before
    assert [item.code for item in report.checks if item.status is Status.FAIL] == ["GC198"]
    assert name in report.findings[0].message


def test_a_notebooks_own_input_is_none_of_the_ops_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has another one in every cell, and opkit was imported in an earlier one."""
    monkeypatch.setattr(builtins, "input", lambda prompt="": "")
    assert report_of(lambda: None).status is Status.PASS


def test_a_replaced_comparison_hides_no_wrong_gradient() -> None:
    """The function is named beside the gradient."""
    report = report_of(lambda: vars(np).__setitem__("array_equal", lambda *args, **kwargs: True), 3.0)
    assert {"GC101", "GC198"} <= {item.code for item in report.findings}


def test_a_module_that_a_kernel_drops_is_put_back() -> None:
    """``sys.modules`` holds what it held."""
    module = sys.modules.pop("json")
    assert put_back() == ["sys.modules['json']"]
    assert sys.modules["json"] is module
    assert put_back() == []


def test_a_right_op_changes_nothing() -> None:
    """GC198 holds."""
    report = report_of(lambda: None)
    assert [item.status for item in report.checks if item.code == "GC198"] == [Status.PASS]


class Silent(Exception):
    """Raises where its text is asked for."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Exits(Exception):
    """Leaves where its text is asked for."""

    def __str__(self) -> str:
        sys.exit(3)


@pytest.mark.parametrize("kind", [Silent, Exits])
def test_an_exception_without_text_keeps_its_name_and_place(kind: type[Exception]) -> None:
    """What stands for it can be read, and has the traceback of the original."""
    with pytest.raises(kind) as caught:
        raise kind
    made = readable(caught.value)
    assert made.__traceback__ is caught.value.__traceback__
    assert words_of(caught.value).startswith(f"{kind.__name__} (no text: ")
    assert type(made).__name__ == kind.__name__
    assert "cannot be read" in str(made)


def test_a_readable_exception_stays_itself() -> None:
    """Nothing is put in its place, and its chain of causes stays."""
    error, cause = ValueError("no"), KeyError("x")
    error.__cause__ = cause
    assert readable(error) is error
    assert error.__cause__ is cause
    assert words_of(error) == "ValueError: no"


def test_a_circle_of_causes_is_opened() -> None:
    """Whoever follows the causes comes to an end."""
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    found: BaseException | None = readable(one)
    for _ in range(3):
        found = None if found is None else found.__cause__
    assert found is None


@pytest.mark.parametrize("result", [np.zeros(3, [("a", "f8")]), np.full(3, "a"), np.zeros(3, "M8[s]")])
def test_results_that_are_no_numbers_are_the_kernels_fault(result: np.ndarray) -> None:
    """Of records, texts and dates it is said that numbers were expected."""
    made = checkable_of(lambda x: x, lambda x, y, dy: dy, [X.copy()])
    report = check(replace(made, forward=lambda arrays, attrs: [result]))
    assert "expected numbers" in report.findings[0].message


def test_a_forward_that_raises_later_is_the_kernels_fault() -> None:
    """What it takes while cases are sought and refuses afterwards is GC180, not opkit's own failure."""
    calls: list[int] = []

    def forward(x: np.ndarray) -> np.ndarray:
        calls.append(1)
        if len(calls) > 2:
            raise TypeError("no more")
        return x * x

    report = check(checkable_of(forward, lambda x, y, dy: 2 * x * dy, [X.copy()]))
    assert "GC180" in [item.code for item in report.findings]
