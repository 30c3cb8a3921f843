"""The typer app: its commands, in the order of the help page.

Only typer is imported here and at the top of the command modules; a command imports what it needs when it runs,
so that ``opkit --help`` stays quick. Of commands that a command line does not name no options are put together.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from subprocess import Popen
from typing import Annotated

import typer

from opkit import __version__
from opkit.cli.arguments import COLOURS, choice
from opkit.cli.edge import Edge
from opkit.cli.flags import one_of
from opkit.cli.help import Command
from opkit.streams import escape_unprintable, fill_closed

#: Each is a function of that name in the module of that name beside this one.
COMMANDS = (
    "new",
    "build",
    "gradcheck",
    "plot",
    "sbp",
    "run",
    "test",
    "bench",
    "watch",
    "export",
    "ops",
    "graph",
    "explain",
    "cache",
    "config",
    "demo",
    "doctor",
)
#: What follows is the script's own.
_PASSES_ON = {"run": {"allow_interspersed_args": False, "ignore_unknown_options": True}}
#: Where a shell puts the command line that it asks about.
_COMPLETED = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def application(names: Collection[str] = COMMANDS, whole: Collection[str] = COMMANDS) -> typer.Typer:
    """Return the app with some of the commands.

    Args:
        names: of the commands, all by default.
        whole: those of them that may run, or whose options are asked for; the others are there to be listed.
    """
    app = typer.Typer(
        name="opkit",
        cls=Edge,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in names:
        function = getattr(import_module(f"opkit.cli.{name}"), name)
        made = app.command(name, cls=Command, context_settings=_PASSES_ON.get(name), help=function.__doc__)
        made(function if name in whole else _listed)
    return app


def _listed() -> None:
    """Stand for a command that is not asked for."""


def _asked(words: Sequence[str]) -> typer.Typer:
    """Return the app with what a command line may ask for: one command where it begins with it, else a list of all."""
    if words and words[0] in COMMANDS:
        return application(words[:1])
    completed = [part for name in _COMPLETED for part in os.environ.get(name, "").split()]
    return application(whole=[*words, *completed])


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"opkit {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out hints about the next step.")] = False,
    color: Annotated[
        str,
        typer.Option(
            "--color", metavar="auto|always|never", help="Whether output is coloured.", autocompletion=one_of(COLOURS)
        ),
    ] = "auto",
) -> None:
    """Scaffold an op, build it, verify its gradient, run it in a job.

    `opkit COMMAND --help` explains a command, `opkit explain` a code or a word of a report; the documentation is in the
    folder docs of opkit's source, which `make docs` builds as a site.

    Exit status: 0 clean, 1 findings, 2 usage, 3 the definitions or the op directory have errors, 5 nothing to do.
    """
    from opkit.cli.console import be_quiet, use_colour

    if quiet:
        be_quiet()
    use_colour(choice("--color", color, COLOURS))


def main(interpreter: Popen[bytes] | None = None) -> None:
    """Run the command line.

    Args:
        interpreter: one for the workers of a gradcheck that was started ahead, None to start one where it is needed.
    """
    fill_closed()
    if sys.argv[1:2] != ["run"]:  # a script gets the streams that python would give it
        escape_unprintable()
    _asked(sys.argv[1:])(obj=interpreter)
