"""``opkit watch``: check again what changes."""

from __future__ import annotations

from typing import Annotated

import typer


def watch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET", help="What to watch: op directories, folders, FILE.py, FILE.py::Name.", show_default=False
        ),
    ] = None,
    effort: Annotated[
        float | None, typer.Option(metavar="X", help="How much to try, as of gradcheck.", show_default=False)
    ] = None,
) -> None:
    """Build and check ops, and again whatever changes, until Ctrl-C; by default those below the current folder.

    Example: `opkit watch my_op`.

    Options come from [tool.opkit], which may change meanwhile. On a terminal the report is replaced in place.

    Needs the extra `watch`: pip install 'opkit[watch]'.
    """
    from opkit.cli.watching import watch_targets

    watch_targets(targets or [], effort)
