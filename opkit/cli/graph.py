"""``opkit graph``: the backward ops that a gradient registration builds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["graph"]


def graph(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Op directories, or folders to search.", show_default=False),
    ] = None,
    shape: Annotated[
        list[str] | None, typer.Option("--shape", metavar="NAME=SIZES", help="Shape of an input, such as x=3,4.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Dtype of the inputs that are not told otherwise.")] = "float32",
    form: Annotated[str, typer.Option("--format", help="text, mermaid or json.")] = "text",
) -> None:
    """Show the backward ops that each op's gradient registration builds, and what they read.

    Without --shape, small shapes are tried until the definitions accept one.
    """
    from opkit.cli.arguments import shape_of
    from opkit.cli.console import put, user_code, warn
    from opkit.cli.edge import CLEAN, NOTHING, SPEC_ERRORS, choice
    from opkit.cli.graphs import graphs_of, render
    from opkit.project import assemble, discover

    choice("--format", form, ("text", "mermaid", "json"))
    shapes = dict(shape_of(item) for item in shape or [])
    directories = discover(paths or [])
    with user_code():
        loaded = [assemble(directory) for directory in directories]
    found, troubles = graphs_of(loaded, shapes, dtype)
    if found:
        put(render(found, form))
    for trouble in troubles:
        warn(trouble)
    if not found and not troubles:
        warn("no op with a gradient was found")
        raise typer.Exit(NOTHING)
    raise typer.Exit(SPEC_ERRORS if troubles else CLEAN)
