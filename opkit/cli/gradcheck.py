"""``opkit gradcheck``: verify gradients."""

from __future__ import annotations

from typing import Annotated

import typer

from opkit.cli.flags import (
    Cluster,
    Effort,
    Jobs,
    Kernel,
    Memory,
    Output,
    PrintedForm,
    ReportFiles,
    Seed,
    Shapes,
    Timeout,
)
from opkit.cli.target_names import target_begun


def gradcheck(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="Op directories, folders to search, FILE.py, FILE.py::Name or package.module::Name (a PyLayer, a "
            "torch Function or library op, a JAX rule), or a job.",
            show_default=False,
            autocompletion=target_begun,
        ),
    ] = None,
    seed: Seed = 0,
    strict: Annotated[bool, typer.Option("--strict/--no-strict", help="Undecided checks count as failed.")] = False,
    select: Annotated[str, typer.Option(metavar="CODE,...", help="Run only these checks.")] = "",
    ignore: Annotated[str, typer.Option(metavar="CODE,...", help="Skip these checks.")] = "",
    shape: Shapes = None,
    recorded_only: Annotated[
        bool, typer.Option("--recorded-only", help="Check what a script calls on the inputs it was seen with alone.")
    ] = False,
    demand_second: Annotated[
        bool, typer.Option("--second-order", help="A wrong gradient of the gradient fails, promised or not.")
    ] = False,
    reference: Annotated[
        str,
        typer.Option(metavar="MODULE:NAME", help="Compare with this function, which is right, in every precision."),
    ] = "",
    effort: Effort = 1.0,
    power: Annotated[
        bool, typer.Option("--power", help="Also plant mistakes in the gradient and report which are caught.")
    ] = False,
    jobs: Jobs = 0,
    timeout: Timeout = 60.0,
    memory: Memory = 4096,
    replay: Annotated[bool, typer.Option("--replay/--no-replay", help="Try former failures too.")] = True,
    cluster: Cluster = "",
    device: Annotated[
        str,
        typer.Option("--device", metavar="NAME", help="Where functions of torch and JAX run: cuda, cuda:1, mps, cpu."),
    ] = "",
    kernel: Kernel = "auto",
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Run C++ kernels with address and undefined-behaviour sanitizers.")
    ] = False,
    shows_output: Output = False,
    pdb: Annotated[
        bool, typer.Option("--pdb", help="Check in this process, and stop in the debugger at the first failing call.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also show the checks that passed, and all that is not served.")
    ] = False,
    repro: Annotated[
        str,
        typer.Option(metavar="ID", help="Write a saved failure as an .npz and a numpy script here, and check nothing."),
    ] = "",
    write_cases: Annotated[
        bool, typer.Option("--write-cases", help="Write the inputs found as cases to correct, and check nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Let --write-cases replace what is there.")] = False,
    form: PrintedForm = "text",
    report: ReportFiles = None,
) -> None:
    """Verify that backward is the derivative of forward, and that the op keeps its other promises.

    Examples: `opkit gradcheck my_op                  # an op directory, or a folder of them`
    `opkit gradcheck layers.py::Cube         # a PyLayer`
    `opkit gradcheck train.py                # PyLayers, py_funcs and all else that a script calls`
    `opkit gradcheck relu6.py::ReLU6         # a torch.autograd.Function`
    `opkit gradcheck row_sum.py::row_sum     # an op of torch's library`
    `opkit gradcheck swish.py::swish         # a custom_vjp or custom_jvp of JAX`
    `opkit gradcheck my_op --report html=report.html`

    A pair of plain functions is checked in Python: opkit.gradcheck(forward=f, backward=df, inputs=[x]).

    Exit status: 0 clean, 1 a check failed, 2 a name or an option is not there, 3 an op directory does not build
    or cases are not well formed, 5 nothing to check.
    """
    from opkit.cli.arguments import KERNELS, choice, pair_of
    from opkit.cli.checking import check, debug, options_of, put_cases, put_repro
    from opkit.cli.configured import configured, given_in

    choice("--kernel", kernel, KERNELS)
    settled = configured(given_in(context), targets or [], "GC")
    options = options_of(settled.options, context.params, reference=reference or None)
    if repro:
        raise typer.Exit(put_repro(repro, options))
    if write_cases:
        raise typer.Exit(put_cases(settled.targets, options, force))
    if pdb:
        raise typer.Exit(debug(settled.targets, options))
    pairs = [pair_of(item) for item in report or settled.reports]
    raise typer.Exit(check(settled.targets, options, form, pairs, is_verbose=verbose, interpreter=context.obj))
