"""The page docs/torch.md keeps its word: its blocks are files that behave as the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import opkit

pytest.importorskip("torch", reason="torch is not installed: the page on its custom functions cannot be run")
pytestmark = pytest.mark.peer

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "torch.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
COMMANDS = re.findall(r"^```text\n\$ opkit (.*?)\n(.*?)\n```$", TEXT, re.MULTILINE | re.DOTALL)


README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
TOUR = re.findall(r"^```text\n\$ opkit (.*?)\n(.*?)\n```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that holds the page's files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_a_command_finds_what_the_page_shows(folder: Path, command: str, shown: str) -> None:
    """The verdict and the code."""
    done = opkit(folder, *command.split())
    verdict, _, code = shown.partition(" ")
    assert done.returncode == (0 if verdict == "pass" else 1), done.stdout + done.stderr
    assert f"{verdict} {code}".strip() in done.stdout


def test_the_page_has_three_commands_and_four_files() -> None:
    """So that none is left out by its form."""
    assert (len(COMMANDS), len(FILES)) == (3, 4)


def test_the_tests_of_the_page_pass(folder: Path) -> None:
    """They use assert_gradients and gradcheck, with opkit's plugin on: torch is the real one."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "opkit.pytest_plugin", "test_mine.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readmes_function_of_torch(tmp_path: Path) -> None:
    """What its two commands print: the files that are written, and the verdict."""
    pytest.importorskip("sympy", reason="sympy is not installed: a formula cannot be read")
    for (arguments, printed), words in zip(TOUR, ("new", "gradcheck"), strict=True):
        assert arguments.startswith(words)
        done = opkit(tmp_path, *shlex.split(arguments))
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith(printed)
