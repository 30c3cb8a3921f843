"""The words that CONTRIBUTING.md rules out do not occur in what people read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def ruled_out() -> list[str]:
    """Return the left column of the table of words."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| not | but |")[2]
    rows = re.findall(r"^ *\| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE)
    return [word.strip() for row in rows for word in row.split(",")]


def read() -> list[Path]:
    """Return the files that people read; records of decisions stay as they were written."""
    found = [path for part in ("opkit", "templates", "docs") for path in (ROOT / part).rglob("*") if path.is_file()]
    texts = [path for path in found if path.suffix in (".py", ".md", ".html", ".j2") and "decisions" not in path.parts]
    return [*texts, ROOT / "README.md"]


def test_the_table_is_there() -> None:
    assert len(ruled_out()) > 6


@pytest.mark.parametrize("word", ruled_out())
def test_a_word_that_is_ruled_out_does_not_occur(word: str) -> None:
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    assert [path.relative_to(ROOT).as_posix() for path in read() if pattern.search(path.read_text())] == []
