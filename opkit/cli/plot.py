"""``opkit plot``: pictures of ops and their gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opkit.cli.flags import Seed
from opkit.cli.target_names import target_begun


def plot(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET", help="As for opkit gradcheck.", autocompletion=target_begun),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", metavar="FILE", help="The page, or FILE.svg for the first picture alone."),
    ] = Path("opkit-plot.html"),
    seed: Seed = 0,
) -> None:
    """Check ops and draw them: forward, backward and the measured derivative, wrong stretches marked.

    Ops that are not elementwise are drawn as matrices of what is expected and given; every check as its error against
    its bound. The page has light and dark colours, and a table beside each picture.

    Example: `opkit plot my_op`.

    Exit status: that of opkit gradcheck.
    """
    from opkit.cli.checking import check, options_of, portraits_of
    from opkit.cli.console import hint, put
    from opkit.cli.ends import INTERRUPTED, NOTHING, TERMINATED
    from opkit.cli.report_file import write_report
    from opkit.configuration import read_configuration
    from opkit.errors import UsageError
    from opkit.reporters.figures import figure_of, standing_alone

    options = options_of(read_configuration(Path.cwd()).options(), seed=seed)
    if output.suffix not in (".svg", ".html", ".htm", ""):
        raise UsageError(f"plot writes a page or an SVG, not {output.suffix}", help=f"--output {output.stem}.html")
    is_page = output.suffix != ".svg"
    status = check(targets or [], options, "text", [("html", output)] if is_page else (), is_drawn=True)
    if status in (NOTHING, INTERRUPTED, TERMINATED):
        raise typer.Exit(status)
    if not is_page:
        found = [item for portraits in portraits_of(targets or [], options).values() for item in portraits]
        if not found:
            raise UsageError("nothing could be measured", help="the report says why")
        write_report(output, standing_alone(figure_of(found[0])))
    put(str(output))
    hint(f"next: open {output} in a browser")
    raise typer.Exit(status)
