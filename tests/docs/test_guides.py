"""The guides keep their word: their files are written, their commands and programs run, and print what stands there.

A block that begins with ``# file: NAME`` (or ``// file:``) is a file; one that begins with ``$`` holds commands with
their output, on both streams; a Python block without a name is a program, and a ``text`` block after it its output.
OPKIT_UPDATE_GOLDEN=1 writes what is printed into the page; read the difference before committing.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.served import may_be_served, served

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = (
    "tutorial",
    "pylayer",
    "py-func",
    "porting",
    "reading-a-report",
    "cases",
    "debugging",
    "slow-ops",
    "python-api",
    "editors",
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?://|#) file: (\S+)\n")


def settled(text: str) -> list[str]:
    """Return the lines of a text without what time and machine decide: seconds, ids, error bounds, last digits."""
    text = re.sub(r"( |\()+\d+\.\d\d s\b", r"\1T s", text)
    text = re.sub(r"--repro \w+|repro_\w+?\.|\b[0-9a-f]{10}\b", "ID", text)
    text = re.sub(r"\d(?:\.\d)?e-\d\d", "E", text)
    text = re.sub(r"(\d\.\d{4})\d+", r"\1", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


class Folder:
    """The folder in which a page's blocks are tried, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *command: str) -> str:
        """Run a program, or opkit, and return what it prints, results first."""
        source = str(DOCS.parent)
        env = {**os.environ, "PYTHONPATH": source, "COLUMNS": "100", "XDG_CACHE_HOME": str(self.path / ".cache")}
        if command[0] == "opkit" and may_be_served([*command[1:]], {}):
            done = served([*command[1:]], self.path, env)
            return done.stdout + done.stderr
        words = [sys.executable, "-m"] if command[0] == "opkit" else []
        done = subprocess.run(
            [*words, *command], cwd=self.path, env=env, capture_output=True, text=True, check=False, timeout=600
        )
        return done.stdout + done.stderr

    def command(self, line: str) -> str:
        """Run a line of a page: opkit, or python."""
        words = shlex.split(line)
        assert words[0] in ("opkit", "python"), line
        start = ["opkit"] if words[0] == "opkit" else [sys.executable]
        return self.run(*start, *words[1:])


def tried(page: str, folder: Folder) -> str:
    """Try the blocks of a page in order; return the page with what they print."""
    printed: str | None = None

    def block(found: re.Match[str]) -> str:
        nonlocal printed
        kind, text = found[1], found[2]
        named = FILE.match(text)
        if kind == "text" and text.startswith("$ "):
            text = "".join(commands(text, folder))
        elif kind == "text" and printed is not None:
            text = printed
        printed = None
        if named is not None:
            path = folder.path / named[1]
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
        elif kind == "python":
            printed = folder.run(sys.executable, "-c", text)
        return f"```{kind}\n{text}```"

    return BLOCK.sub(block, page)


def commands(text: str, folder: Folder) -> list[str]:
    """Run the commands of a block; return their lines, each with what it prints."""
    shown = []
    for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        output = folder.command(line)
        shown.append(f"$ {line}\n" + "".join(f"{item.rstrip()}\n" for item in output.rstrip().splitlines()))
    return shown


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide(name: str, tmp_path: Path) -> None:
    """Every block of it."""
    path = DOCS / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    made = tried(text, Folder(tmp_path))
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path.write_text(made, encoding="utf-8")
    assert settled(path.read_text(encoding="utf-8")) == settled(made)


def test_the_index_of_codes_is_what_explain_prints(tmp_path: Path) -> None:
    """`opkit explain --all --format markdown`, below the heading."""
    path = DOCS / "codes.md"
    made = Folder(tmp_path).command("opkit explain --all --format markdown")
    head = path.read_text(encoding="utf-8").partition("\n## ")[0]
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path.write_text(f"{head}\n{made}", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == f"{head}\n{made}"
