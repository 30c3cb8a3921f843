"""A gradient depends on what its arguments hold, not on where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opkit.checker import Arg, Case, Checkable, Options, Status, check
from opkit.checker.checks.purity import backward_purity, forward_purity
from opkit.checker.model.session import CheckSession
from opkit.checker.model.trial import Trial
from tests.checker.functions import checkable_of


def test_whole_numbers_stay_as_the_cases_have_them_in_every_layout() -> None:
    """A permutation of which each number is the first one is none; two of them are not handed over for each other."""
    seen: set[tuple[int, ...]] = set()

    def forward(arrays: Any, attrs: Any) -> list[np.ndarray]:
        seen.update(tuple(arrays[name].tolist()) for name in ("first", "second"))
        return [arrays["x"][arrays["first"]] * arrays["x"][arrays["second"]]]

    def cases(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
        yield {"x": rng.normal(size=(4, 2)), "first": np.array([1, 2, 0, 3]), "second": np.array([3, 2, 1, 0])}

    inputs = (Arg("x"), Arg("first"), Arg("second"))
    check(Checkable("shuffled", inputs, (Arg("y"),), forward, cases=cases), Options())
    assert {places for places in seen if len(places) == 4} == {(1, 2, 0, 3), (3, 2, 1, 0)}


def test_a_gradient_remembered_by_the_place_of_its_argument_is_found() -> None:
    """Memory is used again, in a training loop as in the check: what lay there before says nothing of the argument."""
    seen: dict[int, np.ndarray] = {}

    def backward(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return 2 * seen.setdefault(x.__array_interface__["data"][0], x.copy()) * dy

    kept = np.array([0.5, -1.5, 2.0])
    report = check(checkable_of(lambda x: x * x, backward, [kept]))
    assert "GC125" in [item.code for item in report.checks if item.status is Status.FAIL]


def test_a_large_case_is_run_a_few_times() -> None:
    """What small cases show of calls in other orders is not asked of a large one again: its own size counts there."""
    runs = []

    def forward(x: np.ndarray) -> np.ndarray:
        runs.append(x.size)
        return np.tanh(x)

    session = session_of(checkable_of(forward, lambda x, dy: dy / np.cosh(x) ** 2, [np.ones(3)]), 40)
    runs.clear()
    assert not [item for item in (*forward_purity(session), *backward_purity(session)) if item.is_finding]
    assert runs.count(40) <= 25


def test_a_buffer_that_only_large_cases_use_is_found() -> None:
    """An array that is returned again by calls with so many elements alone shows on the large case."""
    kept = np.empty(40)

    def forward(x: np.ndarray) -> np.ndarray:
        return np.tanh(x, out=kept if x.size == 40 else None)

    session = session_of(checkable_of(forward, lambda x, dy: dy / np.cosh(x) ** 2, [np.ones(3)]), 40)
    assert [item.code for item in forward_purity(session) if item.is_finding] == ["GC124"]


def session_of(checkable: Checkable, size: int) -> CheckSession:
    """Return a session of an op's own cases and a large one of so many elements."""
    trial = Trial(checkable)
    trial.probe(checkable.recorded[0])  # how long a call takes
    session = CheckSession(checkable, Options(), trial, list(checkable.recorded))
    session.prepare(Case({"x": np.linspace(-1, 2, size)}, {}, "many elements", 0, "search"))
    return session
