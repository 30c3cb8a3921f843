"""``opkit plot``: pictures of ops and their gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opkit.cli.flags import Effort, Seed, Timeout
from opkit.cli.target_names import target_begun


def plot(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET", help="As for opkit gradcheck.", autocompletion=target_begun),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", metavar="FILE", help="The page, or FILE.svg for one picture, if any of a wrong gradient."
        ),
    ] = Path("opkit-plot.html"),
    seed: Seed = 0,
    effort: Effort = 1.0,
    timeout: Timeout = 60.0,
) -> None:
    """Check ops and draw them: forward, backward and the measured derivative, wrong stretches marked.

    Ops that are not elementwise are drawn as matrices of what is expected and given; every check as its error against
    its bound. The page has light and dark colours, and a table beside each picture.

    Example: `opkit plot my_op`.

    Exit status: that of opkit gradcheck.
    """
    from opkit.cli.checking import check, options_of
    from opkit.cli.configured import configured, given_in
    from opkit.cli.console import hint, put
    from opkit.cli.ends import INTERRUPTED, NOTHING, TERMINATED
    from opkit.errors import UsageError

    settled = configured(given_in(context), targets or [], "GC")
    options = options_of(settled.options, context.params)
    if output.suffix not in (".svg", ".html", ".htm", ""):
        raise UsageError(f"plot writes a page or an SVG, not {output.suffix}", help=f"--output {output.stem}.html")
    form = "svg" if output.suffix == ".svg" else "html"
    is_replaced = output.exists()
    status = check(settled.targets, options, "text", [(form, output)], is_drawn=True)
    if status in (NOTHING, INTERRUPTED, TERMINATED):
        raise typer.Exit(status)
    put(str(output))
    if is_replaced:
        hint(f"the {output} that was there is replaced; --output FILE writes elsewhere")
    hint(f"next: open {output} in a browser")
    raise typer.Exit(status)
