"""What reporters are given: a run, described by its attributes, whoever made it.

Also the facts that several formats share: the findings, their order, and the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from opkit.checker import CheckResult, OpReport, Report, Status
from opkit.diagnostics import Diagnostic
from opkit.diagnostics.render import printable
from opkit.record import record


class RunView(Protocol):
    """One run of gradcheck.

    ``saved`` maps (index of the op, index of the check) to the id that ``opkit gradcheck --repro`` takes.
    """

    @property
    def report(self) -> Report:
        """Op by op, check by check."""

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What the spec compiler and the loader found."""

    @property
    def saved(self) -> Mapping[tuple[int, int], str]:
        """Ids of the failures that were kept."""

    @property
    def is_interrupted(self) -> bool:
        """Whether the run was interrupted."""

    @property
    def seconds(self) -> float:
        """Wall time."""


@record
class Finding:
    """A check's outcome with the op that it is about.

    Args:
        op: the op's report.
        result: the outcome.
        repro: the id of what was saved of it, "" without.
    """

    op: OpReport
    result: CheckResult
    repro: str = ""


def findings(run: RunView, *statuses: Status) -> Iterator[Finding]:
    """Yield the outcomes with one of these statuses, in the order of ops and checks."""
    for place, op in enumerate(run.report.ops):
        for index, result in enumerate(op.checks):
            if result.status in statuses:
                yield Finding(op, result, run.saved.get((place, index), ""))


def remarks(run: RunView) -> Iterator[Finding]:
    """Yield what holds and comes with something to do: a signature that could be claimed, with the line to add."""
    return (finding for finding in findings(run, Status.PASS) if finding.result.hint)


def printable_op(op: OpReport) -> OpReport:
    """Return a report of an op whose texts a terminal shows and does not act on; its places are as they were."""
    checks = tuple(
        replace(
            result,
            message=printable(result.message),
            hint=printable(result.hint),
            input=None if result.input is None else printable(result.input),
            output=None if result.output is None else printable(result.output),
        )
        for result in op.checks
    )
    return replace(
        op,
        op=printable(op.op),
        dir=None if op.dir is None else printable(op.dir),
        checks=checks,
        tried=tuple(map(printable, op.tried)),
        notes=tuple(map(printable, op.notes)),
        rests_on=printable(op.rests_on),
    )


def heading(result: CheckResult) -> str:
    """Return a check's code, name and subject: "GC101 jacobian of d(y)/d(x)"."""
    about = subject(result)
    return f"{result.code} {result.check}" + (f" of {about}" if about else "")


def subject(result: CheckResult) -> str:
    """Return what a check is about: "d(y)/d(x)", "x", "y" or ""."""
    if result.input and result.output:
        return f"d({result.output})/d({result.input})"
    return result.input or result.output or ""


def counts(report: Report) -> str:
    """Return how many ops have which status, in words: "5 ops: 4 pass, 1 fail"."""
    found = Counter(op.status for op in report.ops)
    parts = [f"{found[status]} {status.value}" for status in Status if found[status]]
    total = len(report.ops)
    return f"{total} op{'' if total == 1 else 's'}: {', '.join(parts)}" if parts else "no ops"
