"""What a kernel, a definition or a folder's name puts into a report is shown, and does nothing else."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from opkit.checker import Case, CheckResult, OpReport, Report, Status
from opkit.diagnostics import Diagnostic, Note, Severity, SourceText
from opkit.errors import Location
from opkit.reporters import FORMS, github_diagnostics, render, sarif_diagnostics
from tests.reporters.conftest import HandMade

#: A half of a character, escape sequences, C1 controls, line separators, a change of direction, markup, a workflow command.
HOSTILE = "a\udcffb\ud800\x1b[2J\x1b]0;title\x07\x9b31m\x00\x7f\x85\u2028\u202e\r\n::error::c <script>alert(1)</script>&\"'{{x}}"
#: What may stand in a report beside printable characters.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]")


def hostile_run() -> HandMade:
    where = Location(f"{HOSTILE}/k.py", 3, 1)
    check = CheckResult(
        "gradient", Status.FAIL, "GC101", HOSTILE, HOSTILE, HOSTILE, {"alpha": HOSTILE, "x": [HOSTILE]}, HOSTILE, HOSTILE,
        where=where, hint=HOSTILE,
    )  # fmt: skip
    checks = tuple(
        CheckResult("purity", status, "GC150", HOSTILE, case={HOSTILE: HOSTILE}, where=where)
        for status in (Status.ERROR, Status.UNDECIDED, Status.SKIP, Status.PASS)
    )
    op = OpReport(HOSTILE, (check, *checks), HOSTILE, tried=(HOSTILE,), notes=(HOSTILE,))
    source = SourceText(f"{HOSTILE}\n{HOSTILE}", f"{HOSTILE}.cpp")
    found = Diagnostic(
        "SPEC001", Severity.ERROR, HOSTILE, source.span(2, 9), (Note(HOSTILE, source.span(0, 3)),), HOSTILE, HOSTILE
    )
    return HandMade(Report("0", 0, (op,)), (found,))


@pytest.mark.parametrize("form", FORMS)
def test_a_report_of_hostile_text_is_text(form: str) -> None:
    """It can be written as UTF-8, and has no character that a terminal acts on but line ends."""
    text = render(hostile_run(), form)
    text.encode("utf-8")
    found = CONTROL.search(text)
    assert found is None, ascii(text[max(0, found.start() - 60) : found.end() + 20])


@pytest.mark.parametrize("form", FORMS)
def test_an_integer_of_thousands_of_digits_is_described(form: str) -> None:
    """Python writes none in digits; a kernel or a cases file may give one all the same."""
    case = Case({"x": np.ones(2)}, {"n": 10**5000, "several": [10**5000]})
    check = CheckResult("gradient", Status.FAIL, "GC101", "wrong", case=case.to_json(), expected=10**5000, actual=2)
    assert "an integer of 16610 bits" in render(HandMade(Report("0", 0, (OpReport("op", (check,)),)), ()), form)


def test_the_structure_of_each_form_holds() -> None:
    """JSON, SARIF and XML parse; HTML has no script but its own; each GitHub line is one command."""
    run = hostile_run()
    assert json.loads(render(run, "json"))["ops"][0]["op"] == HOSTILE
    assert json.loads(render(run, "sarif"))["version"] == "2.1.0"
    assert ElementTree.fromstring(render(run, "junit")).tag == "testsuites"
    page = render(run, "html")
    assert page.count("<script") == 1  # the page's own
    assert page.count("alert(1)") > 3
    for line in render(run, "github").splitlines():
        assert re.match(r"::(error|warning|notice) ", line)


def test_findings_of_a_build_are_text_too() -> None:
    """``opkit build --format github`` and ``sarif``."""
    found = hostile_run().diagnostics
    for text in (github_diagnostics(found), sarif_diagnostics(found)):
        text.encode("utf-8")
        assert CONTROL.search(text) is None
