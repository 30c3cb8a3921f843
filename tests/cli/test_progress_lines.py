"""Progress without a terminal: lines on standard error while a run takes long."""

from __future__ import annotations

from threading import Event

from opkit.checker import OpReport
from opkit.cli.progress_lines import ProgressLines


def test_a_run_that_takes_long_says_how_far_it_is() -> None:
    """Before anything is loaded there is no number; the first op that is not done is the one that it waits for."""
    said: list[str] = []
    lines, heard = ProgressLines(said.append, 0.001), Event()

    def until_said(first: str, last: str) -> None:
        for _ in range(10_000):
            if any(line.startswith(first) and line.endswith(last) for line in said) or heard.wait(0.001):
                return
        raise AssertionError(said)

    with lines:
        until_said("loading", "what is to be checked")
        lines.planned(("a.py::One", "a.py::Two"))
        until_said("0 of 2 checked in ", " s, now a.py::One")
        lines.done(OpReport("a.py::One"))
        until_said("1 of 2 checked in ", " s, now a.py::Two")
        lines.done(OpReport("a.py::Two"))
        until_said("2 of 2 checked in ", " s")
    count = len(said)
    heard.wait(0.02)
    assert len(said) == count


def test_a_run_that_ends_soon_says_nothing() -> None:
    """Its report is all that there is to read."""
    said: list[str] = []
    with ProgressLines(said.append) as lines:
        lines.planned(("a.py::One",))
    assert said == []
