"""Explanations on a terminal: wrapped, set off and coloured, as wide as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opkit.cli.page import laid_out
from opkit.diagnostics import codes, explain
from tests.cli.test_commands import opkit

PAGE = """# X1: a title

One `long_name` and **another** word.

## Wrong

```python
a = 1

b = 2
```

## What to do

- first of all, do this
  and that;
- second.
"""


def test_a_page_without_colours() -> None:
    """Paragraphs and lists are wrapped, code is indented with its blank lines, marks of Markdown are gone."""
    assert laid_out(PAGE, 24, is_coloured=False) == (
        "X1: a title\n\nOne `long_name` and\nanother word.\n\nWrong\n\n    a = 1\n\n    b = 2\n\n"
        "What to do\n\n- first of all, do this\n  and that;\n- second."
    )


def test_a_page_in_colours() -> None:
    """Names need no quotes there."""
    shown = laid_out(PAGE, 60, is_coloured=True)
    assert "\x1b[1;36mlong_name\x1b[0m" in shown
    assert "`" not in shown
    assert "\x1b[1;31mWrong\x1b[0m" in shown


@pytest.mark.parametrize("width", [40, 80])
def test_no_page_is_wider_than_the_terminal(width: int) -> None:
    """But for code and single words."""
    for code in codes():
        for line in laid_out(explain(code), width, is_coloured=False).splitlines():
            assert len(line) <= width or line.startswith("    ") or len(line.split()) <= 2 or "`" in line, (code, line)


def test_explain_prints_no_markdown(tmp_path: Path) -> None:
    """Unless it is asked for."""
    shown = opkit(tmp_path, "explain", "GC101", COLUMNS="40").stdout
    assert "```" not in shown
    assert "##" not in shown
    assert max(map(len, shown.splitlines())) <= 42
    assert opkit(tmp_path, "explain", "GC101", "--format", "markdown").stdout == explain("GC101")


def test_the_index(tmp_path: Path) -> None:
    """Every code once, family by family."""
    shown = opkit(tmp_path, "explain", "--all").stdout
    assert re.findall(r"^- ([A-Z]+\d+): ", shown, re.MULTILINE) == [
        code for family in ("SPEC", "PROJ", "GC", "SBP") for code in codes() if code.startswith(family)
    ]
    assert "GC: gradcheck\n" in shown
    assert opkit(tmp_path, "explain", "--all", "GC101").returncode == 2
