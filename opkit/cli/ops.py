"""``opkit ops``: the op types that exist."""

from __future__ import annotations

from typing import Annotated

import typer

from opkit.cli.flags import PlainForm


def ops(
    pattern: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="Only op types whose name contains this text.", show_default=False),
    ] = None,
    form: PlainForm = "text",
) -> None:
    """List the built-in op types, which gradients of op directories may use.

    Example: `opkit ops conv`.
    """
    from opkit.cli.arguments import choice
    from opkit.cli.console import warn
    from opkit.cli.ends import NOTHING
    from opkit.cli.listing import builtin_ops, show_ops
    from opkit.errors import unknown

    choice("--format", form, ("text", "json"))
    found = builtin_ops(pattern or "")
    show_ops(found, form)
    if not found:
        warn(str(unknown("no op type's name contains", pattern or "", [op.name for op in builtin_ops()], limit=3)))
        raise typer.Exit(NOTHING)
