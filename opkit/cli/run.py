"""``opkit run``: a job, as ``python job.py`` would run it."""

from __future__ import annotations

from typing import Annotated

import typer

from opkit.cli.arguments import KERNELS
from opkit.cli.flags import Kernel


def run(
    job: Annotated[str, typer.Argument(metavar="JOB.py", help="The script.", show_default=False)],
    args: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="Its arguments.", show_default=False)] = None,
    show_plan: Annotated[
        bool, typer.Option("--show-plan", help="Show the Python source of every compiled plan, on standard error.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show time and memory of each op at the end; write JOB.trace.json.")
    ] = False,
    report: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="FORM=FILE", help="With --profile: also write it as html or json to a file."),
    ] = None,
    gpu_as_cpu: Annotated[bool, typer.Option("--gpu-as-cpu", help="Run gpu placements on the CPU.")] = False,
    kernel: Kernel = "auto",
    numpy1_names: Annotated[
        bool, typer.Option("--numpy1-names", help="Let numpy have names of numpy 1, such as np.float and np.product.")
    ] = False,
    threads: Annotated[
        int,
        typer.Option("--threads", metavar="N", min=1, help="Split OneFlow's jobs over N threads, as SBP claims allow."),
    ] = 1,
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="ADDRESS", help="Devices are Dask workers: tcp://host:8786, or local:4.")
    ] = "",
) -> None:
    """Run a script whose `import oneflow` and `import paddle` get opkit's runtime.

    Examples: `opkit run job.py`; `opkit run --profile --report html=profile.html job.py`.

    Everything else is as under `python JOB.py`: arguments, exit status, tracebacks. opkit's options come first.

    OPKIT_TRACEBACK=full shows opkit's own frames in tracebacks too.
    """
    from opkit.cli.arguments import choice, pair_of
    from opkit.cli.edge import refuse_options
    from opkit.cli.job import run_job
    from opkit.errors import UsageError

    refuse_options("run", job)
    choice("--kernel", kernel, KERNELS)
    reports = [pair_of(item) for item in report or []]
    for form, _ in reports:
        choice("--report", form, ("html", "json"))
    if reports and not profile:
        raise UsageError("opkit run --report writes a profile", help="opkit run --profile --report ...")
    raise SystemExit(
        run_job(
            job,
            args or [],
            show_plan=show_plan,
            profile=profile,
            reports=reports,
            gpu_as_cpu=gpu_as_cpu,
            kernel=kernel,
            threads=threads,
            cluster=cluster,
            with_numpy1_names=numpy1_names,
        )
    )
