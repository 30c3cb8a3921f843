"""Functions that cheat by what they give, replace, or look at: each is found, and its report says what was done."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import opkit
from opkit.checker import OpReport, Status
from tests.verify.cheats import CHEATS, Cheat, file_of, told_in
from tests.verify.exploits import EXPLOITS

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked"),
    pytest.mark.usefixtures("fresh_interpreters"),  # what an ordinary process shows is the point
]


def wrong_of(cheat: Cheat, report: OpReport) -> list[str]:
    """Return what is wrong with a report, nothing where it names what was done."""
    said = [item.message for item in report.checks if item.status not in (Status.PASS, Status.SKIP)]
    is_silent = not any(re.search(cheat.says, message) for message in said)
    return [report.status.value, *said] if report.status in (Status.PASS, Status.SKIP) or is_silent else []


def caught(kind: str, folder: Path) -> dict[str, list[str]]:
    """Check the cheats of one front end in one run, and return what is wrong."""
    cheats = [item for item in CHEATS if item.kind == kind]
    reports = opkit.gradcheck([file_of(item, folder) for item in cheats], replay=False, timeout=120).ops
    return {item.name: wrong for item, report in zip(cheats, reports, strict=True) if (wrong := wrong_of(item, report))}


def test_pylayers_that_cheat_are_named(here: Path) -> None:
    """None passes."""
    assert caught("layer", here) == {}


@pytest.mark.peer
def test_functions_of_torch_that_cheat_are_named(here: Path) -> None:
    """None passes, and what one replaces does not reach the next."""
    pytest.importorskip("torch")
    assert caught("torch", here) == {}


@pytest.mark.peer
def test_functions_of_jax_that_cheat_are_named(here: Path) -> None:
    """None passes."""
    pytest.importorskip("jax")
    assert caught("jax", here) == {}


def test_there_are_enough_exploits_each_in_two_front_ends() -> None:
    """At least 24, whatever the words that each is told in; those of ``exploits`` are told in all of theirs."""
    told = told_in()
    assert {name for name, times in told.items() if times < 2} <= {f"{name}_later" for name in told}
    assert len(told) + len(EXPLOITS) >= 24
