"""``opkit bench``: the time per call of an op's kernels over sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from opkit.cli.arguments import pair_of
from opkit.cli.flags import PlainForm


def bench(
    path: Annotated[str, typer.Argument(metavar="OP", help="An op directory.", show_default=False)],
    op: Annotated[str, typer.Option("--op", metavar="TYPE", help="The op type, by default the forward op.")] = "",
    form: PlainForm = "text",
    picture: Annotated[
        str, typer.Option("--svg", metavar="FILE", help="Also draw time over size, both logarithmic.")
    ] = "",
    report: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="FORM=FILE", help="Also write html (picture and table) or json to a file."),
    ] = None,
) -> None:
    """Measure both kernels of an op over sizes, beside an empty kernel and the machine's copy of as many bytes.

    Example: `opkit bench my_op --report html=my_op.html`.

    An op with a cases file is measured on its first case. The fastest of five rounds counts.
    """
    from opkit.cli.arguments import choice
    from opkit.cli.columns import columns_text
    from opkit.cli.console import put, user_code
    from opkit.cli.report_file import write_report
    from opkit.cli.timing_picture import timing_page, timing_svg, timing_table
    from opkit.errors import UsageError, unknown
    from opkit.project import load
    from opkit.project.timing import timed

    choice("--format", form, ("text", "json"))
    reports = [pair_of(item) for item in report or []]
    for name, _ in reports:
        choice("--report", name, ("html", "json"))
    with user_code():
        loaded = load(path)
        chosen = op or next(iter(loaded.forward_ops), "")
        if chosen not in loaded.ops:
            raise unknown(f"{path} defines no op type", chosen, loaded.ops).error(UsageError)
        rows = list(timed(loaded, chosen, loaded.cases()))
    if picture:
        write_report(Path(picture), timing_svg(chosen, rows))
    sizes = [{"elements": row.elements, "bytes": row.bytes, **row.seconds} for row in rows]
    numbers = json.dumps({"schema": 1, "op": chosen, "seconds_per_call": sizes}, indent=2)
    for name, file in reports:
        write_report(file, timing_page(chosen, rows) if name == "html" else numbers)
    if form == "json":
        put(numbers)
        return
    heads, *cells = timing_table(rows)
    if {"python", "cpp"} <= set(heads):
        heads = (*heads, "python/cpp")
        cells = [(*row, f"{one.seconds['python'] / one.seconds['cpp']:.2f}") for row, one in zip(cells, rows)]
    put(f"{chosen}: microseconds per call")
    put(columns_text(cells, heads, 100, flexible="elements"))
