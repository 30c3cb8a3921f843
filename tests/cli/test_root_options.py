"""What every command has: version, quiet, colours, completion, and words that help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import opkit


def test_the_short_version_option(tmp_path: Path) -> None:
    """-V is --version."""
    assert opkit(tmp_path, "-V").stdout == opkit(tmp_path, "--version").stdout


def test_quiet_leaves_out_hints_and_keeps_data(tmp_path: Path) -> None:
    """The files written are data; the next step is a hint."""
    made = opkit(tmp_path, "--quiet", "new", "t")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith("t/t_cpp_def.cpp")


@pytest.mark.parametrize(("wanted", "coloured"), [("always", True), ("never", False), ("auto", False)])
def test_colour_is_the_persons_choice(tmp_path: Path, wanted: str, coloured: bool) -> None:
    """A pipe gets colours only where they are asked for, whatever the environment says."""
    done = opkit(tmp_path, "--color", wanted, "build", "missing", NO_COLOR="" if wanted == "auto" else "1")
    assert ("\x1b[" in done.stderr) == coloured


def test_an_unknown_colour_is_a_usage_error(tmp_path: Path) -> None:
    """The known ones are named."""
    done = opkit(tmp_path, "--color", "allways", "doctor")
    assert done.returncode == 2
    assert "did you mean 'always'?" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(tmp_path: Path, shell: str) -> None:
    """What a shell asks while a command is being typed is answered with the commands that begin so."""
    asked = {"bash": {"COMP_WORDS": "opkit gr", "COMP_CWORD": "1"}}.get(
        shell, {"_TYPER_COMPLETE_ARGS": "opkit gr", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    )
    program = "import sys; sys.argv[0] = 'opkit'; from opkit.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "_OPKIT_COMPLETE": f"complete_{shell}", **asked},
    )
    assert "gradcheck" in done.stdout
    assert "graph" in done.stdout
    assert "doctor" not in done.stdout


def test_a_name_with_a_hyphen_gets_a_suggestion(tmp_path: Path) -> None:
    """The nearest identifier is offered."""
    assert "'my_op' would be one" in opkit(tmp_path, "new", "my-op").stderr


def test_a_job_that_is_not_written_is_said(tmp_path: Path) -> None:
    """A PyLayer's file is its own job."""
    made = opkit(tmp_path, "new", "t", "--kind", "pylayer", "--job")
    assert made.returncode == 0
    assert "t.py holds its own job" in made.stderr
