"""The Chinese pages keep step with the English ones: the same commands, the same output, the same files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [("README.md", "README.zh.md"), ("docs/tutorial.md", "docs/tutorial.zh.md")]


def blocks(page: str) -> list[str]:
    """Return the fenced blocks of a page."""
    return re.findall(r"^```.*?^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Return what a page tells people to type, wherever it stands, and the options that it names."""
    text = (ROOT / page).read_text(encoding="utf-8")
    indented = [line.partition("#")[0].strip() for line in re.findall(r"^    (\S.*)$", text, re.MULTILINE)]
    return sorted({*re.findall(r"`((?:opkit|pip|with|import)\b[^`]*)`", text), *re.findall(r"`(--[^`]*)`", text)}) + indented


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_blocks_are_the_same(english: str, chinese: str) -> None:
    """Commands and what they print, in the same order."""
    assert blocks(chinese) == blocks(english)


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_commands_in_the_prose_are_the_same(english: str, chinese: str) -> None:
    """A new option or command on one page is missing on the other until somebody translates it."""
    assert commands(chinese) == commands(english)


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_tables_and_headings_are_as_many(english: str, chinese: str) -> None:
    """A section or a row that only one page has is found."""
    for mark in (r"^#+ ", r"^\|", r"^- "):
        counts = [len(re.findall(mark, (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)) for page in (english, chinese)]
        assert counts[0] == counts[1], mark
