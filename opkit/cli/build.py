"""``opkit build``: compile and load op directories; every finding with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["build"]

_FORMS = ("text", "json", "github", "sarif")


def build(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Op directories, or folders to search.", show_default=False),
    ] = None,
    form: Annotated[str, typer.Option("--format", help="text, json, github or sarif.")] = "text",
    show_python: Annotated[
        bool, typer.Option("--show-python", help="Show the Python that the definitions compile to.")
    ] = False,
) -> None:
    """Compile and load op directories, and check each as a whole; by default those below the current folder.

    Exit status: 0 clean (warnings do not count), 3 a definition or a directory has errors, 5 no op directory found.
    """
    from opkit.cli.console import user_code, warn
    from opkit.cli.edge import CLEAN, NOTHING, SPEC_ERRORS, choice
    from opkit.cli.tables import show_build
    from opkit.project import build as build_directories
    from opkit.project import discover

    choice("--format", form, _FORMS)
    directories = discover(paths or [])
    with user_code():
        result = build_directories(directories)
    show_build(result, form, show_python=show_python)
    if not directories:
        where = ", ".join(str(path) for path in paths or [Path()])
        warn(f"no op directory in {where}: none holds a NAME_cpp_def.cpp\nnext: opkit new NAME")
        raise typer.Exit(NOTHING)
    raise typer.Exit(SPEC_ERRORS if result.has_errors else CLEAN)
