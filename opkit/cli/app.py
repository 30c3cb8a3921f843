"""The typer app: its commands, in the order of the help page.

Only typer is imported here and at the top of the command modules; a command imports what it needs when it runs,
so that ``opkit --help`` stays quick.
"""

from __future__ import annotations

import sys
from subprocess import Popen
from typing import Annotated

import typer

from opkit import __version__
from opkit.cli.arguments import COLOURS, one_of
from opkit.cli.build import build
from opkit.cli.config import config
from opkit.cli.demo import demo
from opkit.cli.doctor import doctor
from opkit.cli.edge import Edge, choice
from opkit.cli.explain import explain
from opkit.cli.export import export
from opkit.cli.gradcheck import gradcheck
from opkit.cli.graph import graph
from opkit.cli.help import Command
from opkit.cli.new import new
from opkit.cli.ops import ops
from opkit.cli.run import run
from opkit.cli.sbp import sbp
from opkit.cli.test import test
from opkit.cli.watch import watch
from opkit.streams import escape_unprintable, fill_closed

__all__ = ["app", "main"]

app = typer.Typer(
    name="opkit",
    cls=Edge,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"opkit {__version__}")
        raise typer.Exit


@app.callback()
def root(
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

    Exit status: 0 clean, 1 findings, 2 usage, 3 the definitions or the op directory have errors, 5 nothing to do.
    """
    from opkit.cli.console import be_quiet, use_colour

    if quiet:
        be_quiet()
    use_colour(choice("--color", color, COLOURS))


app.command(cls=Command)(new)
app.command(cls=Command)(build)
app.command(cls=Command)(gradcheck)
app.command(cls=Command)(sbp)
app.command(cls=Command, context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})(run)
app.command(cls=Command)(test)
app.command(cls=Command)(watch)
app.command(cls=Command)(export)
app.command(cls=Command)(ops)
app.command(cls=Command)(graph)
app.command(cls=Command)(explain)
app.command(cls=Command)(config)
app.command(cls=Command)(demo)
app.command(cls=Command)(doctor)


def main(interpreter: Popen[bytes] | None = None) -> None:
    """Run the command line.

    Args:
        interpreter: one for the workers of a gradcheck that was started ahead, None to start one where it is needed.
    """
    fill_closed()
    if sys.argv[1:2] != ["run"]:  # a script gets the streams that python would give it
        escape_unprintable()
    app(obj=interpreter)
