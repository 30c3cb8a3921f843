"""Every form shows every finding, and is well formed whatever the findings hold."""

from __future__ import annotations

import io
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from opkit.checker import Case, OpReport, Report
from opkit.errors import UsageError
from opkit.reporters import (
    ProgressBar,
    github_diagnostics,
    github_report,
    html_report,
    json_report,
    junit_report,
    render,
    sarif_diagnostics,
    sarif_report,
    text_report,
)
from opkit.reporters.heatmap import heat_map
from opkit.reporters.values import case_text

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare with a golden file; OPKIT_UPDATE_GOLDEN=1 writes it."""
    path = GOLDEN / name
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["text", "json", "junit", "github", "sarif", "html"])
def test_each_form_is_as_its_golden_file(run, form) -> None:
    """The forms change only on purpose."""
    text = render(run, form)
    if form == "sarif":  # the explanation pages change without this form
        log = json.loads(text)
        for rule in log["runs"][0]["tool"]["driver"]["rules"]:
            rule.pop("help", None)
        text = json.dumps(log, indent=2) + "\n"
    check_golden(f"run.{form}", text)


@pytest.mark.parametrize("form", ["text", "json", "junit", "github", "sarif", "html"])
def test_each_form_of_a_proof_is_as_its_golden_file(sbp_run, form) -> None:
    """The same forms show what is claimed about devices, with the line to add."""
    text = render(sbp_run, form)
    if form == "sarif":
        log = json.loads(text)
        for rule in log["runs"][0]["tool"]["driver"]["rules"]:
            rule.pop("help", None)
        text = json.dumps(log, indent=2) + "\n"
    check_golden(f"sbp.{form}", text)
    assert form == "html" or "could also be S(1)" in text.replace("&gt;", ">")


def test_a_verbose_text_shows_what_passed_and_what_was_tried(run) -> None:
    """--verbose lists every check and what was tried."""
    check_golden("run.verbose", text_report(run, is_verbose=True))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_keeps_to_the_width(run, width) -> None:
    """No line is longer than the terminal, source lines excepted."""
    lines = text_report(run, width=width).splitlines()
    assert all(len(line) <= width for line in lines if "-->" not in line and " | " not in line)


def test_text_shows_the_users_line(run) -> None:
    """A failure shows file:line and the line itself."""
    text = text_report(run)
    assert "user_relu/user_relu_py_kernel.py:11" in text
    assert "return -(y > 0) * dy" in text
    assert "opkit gradcheck --repro 3fa2b81c09" in text


def test_text_shows_a_place_once_and_marks_what_it_cuts(run) -> None:
    """Two findings at one line have its source once; a line longer than the terminal ends in dots."""
    kernel = Path("user_relu/user_relu_py_kernel.py")
    kernel.write_text(kernel.read_text() + "# wrong for every batch but the first, " * 3)
    op = run.report.ops[1]
    first = op.checks[0]
    again = replace(first, code="GC102", consequences=(first,))
    run.report = replace(run.report, ops=(replace(op, checks=(first, again)),))
    text = text_report(run)
    assert "1 further finding: GC101\n" in text
    assert text.count("return -(y > 0) * dy") == 1
    assert "user_relu/user_relu_py_kernel.py:11, shown above" in text
    assert "but the first, # wrong for every batch but...\n" in text


def test_text_has_colour_only_on_request(run) -> None:
    """Escapes appear only where the caller says that the output is a terminal."""
    assert "\x1b" not in text_report(run)
    assert "\x1b[" in text_report(run, is_colored=True)


def test_text_of_a_broken_build_shows_carets(run, diagnostics) -> None:
    """Diagnostics stand before the ops, with carets."""
    run.diagnostics = diagnostics
    text = text_report(run)
    assert text.startswith("error[SPEC030]")
    assert "^^^^" in text


def test_json_is_the_contract(run) -> None:
    """The object has the contract's keys, and NaN is a string."""
    data = json.loads(json_report(run))
    assert list(data) == ["schema", "opkit", "seed", "ops"]
    assert data["ops"][2]["checks"][0]["expected"] == "nan"
    assert data["ops"][1]["checks"][0]["where"] == {"file": "user_relu/user_relu_py_kernel.py", "line": 11}
    assert [op["status"] for op in data["ops"]] == ["pass", "fail", "error", "undecided"]


def test_junit_counts_agree_with_its_nodes(run) -> None:
    """A reader of JUnit sees 2 failures and 1 error; forbidden characters are gone."""
    root = ElementTree.fromstring(junit_report(run))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("8", "2", "1")
    assert len(root.findall(".//failure")) == 2
    assert len(root.findall(".//error")) == 1
    assert len(root.findall(".//skipped")) == int(root.get("skipped", "0")) == 2


def test_github_escapes_what_its_syntax_uses(run, diagnostics) -> None:
    """Colons and commas in properties, percent signs and line ends in messages are escaped."""
    lines = github_diagnostics(diagnostics).splitlines()
    assert lines[0] == (
        "::error file=user relu/spec.cpp,line=2,endLine=2,col=10,endColumn=13,title=SPEC030"
        "::no argument 'x', 100%25: sure%0Adeclared here%0Adid you mean 'in'?"
    )
    assert lines[1] == "::warning title=PROJ010::no device_sub_tag"
    run.report = Report("0.1.0", 0, ())
    assert github_report(run) == ""


def test_sarif_points_at_the_line(run, diagnostics) -> None:
    """Each finding has a rule, a level and a region; paths are URIs."""
    log = json.loads(sarif_report(run))
    (only,) = log["runs"]
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    first = only["results"][0]
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "user_relu/user_relu_py_kernel.py"},
        "region": {"startLine": 11},
    }
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in only["results"])
    assert [result["level"] for result in only["results"]] == ["error", "error", "error", "warning"]
    built = json.loads(sarif_diagnostics(diagnostics))["runs"][0]["results"][0]
    assert built["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "user%20relu/spec.cpp"
    assert built["relatedLocations"][0]["message"] == {"text": "declared here"}


class _Tags(HTMLParser):
    """Collects attributes, and checks that tags are closed in order."""

    void = frozenset({"meta", "img", "br", "line", "path", "polyline", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def test_the_page_is_self_contained_and_escaped(run) -> None:
    """No reference leaves the page, its tags nest, and names and messages are escaped."""
    page = html_report(run)
    parser = _Tags()
    parser.feed(page)
    assert parser.open == []
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in parser.links)
    assert parser.seen.count("script") == 1  # the page's own, which copies commands
    assert not re.search(r"url\(|@import|https?://", page)
    assert "&lt;float32&gt;" in page
    assert "<svg" in page
    assert 'class="matrix"' in page


def test_a_heat_map_shows_every_kind_of_error() -> None:
    """Large, broken, empty and constant matrices are drawn or refused, never an error."""
    assert heat_map(np.zeros((0, 3))) is None
    large = np.zeros((1000, 700))
    large[999, 699] = 1.0
    picture = heat_map(large)
    assert picture is not None
    assert picture.is_pooled
    assert (picture.rows, picture.columns, picture.high) == (1000, 700, 1.0)
    broken = heat_map(np.full((2, 2), np.nan))
    assert broken is not None
    assert broken.high == 0.0


def test_progress_is_silent_off_a_terminal() -> None:
    """Nothing is written to a stream that is not a terminal."""
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        bar.planned(("a", "b"))
        bar.done(OpReport("a"))
    assert stream.getvalue() == ""


def test_an_unknown_form_names_the_nearest(run) -> None:
    """A mistyped form is a usage error with a suggestion."""
    with pytest.raises(UsageError, match="junitt"):
        render(run, "junitt")


def test_a_few_whole_numbers_of_a_case_are_told() -> None:
    """Labels, lengths and masks decide more than their shapes; longer ones are described."""
    inputs = {"x": np.ones((2, 3)), "lengths": np.array([3, 1]), "keep": np.array([[True, False]]), "ids": np.arange(9)}
    text = case_text(Case(inputs, {"k": 2}).to_json())
    assert text == "x float64 (2, 3), lengths int64 (2,) [3, 1], keep bool (1, 2) [[True, False]], ids int64 (9,) (normal values, seed 0); k = 2"
