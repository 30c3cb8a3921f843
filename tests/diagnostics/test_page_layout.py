"""The pages of all codes have one layout: a title, who reports it, the explanation, wrong and right, what to do."""

from __future__ import annotations

import re

import pytest

from opkit.diagnostics import codes, explain, titles
from opkit.project.findings import CODES as PROJECT
from opkit.spec.findings import CODES as SPEC
from opkit.spec.findings import ERRORS_IN_GRADIENTS

CODES = codes()


def reported_by(code: str) -> str:
    """Return the line that says who reports a code, and how."""
    if code.startswith(("GC", "SBP")):
        return f"A check of `opkit {'gradcheck' if code.startswith('GC') else 'sbp'}`."
    severity = {**SPEC, **PROJECT}[code][0].value
    line = f"{'An' if severity == 'error' else 'A'} {severity} of `opkit build`"
    return line + (", an error in a gradient." if code in ERRORS_IN_GRADIENTS else ".")


@pytest.mark.parametrize("code", CODES)
def test_the_layout(code: str) -> None:
    """Headings are the same everywhere, in the same order, and each has something below it."""
    title, who, rest = explain(code).split("\n\n", 2)
    assert re.fullmatch(rf"# {code}: \S.*", title)
    assert who == reported_by(code)
    assert rest.endswith("\n")
    assert "Severity:" not in rest
    prose = re.sub(r"^```\w+\n.*?\n```$", "CODE", rest, flags=re.MULTILINE | re.DOTALL)
    assert "```" not in prose
    assert not re.search(r"^    ", prose, re.MULTILINE), "code stands between fences"
    parts = re.split(r"^## (.*)\n\n", prose, flags=re.MULTILINE)
    assert parts[1::2] in (["Wrong", "Right", "What to do"], ["What to do"])
    assert all(part.strip() for part in parts)
    assert [part.strip() for part in parts[2:-1:2]] == ["CODE"] * (len(parts[2:-1:2]))


@pytest.mark.parametrize("code", CODES)
def test_examples_are_whole(code: str) -> None:
    """No example leaves out what it is about."""
    for example in re.findall(r"^```\w+\n(.*?)\n```$", explain(code), flags=re.MULTILINE | re.DOTALL):
        assert not re.search(r"\.\.\.|/\* *\*/", example), example


def test_titles_are_the_first_lines() -> None:
    """Of every code of a family."""
    assert dict(titles("PROJ"))["PROJ003"] == "an op type has no kernel function"
    assert [code for code, _ in titles()] == list(codes())
