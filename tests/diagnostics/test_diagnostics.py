"""Source texts, spans, and findings as text and as data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opkit.diagnostics import (
    FAMILIES,
    Diagnostic,
    Note,
    Severity,
    SourceText,
    codes,
    explain,
    render_text,
    sort_diagnostics,
    to_json,
)
from opkit.errors import Location, UsageError

TEXT = SourceText("one\n\ttwo three\r\nfour", "dir/a.cpp")


def test_offsets_become_lines_and_columns() -> None:
    """Lines and columns count from one; a tab is one column; any line end counts once."""
    assert [TEXT.position(at) for at in (0, 3, 4, 5, 16, 19)] == [(1, 1), (1, 4), (2, 1), (2, 2), (3, 1), (3, 4)]
    assert TEXT.position(10**9) == (3, 5)
    assert [TEXT.line(number) for number in (0, 1, 2, 3, 4)] == ["", "one", "\ttwo three", "four", ""]


@given(st.text(alphabet="ab\n\r\t\u00e9", max_size=60), st.integers(0, 60))
def test_offsets_and_positions_are_inverse(text: str, at: int) -> None:
    """An offset survives the way through its line and column."""
    source = SourceText(text, "a")
    at = min(at, len(text))
    assert source.offset(*source.position(at)) == at


def test_a_span_ends_after_its_last_character() -> None:
    """An end column is one past the last character, on the line of that character."""
    span = TEXT.span(5, 14)
    assert (span.line, span.col, span.end_line, span.end_col, span.text) == (2, 2, 2, 11, "two three")
    assert span.location == Location("dir/a.cpp", 2, 2)
    assert str(span) == "dir/a.cpp:2:2"
    empty = TEXT.span(0, 0)
    assert (empty.line, empty.col, empty.end_line, empty.end_col) == (1, 1, 1, 1)


def finding(code: str = "SPEC020", at: int = 5, **fields: object) -> Diagnostic:
    """A finding with usual fields."""
    return Diagnostic(code, Severity.ERROR, "no such name", TEXT.span(at, at + 3), **fields)  # type: ignore[arg-type]


def test_a_finding_is_shown_with_carets() -> None:
    """The line, carets under what is meant, notes with their own places, and the help line."""
    shown = render_text([finding(notes=(Note("declared here", TEXT.span(16, 20)), Note("by the way")), help="try one")])
    assert shown == (
        "error[SPEC020]: no such name\n"
        " --> dir/a.cpp:2:2\n"
        "  |\n"
        "2 |     two three\n"
        "  |     ^^^\n"
        "  = note: declared here\n"
        " --> dir/a.cpp:3:1\n"
        "  |\n"
        "3 | four\n"
        "  | ^^^^\n"
        "  = note: by the way\n"
        "  = help: try one\n"
    )


def test_nothing_found_shows_nothing() -> None:
    """No finding is not text."""
    assert render_text([]) == ""


def test_a_finding_without_a_place_is_shown() -> None:
    """A finding about no text is one line."""
    assert render_text([Diagnostic("PROJ001", Severity.WARNING, "no file")]) == "warning[PROJ001]: no file\n"


def test_what_moves_the_cursor_is_not_printed() -> None:
    """Control characters of a text do not reach the terminal."""
    source = SourceText("a\x1b[31mb", "a.cpp")
    assert "\x1b" not in render_text([Diagnostic("SPEC004", Severity.ERROR, "bad", source.span(1, 2))])


def test_long_lines_are_cut() -> None:
    """A line of a megabyte shows a piece of itself."""
    source = SourceText("x" * 1_000_000, "a.cpp")
    shown = render_text([Diagnostic("SPEC004", Severity.ERROR, "bad", source.span(500_000, 500_010))])
    assert max(map(len, shown.splitlines())) < 400


def test_a_finding_as_data() -> None:
    """The keys of `opkit build --format json`."""
    assert to_json(finding(notes=(Note("declared here", TEXT.span(0, 3)),), help="try one")) == {
        "code": "SPEC020",
        "severity": "error",
        "message": "no such name",
        "file": "dir/a.cpp",
        "line": 2,
        "col": 2,
        "end_line": 2,
        "end_col": 5,
        "help": "try one",
        "notes": [{"message": "declared here", "file": "dir/a.cpp", "line": 1, "col": 1, "end_line": 1, "end_col": 4}],
    }
    assert to_json(Diagnostic("PROJ001", Severity.NOTE, "x"))["line"] is None


def test_findings_are_sorted_by_place_and_told_once() -> None:
    """File, position, severity, code; the same finding twice is one."""
    late, early = finding(at=9), finding("SPEC021", at=0)
    nowhere = Diagnostic("PROJ001", Severity.WARNING, "no file")
    assert sort_diagnostics([late, early, late, nowhere]) == (nowhere, early, late)


def test_an_unknown_code_names_the_nearest() -> None:
    """A slip in a code is answered with codes that exist; case does not matter."""
    assert explain("spec020") == explain("SPEC020")
    assert "the process ended" in explain("crash values")
    assert "inputs=" in explain("given values")
    with pytest.raises(UsageError, match="SPEC999") as caught:
        explain("SPEC999")
    assert "SPEC" in caught.value.help
    assert list(codes()) == sorted(codes())


def test_every_code_belongs_to_a_family() -> None:
    """The families that a message lists are all there are, and none is empty."""
    found = {code.rstrip("0123456789") for code in codes()}
    assert found == set(FAMILIES)
