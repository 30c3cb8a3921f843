"""``opkit demo``: the 60-second tour, for real."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folder and print its path.")] = False,
) -> None:
    """Scaffold an op in a temporary folder, build it, verify its gradient, run a job; show each step.

    Example: `opkit demo`.
    """
    import shutil
    import tempfile

    from opkit.cli.console import put, warn
    from opkit.cli.tour import tour

    folder = tempfile.mkdtemp(prefix="opkit-demo-")
    try:
        status = tour(folder)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    if keep:
        put(folder)
    warn("that was opkit; now: opkit new NAME" if status == 0 else f"a step failed with exit status {status}")
    raise typer.Exit(status)
