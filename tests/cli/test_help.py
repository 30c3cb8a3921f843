"""Help pages at every width, and what is said of a command line that cannot be parsed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from opkit.checker.model.thresholds import SECONDS
from opkit.cli.app import application
from opkit.cli.help import page_of
from tests.cli.test_commands import opkit

ROOT: Any = get_command(application())
NAMES = ("", *ROOT.commands)


def page(name: str) -> str:
    """Return the help page of a command, "" for the one of opkit itself."""
    root = ROOT.make_context("opkit", [], resilient_parsing=True)
    if not name:
        return page_of(ROOT, root)
    command = ROOT.commands[name]
    return page_of(command, command.make_context(name, [], parent=root, resilient_parsing=True))


def options(name: str) -> list[Any]:
    """Return the options of a command."""
    command = ROOT.commands[name] if name else ROOT
    return [item for item in command.params if item.param_type_name == "option"]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_too_wide_and_no_name_is_cut(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for examples, which are copied as they are."""
    monkeypatch.setenv("COLUMNS", str(width))
    shown = page(name)
    examples = re.findall(r"^Example:\n((?:  .*\n)+)", shown, re.MULTILINE)
    without = shown.replace("".join(examples), "")
    assert all(len(line) <= width for line in without.splitlines()), without
    names = re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", shown)
    assert {text for item in options(name) for text in (*item.opts, *item.secondary_opts)} <= set(names)


@pytest.mark.parametrize("name", NAMES)
def test_what_an_option_takes_is_said(name: str) -> None:
    """In words or as choices, never as a type of Python or in words of the parser; a command has an example to copy."""
    for item in options(name):
        assert item.metavar or isinstance(item.default, bool) or item.is_flag, item.opts
    assert not re.search(r"<\w+>|\b(INTEGER|BOOLEAN|FLOAT)\b", page(name))
    assert "Example" in page(name) or not name


@pytest.mark.parametrize("name", NAMES)
def test_choices_complete(name: str) -> None:
    """An option that shows its choices, of this package's own modules, offers them to the shell."""
    for item in options(name):
        if "|" in (item.metavar or "") and name not in ("graph", "export"):
            offered = [
                found.value for found in item.shell_complete(ROOT.make_context("x", [], resilient_parsing=True), "")
            ]
            assert offered == item.metavar.split("|"), item.opts


WHERE = "opkit --help lists them, and says where the documentation is"


@pytest.mark.parametrize(
    ("argv", "message", "help_line"),
    [
        (["gradchek"], "opkit has no command 'gradchek'", f"did you mean 'gradcheck'? {WHERE}"),
        (["docs"], "opkit has no command 'docs'", f"did you mean 'doctor'? {WHERE}"),
        (["zzz"], "opkit has no command 'zzz'", WHERE),
        (["gradcheck", "--strit"], "opkit gradcheck has no option '--strit'", "did you mean '--strict'?"),
        (["--colour", "never"], "opkit has no option '--colour'", "did you mean '--color'?"),
        (["build", "--zzz"], "opkit build has no option '--zzz'", "opkit build --help"),
        (["new", "x", "--color"], "opkit new has no option '--color'", "it goes before the command: opkit --color ..."),
        (["export"], "opkit export: missing argument 'TARGET'", "opkit export --help"),
        (["explain", "GC101", "GC102"], "opkit explain: got unexpected extra argument", "opkit explain --help"),
    ],
)
def test_what_cannot_be_parsed(tmp_path: Path, argv: list[str], message: str, help_line: str) -> None:
    """Is a usage error of two lines."""
    done = opkit(tmp_path, *argv)
    first, second = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert first.startswith(f"error: {message}")
    assert second == f"  help: {help_line}"


def test_a_flag_of_the_program_may_follow_the_command(tmp_path: Path) -> None:
    """``-q`` is typed at the end; what follows the script that ``run`` runs, or ``--``, is not opkit's."""
    assert "next:" in opkit(tmp_path, "new", "x", "--dir", "a").stderr
    assert "next:" not in opkit(tmp_path, "new", "x", "--dir", "b", "-q").stderr
    assert "next:" not in opkit(tmp_path, "-q", "new", "x", "--dir", "c").stderr
    (tmp_path / "job.py").write_text("import sys\nprint(sys.argv[1:])\n")
    assert opkit(tmp_path, "run", "job.py", "-q").stdout == "['-q']\n"


def test_effort_promises_no_less_time_than_a_check_may_take() -> None:
    """Cases are left out once an op has taken twenty seconds of the processor, and functions of torch come near it."""
    (effort,) = (item for item in options("gradcheck") if item.name == "effort")
    assert "up to twenty for a function of torch or JAX" in effort.help
    assert SECONDS == 20
