"""``opkit doctor``: whether this installation works."""

from __future__ import annotations

import typer


def doctor() -> None:
    """Check this installation: versions, templates, definitions and the runtime, each by using it.

    Versions that opkit is not tested with are marked; they may work.

    Example: `opkit doctor`.
    """
    from opkit.cli.checkup import UNTESTED, checkup
    from opkit.cli.columns import hanging
    from opkit.cli.console import paint, put, screen_width, warn
    from opkit.cli.ends import FINDINGS

    is_well = True
    for name, is_good, text in checkup():
        is_well = is_well and is_good
        mark = "BAD " if not is_good else "new?" if text.startswith(UNTESTED) else "ok  "
        put(hanging(f"{mark} {name:<12} ", text.removeprefix(UNTESTED), screen_width()))
    warn(paint("everything works", "good") if is_well else paint("something is wrong", "error"))
    if not is_well:
        raise typer.Exit(FINDINGS)
