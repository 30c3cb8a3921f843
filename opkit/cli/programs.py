"""The static graphs of a script: what it built while it ran, and the plans that were compiled for its runs.

``program_forms`` decides how they are shown.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from opkit import static
from opkit.cli.job import run_job
from opkit.errors import OpkitError
from opkit.ir import Program, Value
from opkit.oneflow.job import Job
from opkit.oneflow.session import session
from opkit.record import mutable, record
from opkit.settings import settings

if TYPE_CHECKING:
    from opkit.distribute import Physical


@record
class PlanOfProgram:
    """A plan that was compiled for runs of a program.

    Args:
        plan: the plan.
        fetches: what such a run returns; None where nothing writes it.
        source: its Python source, after a line that sums it up.
    """

    plan: static.Plan
    fetches: tuple[Value | None, ...]
    source: str


@mutable
class ProgramGraph:
    """A program, and what it is called.

    Args:
        program: the graph.
        title: "job NAME", or a program by the name that the script has for it.
        inputs: the Values that it is fed.
        fetches: the Values that its runs return.
        plans: in the order in which they were created.
        physicals: how it is laid out, where it runs on several devices.
    """

    program: Program
    title: str = ""
    inputs: tuple[Value, ...] = ()
    fetches: tuple[Value, ...] = ()
    plans: list[PlanOfProgram] = field(default_factory=list)
    physicals: list[Physical] = field(default_factory=list)


def programs_of(path: str, argv: Sequence[str]) -> tuple[list[ProgramGraph], list[str], int]:
    """Run a script and return the static graphs that it built, jobs that it never called among them.

    Args:
        path: the script.
        argv: its arguments.

    Returns:
        the graphs in the order in which they were first run, those that never ran last; a message for each job that
        cannot be traced; and the script's exit status.

    Raises:
        UsageError: there is no such script.
    """
    found: dict[int, ProgramGraph] = {}

    def note(plan: static.Plan, fetches: Sequence[Value | None], source: str) -> None:
        graph = found.setdefault(plan.program.serial, ProgramGraph(plan.program))
        graph.plans.append(PlanOfProgram(plan, tuple(fetches), source))

    with contextlib.redirect_stdout(sys.stderr), settings(on_compiled=note):
        status = run_job(path, argv)
        troubles = _trace_jobs()
    names = vars(sys.modules["__main__"])
    for program in _programs(names):
        found.setdefault(program.serial, ProgramGraph(program))
    _describe(found, names)
    return [graph for graph in found.values() if graph.program.blocks[0].ops], troubles, status


def _trace_jobs() -> list[str]:
    troubles = []
    for job in list(session().jobs):
        try:
            _prepare(job)
        except OpkitError as error:
            notes = [f"\n  {note}" for note in getattr(error, "__notes__", ())]
            place = "" if error.where is not None else f"\n  --> {job.signature.where}"
            troubles.append(f"job {job.name!r} cannot be traced: {error}{''.join(notes) or place}")
    return troubles


def _prepare(job: Job) -> None:
    """Trace a job as if the line that defines it called it, so that what it adds has a place in the script."""
    where = job.signature.where
    code = compile("\n" * (where.line - 1) + "prepare()", where.file, "exec")
    exec(code, {"prepare": job.prepare})


def _jobs(names: Mapping[str, Any]) -> Iterator[Job]:
    yield from session().jobs
    for item in names.values():
        job = getattr(item, "job", None)
        if isinstance(job, Job):  # of a session that was cleared
            yield job


def _programs(names: Mapping[str, Any]) -> Iterator[Program]:
    """Yield the programs of jobs, the script's own and the default ones."""
    for job in _jobs(names):
        if job.graph is not None:
            yield job.graph.program
    for item in names.values():
        if isinstance(item, Program):
            yield item
    yield from (static.default_startup_program(), static.default_main_program())


def _describe(found: Mapping[int, ProgramGraph], names: Mapping[str, Any]) -> None:
    """Fill in titles, inputs and fetches."""
    jobs = {job.graph.program.serial: job.graph for job in _jobs(names) if job.graph is not None}
    several = {job.graph.program.serial: job.on_devices for job in _jobs(names) if job.graph is not None}
    titles = {static.default_main_program().serial: "the default main program"}
    titles[static.default_startup_program().serial] = "the default startup program"
    titles |= {item.serial: f"program {name}" for name, item in names.items() if isinstance(item, Program)}
    for index, (serial, graph) in enumerate(found.items()):
        job = jobs.get(serial)
        graph.title = f"job {job.name}" if job is not None else titles.get(serial, f"program number {index}")
        graph.inputs = tuple(job.inputs if job is not None else _data(graph.program))
        asked = [value for plan in graph.plans for value in plan.fetches] + (job.outputs if job is not None else [])
        on_devices = several.get(serial)
        if on_devices is not None:
            graph.physicals = on_devices.laid_out() or [on_devices.lay_out()]
        graph.fetches = tuple(dict.fromkeys(value for value in asked if value is not None))


def _data(program: Program) -> list[Value]:
    """Return the first versions of what a program is fed, in the order of their declarations."""
    block = program.blocks[0]
    read = {}
    for op in block.ops:
        for value in op.inputs:
            if value is not None and value.variable.is_data and not value.version:
                read[value.variable.name] = value
    return [read.get(name, item.value) for name, item in block.vars.items() if item.is_data]
