"""``opkit build``: compile and load op directories; every finding has a position."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opkit.cli.flags import PrintedForm


def build(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Op directories, or folders to search.", show_default=False),
    ] = None,
    form: PrintedForm = "text",
    show_python: Annotated[
        bool, typer.Option("--show-python", help="Show the Python that the definitions are compiled to.")
    ] = False,
    spec_only: Annotated[
        bool,
        typer.Option("--spec-only", help="Compile the definitions and read the Python files, but run no Python."),
    ] = False,
    compile_commands: Annotated[
        bool,
        typer.Option("--compile-commands", help="Write compile_commands.json here, for editors of C++ kernels."),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Write what the definitions lack and the kernel and API files tell: attributes, shapes, dtypes, "
            "backward ops, gradient registrations. Without it the difference is shown.",
        ),
    ] = False,
) -> None:
    """Compile and load op directories, and check each as a whole; by default those below the current folder.

    Example: `opkit build my_op`.

    The functions of the API file are called with stub blobs, in a process of their own; --spec-only runs no Python of a
    directory. --fix adds lines, and mends the name of a misspelt gradient: the bodies of functions stay as they are.

    Exit status: 0 clean (warnings do not count), 3 a definition or a directory has errors, 5 no op directory found.
    """
    from opkit.cli.building import built

    raise typer.Exit(built(paths or [], form, show_python, spec_only, compile_commands, fix))
