"""A pass rests on decided derivatives, and a check that lacks the time says so."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from opkit.checker import (
    Arg,
    Arrays,
    Attr,
    Attrs,
    Checkable,
    CheckResult,
    Gradients,
    OpReport,
    Options,
    Report,
    Results,
    Status,
    check,
)
from opkit.checker.model.codes import CODES
from opkit.checker.model.own import OwnCheck
from opkit.errors import Location, UsageError
from tests.checker.functions import checkable_of

X = np.array([0.3, 0.5, -1.5, 2.0])


def square(factor: float = 2.0, seconds: float = 0.0) -> Checkable:
    made = checkable_of(lambda x: x * x, lambda x, y, dy: factor * x * dy, [X])

    def forward(arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        time.sleep(seconds)
        return list(made.forward(arrays, attrs))

    return replace(made, forward=forward)


def found(report: OpReport, code: str) -> list[Status]:
    return [item.status for item in report.checks if item.code == code]


def test_contracts_alone_are_not_a_pass() -> None:
    """Where no input takes a gradient a wrong backward is not called right: the op is skipped, with the reason."""
    report = check(replace(square(3.0), gradients=frozenset()))
    assert report.status is Status.SKIP
    assert report.undifferentiated is not None
    assert report.undifferentiated.message.startswith("nothing to differentiate: no input takes a gradient")


def test_an_op_without_a_gradient_passes_on_its_contract() -> None:
    """An op that registers no gradient has no derivative to decide."""
    assert check(replace(square(), backward=None, gradients=None)).status is Status.PASS


@pytest.mark.parametrize("seconds", [0.0, 0.006])
@pytest.mark.parametrize(("factor", "status"), [(2.0, Status.PASS), (1.0, Status.FAIL)])
def test_one_derivative_is_decided_whatever_the_time(factor: float, status: Status, seconds: float) -> None:
    """It comes first where calls take long, along one direction; the report says what was left out."""
    report = check(square(factor, seconds=seconds), Options(seconds=1e-6))
    assert report.status is status
    assert "; left out for want of time: " in report.rests_on


def test_what_a_framework_asks_is_asked_on_a_case_whatever_the_time() -> None:
    """Of two checks of one code each once; the report says on how many cases they were left out."""
    asked: list[str] = []

    def asks(name: str) -> OwnCheck:
        return OwnCheck(CODES["GC130"], lambda arrays, attrs, douts: asked.append(name) or ())

    report = check(replace(square(), own=(asks("one"), asks("another"))), Options(seconds=1e-6))
    assert asked == ["one", "another"]
    assert "; left out for want of time: " in report.rests_on


@pytest.mark.parametrize("shape", [(3, 4), (120, 120)])
@pytest.mark.parametrize(("off", "status"), [(2e-3, Status.PASS), (3e-2, Status.FAIL)])
def test_a_tolerance_decides_however_wide_it_is(shape: tuple[int, int], off: float, status: Status) -> None:
    """What it hides beside small derivatives is what was declared, entry by entry and along directions."""
    inputs = [np.random.default_rng(0).normal(size=shape)]
    made = checkable_of(lambda x: np.exp(2 * x), lambda x, y, dy: 2 * dy * y * (1 + off * np.cos(x)), inputs)
    assert check(replace(made, tolerance={"x": 3e-3})).status is status


def test_a_gradient_that_overflows_in_float32_is_backwards() -> None:
    """Its finding shows the line of backward; a result's that of forward."""
    def backward(arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]) -> Gradients:
        large = X.dtype.type(1e30) if arrays["x"].dtype == X.dtype else np.float32(1e30)
        return {"x": 2 * douts[0] * arrays["x"] * large * large / large / large}

    made = replace(square(), backward=backward, backward_where=Location("b.py", 1))
    (finding,) = [item for item in check(made).checks if item.code == "GC150"]
    assert (finding.status, finding.where) == (Status.FAIL, made.backward_where)


@pytest.mark.parametrize("seed", [0, 1, 3])
@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (0.5, Status.FAIL)])
def test_a_gradient_that_cancels_leaves_rounding(seed: int, factor: float, status: Status) -> None:
    """Of two values, less their mean and over their deviation, no derivative is left: neither float32 nor float64 has digits."""

    def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        centred = x - x.mean(0, keepdims=True)
        deviation = np.sqrt((centred**2).sum(0, keepdims=True) / (len(x) - 1))
        return centred / deviation, deviation

    def backward(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
        y, deviation = parts(x)
        return (dy - dy.mean(0, keepdims=True) - factor * y * (dy * y).sum(0, keepdims=True) / (len(x) - 1)) / deviation

    made = checkable_of(lambda x: parts(x)[0], backward, [np.ones((3, 2))])
    report = check(replace(made, cases=None, recorded=()), Options(seed=seed))
    assert report.status is status


def test_a_tolerance_of_what_is_no_input_says_so() -> None:
    """It would be believed; the near name is offered."""
    inputs = [X]
    made = checkable_of(lambda x1: x1 * x1, lambda x1, y, dy: 2 * x1 * dy, inputs)
    (note,) = check(replace(made, tolerance={f"{made.inputs[0].name}0": 1e-3})).notes
    assert f"did you mean '{made.inputs[0].name}'?" in note


def test_a_tolerance_does_not_decide_what_noise_hides() -> None:
    """What forward's own rounding leaves open stays open."""
    made = checkable_of(lambda x: 1e13 + np.exp(x), lambda x, y, dy: dy * np.exp(x), [X])
    assert check(replace(made, tolerance={"x": 3e-3})).status is Status.UNDECIDED


def test_a_pass_says_that_a_derivative_is_nowhere_but_0() -> None:
    """A wrong gradient of a loss that is constant on the cases would pass too; an input that is not 0 elsewhere says more."""
    flat = check(checkable_of(lambda x, b: b * b, lambda x, b, y, dy: (0 * x, 2 * b * dy), [X, X]))
    assert flat.status is Status.PASS
    assert [note.partition(" is 0 on all these inputs")[0] for note in flat.notes] == ["the derivative with respect to x"]
    assert not check(square()).notes


def test_a_failure_found_in_time_stands() -> None:
    """Out of time after a failure: the verdict is the failure."""
    made = checkable_of(lambda x: x[:2] * 1.0, lambda x, y, dy: np.ones(3), [X])
    report = check(made, Options(seconds=1e-6))
    assert report.status is Status.FAIL
    assert found(report, "GC142") == [Status.FAIL]


@pytest.mark.parametrize(("factor", "status"), [(2.0, Status.PASS), (2.001, Status.FAIL)])
def test_a_slow_op_is_decided_in_few_calls(factor: float, status: Status) -> None:
    """Fewer evaluations rather than none: kernels that sleep cost no processor time, and are timed all the same."""
    made, calls = square(factor, seconds=0.005), []

    def forward(arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        calls.append(1)
        return list(made.forward(arrays, attrs))

    report = check(replace(made, forward=forward), Options(seconds=1.0))
    assert report.status is status
    assert len(calls) < 800


@pytest.mark.parametrize(("power", "status"), [(1, Status.PASS), (2, Status.FAIL)])
def test_each_option_has_another_value_however_little_time_there_is(power: int, status: Status) -> None:
    """Of an op whose calls take long: what is right at the default alone passed where the time ran out before."""

    def forward(arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        time.sleep(0.006)
        return [np.sin(arrays["x"]) * attrs["rate"]]

    def backward(arrays: Arrays, outputs: Results, douts: Results, attrs: Attrs, needs: frozenset[str]) -> Gradients:
        return {"x": douts[0] * np.cos(arrays["x"]) * attrs["rate"] ** power}

    made = Checkable("op", (Arg("x"),), (Arg("y"),), forward, backward, (Attr("rate", "any", 1.0),))
    assert check(made, Options(seconds=1e-6)).status is status


def test_each_pair_of_input_and_output_has_a_verdict_of_its_own() -> None:
    """A pass over two inputs holds one decided derivative for each."""
    made = checkable_of(
        lambda a, b: a * 2.0 + b.sum(), lambda a, b, y, dy: (2.0 * dy, np.full(b.shape, dy.sum())), [X, X]
    )
    both = check(made)
    assert both.status is Status.PASS
    assert found(both, "GC101") == [Status.PASS, Status.PASS]


def test_what_is_told_of_a_run_that_asked_no_gradient_is_undecided_at_once() -> None:
    """A check that is ended in the middle leaves no failure behind that its end would have made undecided."""
    told: list[CheckResult] = []
    report = check(replace(square(3.0), is_beyond=True), tell=told.append)
    assert report.status is Status.UNDECIDED
    wrong = [item for item in told if item.code == "GC101"]
    assert [(item.status, item.beyond) for item in wrong] == [(Status.UNDECIDED, True)] * len(wrong)
    assert wrong


def test_a_pair_that_the_bound_does_not_decide_is_undecided() -> None:
    """An output that is noise beside its own slope: its pair is undecided, the others pass, and strict refuses it."""

    def forward(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return a * 2.0, b + 1e-2 * np.sin(1e13 * b)

    made = checkable_of(forward, lambda a, b, y, z, dy, dz: (2.0 * dy, dz), [X, X])
    report = check(made)
    assert report.status is Status.UNDECIDED
    pairs = {(item.input, item.output): item.status for item in report.checks if item.code == "GC101"}
    assert {pair for pair, status in pairs.items() if status is Status.UNDECIDED} == {("b", "out1")}
    assert len(pairs) == 4
    (open_,) = [item for item in report.checks if item.status is Status.UNDECIDED]
    assert "the smallest error that would have been seen" in open_.message
    assert not open_.beyond
    assert not Report("", 0, (report,)).is_clean(strict=True)
    assert Report("", 0, (report,)).is_clean()


def test_a_seed_below_0_is_refused() -> None:
    """No generator of random numbers takes it."""
    with pytest.raises(UsageError, match="seed must be 0 or more, got 'a'"):
        Options(seed="a")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="seed must be 0 or more, got -1"):
        Options(seed=-1)


def test_a_note_is_told_once() -> None:
    """However many cases it is about."""
    report = check(replace(square(), remarks=("said of one", "said of one")))
    assert report.notes.count("said of one") == 1


def test_an_input_that_may_be_left_out_counts_as_a_constant_where_it_is_an_array() -> None:
    """Its author may think of a number."""
    made = replace(square(), inputs=(Arg("x"), Arg("scale", is_optional=True)))
    made = replace(made, recorded=(), cases=lambda rng: [{"x": X, "scale": X}], gradients=frozenset({"x"}))
    assert "input scale, where it is an array, gets no gradient and counts as a constant" in check(made).notes
