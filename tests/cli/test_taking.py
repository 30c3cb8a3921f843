"""Values of a command line: what has its type already is taken as it is, and is what typer would make of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from opkit.cli.help import Command


def made(kind: Any) -> typer.Typer:
    """Return a command with a parameter of each type that opkit's have."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    @app.command(cls=kind)
    def show(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        name: str = "x",
        count: int = 3,
        share: float | None = None,
        place: Path = Path(),
        threads: Annotated[int, typer.Option(min=1)] = 1,
        tag: Annotated[list[str] | None, typer.Option()] = None,
        is_on: bool = True,
    ) -> None:
        print(repr((words, name, count, share, place, threads, tag, is_on)))

    return app


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a b --name 5 --count 07 --share 4 --place a/b --tag t --tag u --no-is-on",
        "--count -2 --share 1e-3 --threads 4",
        "--count 2.5",
        "--count ten",
        "--threads 0",
        "--share x",
    ],
)
def test_values_are_those_of_typer(line: str) -> None:
    """Defaults, words, numbers and paths; and what is refused is refused."""
    ours, theirs = (CliRunner().invoke(made(kind), line.split()) for kind in (Command, TyperCommand))
    assert ours.exit_code == theirs.exit_code
    assert ours.exit_code or ours.output == theirs.output


def test_words_and_numbers_load_no_pydantic() -> None:
    """It takes longer to load than everything else that parses a command line."""
    code = "import sys; sys.argv = ['opkit', 'ops', 'tanh']; from opkit.__main__ import main\n"
    code += "try: main()\nexcept SystemExit: pass\nassert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
