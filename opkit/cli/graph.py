"""``opkit graph``: the backward ops that gradient registrations build, and the static graphs of a script."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from opkit.cli.drawing import Drawing

_FORMS = ("text", "svg", "html", "dot", "mermaid", "json")


def graph(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", help="Op directories, or folders to search; or JOB.py [ARGS...].", show_default=False
        ),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option("--shape", metavar="NAME=SIZES", help="Shape of an op's input, such as x=3,4."),
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="DTYPE", help="Dtype of the op's inputs that are not given one otherwise.")
    ] = "float32",
    form: Annotated[
        str, typer.Option("--format", metavar="text|svg|html|dot|mermaid|json", help="What is printed.")
    ] = "text",
) -> None:
    """Show the backward ops of each op's gradient registration, or the static graphs and plans of a script.

    Example: `opkit graph my_op`.

    Of op directories: without --shape, small shapes are tried until the definitions accept one. No Python of a
    directory is run.

    svg and html are pictures that need nothing else: opkit graph my_op --format html > my_op.html.

    JOB.py is run with the ARGS after it; what it prints goes to standard error. Jobs that it never calls are shown too.

    Exit status: 0 clean, 1 the script failed, 3 a definition has errors, 5 there is no gradient or no static graph.
    """
    from opkit.cli.arguments import choice

    choice("--format", form, _FORMS)
    given = paths or []
    command = shlex.join(["opkit", *sys.argv[1:]])  # a script that is run gets arguments of its own
    if given and _is_script(given[0]):
        raise typer.Exit(_show_script(given[0], given[1:], form, command, has_shapes=bool(shape)))
    raise typer.Exit(_show_directories(given, shape or [], dtype, form, command))


def _is_script(path: str) -> bool:
    from opkit.project.directory import is_part

    return path.endswith(".py") and Path(path).is_file() and not is_part(path)


def _show_directories(paths: Sequence[str], shape: Sequence[str], dtype: str, form: str, command: str) -> int:
    from opkit.cli.arguments import shape_of
    from opkit.cli.configured import paths_of
    from opkit.cli.console import warn
    from opkit.cli.ends import CLEAN, NOTHING, SPEC_ERRORS
    from opkit.cli.graphs import gradient_drawing, gradient_json, gradient_text, graphs_of
    from opkit.errors import UsageError
    from opkit.ir import canonical_dtype
    from opkit.project import assemble, discover

    shapes = dict(shape_of(item) for item in shape)
    try:
        dtype = canonical_dtype(dtype)
    except TypeError as error:
        raise UsageError(f"--dtype: {error}") from None
    directories = discover(paths_of(paths))
    loaded = [assemble(directory, runs_python=False) for directory in directories]
    found, troubles = graphs_of(loaded, shapes, dtype)
    if form == "json":
        _put_json("graphs", map(gradient_json, found))
    elif form == "text":
        _put(map(gradient_text, found))
    else:
        _put_drawings(list(map(gradient_drawing, found)), form, command)
    for trouble in troubles:
        warn(trouble)
    if not found and not troubles:
        warn("no op with a gradient was found")
        return NOTHING
    return SPEC_ERRORS if troubles else CLEAN


def _show_script(path: str, argv: Sequence[str], form: str, command: str, *, has_shapes: bool) -> int:
    from opkit.cli.console import warn
    from opkit.cli.ends import CLEAN, FINDINGS, NOTHING
    from opkit.cli.program_forms import program_drawing, program_json, program_text
    from opkit.cli.programs import programs_of
    from opkit.errors import UsageError

    if has_shapes:
        raise UsageError("--shape is for op directories: a script itself determines which shapes it runs")
    found, troubles, status = programs_of(path, argv)
    if form == "json":
        _put_json("programs", map(program_json, found))
    elif form == "text":
        _put(map(program_text, found))
    else:
        _put_drawings(list(map(program_drawing, found)), form, command)
    for trouble in troubles:
        warn(trouble)
    if status or troubles:
        return FINDINGS
    if not found:
        warn(
            f"{path} built no static graph: its ops, if any, ran one by one\n"
            "next: make one with @flow.global_function() or paddle.enable_static(); "
            f"opkit run --profile {path} shows the ops that ran"
        )
        return NOTHING
    return CLEAN


def _put_json(key: str, items: Iterable[object]) -> None:
    import json

    from opkit.cli.console import put

    put(json.dumps({"schema": 1, key: list(items)}, indent=2))


def _put_drawings(drawings: Sequence[Drawing], form: str, command: str) -> None:
    from opkit.cli.drawing import dot, mermaid

    if form == "html":
        from opkit.cli.graph_page import graph_page

        _put([graph_page(drawings, command)] if drawings else [])
    elif form == "svg":
        from opkit.cli.folding import MOST_BOXES, folded
        from opkit.cli.svg import svg

        _put(svg(folded(item) if len(item.ops) > MOST_BOXES else item) for item in drawings)
    else:
        _put(map(dot if form == "dot" else mermaid, drawings))


def _put(texts: Iterable[str]) -> None:
    from opkit.cli.console import put

    if text := "\n\n".join(texts):
        put(text)
