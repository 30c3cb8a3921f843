"""A verdict says in one line what it rests on."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from opkit.checker import Attr, Case, Checkable, Options, check
from opkit.checker.basis import rests_on
from opkit.checker.model.own import Fault, OwnCheck
from opkit.verify.codes import FAKE
from tests.checker.functions import checkable_of

OP = Checkable("f", (), (), lambda arrays, attrs: [], attrs=(Attr("k", "any", 1.0), Attr("mode", "any", "sum")))


def case(*values: float, origin: str = "recorded", precision: str = "", **attrs: object) -> Case:
    """Return a case of one array and its options."""
    return Case({"x": np.array(values)}, {"k": 1.0, "mode": "sum", **attrs}, origin=origin, precision=precision)


def test_ranges_are_those_of_all_inputs_and_dtypes_those_that_were_seen() -> None:
    """What was recorded in float32 and is checked in float64 rests on float32."""
    line = rests_on(OP, [case(-1.2, 0.0, precision="float32"), case(3.4, precision="float32")])
    assert line == "2 recorded inputs (x in [-1.2, 3.4], float32), k only 1.0, mode only 'sum'"


def test_options_that_varied_are_shown() -> None:
    """The others are shown with their only value, many numbers with the least and the largest."""
    line = rests_on(OP, [case(0.5, k=2.0, origin="search"), case(1.5, origin="search")])
    assert line == "2 cases found by search (x in [0.5, 1.5], float64), k in {1, 2}, mode only 'sum'"
    line = rests_on(OP, [case(0.5, k=0.1 * k, mode="mean" if k else "sum") for k in range(-3, 6)])
    assert line == "9 recorded inputs (x in [0.5, 0.5], float64), k with 9 values from -0.3 to 0.5, mode in {'mean', 'sum'}"


def test_recorded_inputs_and_cases_are_counted_apart() -> None:
    """Each by where it came from; nothing is said of no case at all."""
    assert rests_on(OP, [case(1.0), case(2.0, origin="user")]).startswith(
        "1 recorded input and 1 case drawn (x in [1, 2]"
    )
    assert rests_on(OP, []) == ""


def test_what_was_left_out_is_said_once() -> None:
    """Each configuration that compares derivatives says it of its own cases."""
    assert rests_on(OP, [case(1.0)], ["a", "b", "a"]).endswith("; left out for want of time: a, b")


def test_an_own_check_that_ran_out_of_time_says_on_what_it_did_not_run() -> None:
    """It counts the cases that it ran on, not those that there are."""

    def busy(*given: object) -> list[Fault]:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        return []

    slow = OwnCheck(FAKE, busy, is_thorough=True)
    op = checkable_of(np.tanh, lambda x, y, dy: dy * (1 - y * y), [[np.linspace(-1, 1, size)] for size in (3, 4, 5)])
    report = check(replace(op, own=(slow,)), Options(seconds=0.2))
    (own,) = (item for item in report.checks if item.code == "GC206")
    assert own.cases == 1
    assert "fake kernel on" in report.rests_on
