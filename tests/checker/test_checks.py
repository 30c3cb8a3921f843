"""Every check: an op that it accuses, an op that it lets pass, a page that explains it, and a golden report."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from opkit.checker import CODES, Checkable, OpReport, Options, Status, check
from opkit.diagnostics import explain
from tests.checker.table import ROWS, Row

_GOLDEN = Path(__file__).parent / "golden"
_BAD = (Status.FAIL, Status.ERROR)
#: Codes that are undecided at most.
_OPEN = frozenset({"GC109", "GC190"})


#: One row for each op that is let pass: many rows share one.
_LET_PASS = list({(id(row.right), str(row.options)): row for row in ROWS[::-1]}.values())


def _report(op: Checkable, row: Row) -> OpReport:
    return check(op, Options(**{"effort": 0.5, **row.options}))


def _ids(row: Row) -> str:
    return row.code


def test_every_check_has_a_row() -> None:
    """No check of gradients is without an op that fails it and one that passes it; claims have a corpus of their own."""
    assert sorted(row.code for row in ROWS) == sorted(code for code in CODES if not code.startswith("SBP"))


@pytest.mark.parametrize("row", _LET_PASS, ids=_ids)
def test_the_right_op_passes_all_checks(row: Row) -> None:
    """No check at all accuses the right op."""
    report = _report(row.right, row)
    assert report.status is Status.PASS, [(item.code, item.message) for item in report.checks if item.message]


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_check_is_explained(code: str) -> None:
    """Each code has a page with a failing and a passing example and the next step."""
    page = explain(code)
    assert page.startswith(f"# {code}: {CODES[code].title}")
    for part in ("## Wrong", "## Right", "## What to do"):
        assert part in page


@pytest.mark.parametrize("row", ROWS, ids=_ids)
def test_the_report_is_the_golden_one(row: Row) -> None:
    """The check accuses the op made for it; the finding's JSON is what is checked in (OPKIT_UPDATE_GOLDEN=1 rewrites it)."""
    expected = (Status.UNDECIDED,) if row.code in _OPEN else _BAD
    report = _report(row.wrong, row)
    found = [item for item in report.checks if item.code == row.code and item.status in expected]
    assert found, [(item.code, item.message) for item in report.findings]
    data = found[0].to_json()
    data["where"] = None
    for key in ("expected", "actual", "bound", "detectable"):
        if isinstance(data[key], float):
            data[key] = "a number"
    if "consequences" in data:  # their own numbers are theirs
        data["consequences"] = sorted({item["code"] for item in data["consequences"]})
    data["message"] = _without_digits(data["message"])
    path = _GOLDEN / f"{row.code}.json"
    text = json.dumps(data, indent=1, sort_keys=True) + "\n"
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def _without_digits(text: str) -> str:
    """Replace long numbers, whose last digits differ between machines."""
    words = []
    for word in text.split(" "):
        bare = word.strip("-+;,.[]()")
        is_long = sum(char.isdigit() for char in bare) >= 4 or "e-" in bare
        words.append("#" if is_long else word)
    return " ".join(words)
