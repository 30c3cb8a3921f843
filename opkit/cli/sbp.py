"""``opkit sbp``: prove what definitions claim about devices."""

from __future__ import annotations

from typing import Annotated

import typer

from opkit.cli.arguments import pair_of
from opkit.cli.flags import Cluster, Jobs, Memory, Output, PrintedForm, ReportFiles, Seed, Shapes, Timeout


def sbp(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Op directories, or folders to search.", show_default=False),
    ] = None,
    seed: Seed = 0,
    strict: Annotated[bool, typer.Option("--strict/--no-strict", help="Undecided signatures count as false.")] = False,
    select: Annotated[str, typer.Option(metavar="CODE,...", help="Report only these checks.")] = "",
    ignore: Annotated[str, typer.Option(metavar="CODE,...", help="Leave out these checks.")] = "",
    shape: Shapes = None,
    effort: Annotated[float, typer.Option(metavar="X", help="How many cases to search.")] = 1.0,
    jobs: Jobs = 0,
    timeout: Timeout = 60.0,
    memory: Memory = 4096,
    cluster: Cluster = "",
    shows_output: Output = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also show the signatures that hold.")] = False,
    form: PrintedForm = "text",
    report: ReportFiles = None,
) -> None:
    """Prove the sharding signatures (SBP) that definitions claim, on 2, 3 and 4 devices; report what else holds.

    Example: `opkit sbp my_op`.

    Exit status: 0 clean, 1 a claim is false, 3 an op directory does not build, 5 no op.
    """
    from opkit.cli.checking import check, options_of
    from opkit.cli.configured import configured, given_in

    settled = configured(given_in(context), targets or [], "SBP")
    pairs = [pair_of(item) for item in report or []]
    options = options_of(settled.options, context.params, "sbp", replay=False)
    raise typer.Exit(check(settled.targets, options, form, pairs, is_verbose=verbose, interpreter=context.obj))
