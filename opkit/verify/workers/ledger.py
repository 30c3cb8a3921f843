"""Ledger: what each target of a run holds, which reports came, what is being checked, and what is still owed.

Every process of a run that outlives another keeps one, fed with the messages it sees; nobody else remembers them.
Workers send these to the process that the user started, in the order in which it happens to a target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from opkit.checker import CheckResult, OpReport, Status
from opkit.diagnostics import Diagnostic
from opkit.record import mutable, record
from opkit.verify.codes import TIMEOUT
from opkit.verify.targets.target import Target


@record
class Planned:
    """A target is loaded.

    Args:
        target: its number.
        ops: the names of the ops that will be checked.
        directories: the op directory of each of them, None for what stands in a file.
        diagnostics: what the spec compiler and the loader found.
    """

    target: int
    ops: tuple[str, ...]
    directories: tuple[str | None, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@record
class Begun:
    """The check of an op begins.

    Args:
        target: number of its target.
        order: its place among the target's ops.
    """

    target: int
    order: int


@record
class CheckDone:
    """A check of an op is finished, others are to come; it counts where no report of the op follows.

    Args:
        target: number of its target.
        order: its place among the target's ops.
        result: the check's, without evidence.
    """

    target: int
    order: int
    result: CheckResult


@record
class Checked:
    """An op is done.

    Args:
        target: number of its target.
        order: its place among the target's ops; findings about the target itself come before all, at -1.
        report: the outcome.
    """

    target: int
    order: int
    report: OpReport


Message: TypeAlias = Planned | Begun | CheckDone | Checked


@mutable
class Account:
    """One target's part of the ledger.

    Args:
        number: the target's.
        label: what to call the target as long as its ops are not known.
        directory: the op directory that it is, None where it is a file.
        plan: its ops once it is loaded, None before.
        reports: (order, report) in the order of their arrival.
    """

    number: int
    label: str
    directory: str | None = None
    plan: Planned | None = None
    reports: list[tuple[int, OpReport]] = field(default_factory=list)
    _begun: set[int] = field(default_factory=set)
    _found: dict[int, list[CheckResult]] = field(default_factory=dict)

    def note(self, message: Message) -> None:
        """Enter a message of this target."""
        if isinstance(message, Planned):
            self.plan = message
        elif isinstance(message, Begun):
            self._begun.add(message.order)
        elif isinstance(message, CheckDone):
            self._found.setdefault(message.order, []).append(message.result)
        else:
            self._found.pop(message.order, None)
            self.reports.append((message.order, message.report))

    @property
    def owed(self) -> dict[int, str]:
        """Names of the ops that have no report yet, by their order; the target itself (-1) if nothing was heard."""
        done = {order for order, _ in self.reports}
        if self.plan is None:
            return {} if done else {-1: self.label}
        return {order: op for order, op in enumerate(self.plan.ops) if order not in done}

    @property
    def running(self) -> dict[int, str]:
        """Names of the ops whose check has begun and is not done, by their order."""
        return {order: op for order, op in self.owed.items() if order in self._begun}

    def settle(self, finding: CheckResult, seconds: float = 0.0) -> list[Checked]:
        """Give every op that is owed a report with one finding, enter these reports and return them.

        Args:
            finding: why there is no other; the message distinguishes an op that had not begun while others ran.
            seconds: how long was spent.
        """
        running = self.running
        others = ", ".join(running.values())
        beside = replace(finding, message=f"{finding.message}; this op had not begun ({others} ran)")
        found = [
            self.closed(order, beside if running and order not in running else finding, seconds) for order in self.owed
        ]
        for message in found:
            self.note(message)
        return found

    def closed(self, order: int, finding: CheckResult, seconds: float) -> Checked:
        """Return the report of an op that is owed: the checks that were finished, and why there are no more.

        Out of time is an error, unless a finished check failed: that stands.
        """
        finished = _distinct(self._found.get(order, ()))
        if finding.code == TIMEOUT.code:
            has_failed = any(item.status is Status.FAIL for item in finished)
            text = f"{finding.message}; {len(finished)} checks were finished before"
            finding = replace(finding, message=text, status=Status.UNDECIDED if has_failed else Status.ERROR)
        checks = sorted((*finished, finding), key=lambda item: item.code)
        report = OpReport(self.owed[order], tuple(checks), self._directory(order), seconds)
        return Checked(self.number, order, report)

    def _directory(self, order: int) -> str | None:
        known = self.plan.directories if self.plan is not None else ()
        return known[order] if 0 <= order < len(known) else self.directory


def _distinct(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the results, those that hold once for each code, input and output."""
    kept: dict[object, CheckResult] = {}
    for place, item in enumerate(results):
        is_good = item.status in (Status.PASS, Status.SKIP)
        kept.setdefault((item.code, item.input, item.output) if is_good else place, item)
    return list(kept.values())


class Ledger:
    """The accounts of a run's targets.

    Args:
        targets: in the order of their numbers.
    """

    def __init__(self, targets: Sequence[Target]) -> None:
        self.accounts = [Account(number, item.label, item.directory) for number, item in enumerate(targets)]

    def note(self, message: Message) -> None:
        """Enter a message."""
        self.accounts[message.target].note(message)

    def settle(self, finding: CheckResult) -> list[Checked]:
        """Give whatever any target owes a report with one finding, and return these reports."""
        return [message for account in self.accounts for message in account.settle(finding)]

    @property
    def reports(self) -> tuple[OpReport, ...]:
        """All reports, in the order of the targets and of their ops, however they arrived."""
        placed = ((account.number, order, report) for account in self.accounts for order, report in account.reports)
        return tuple(report for _, _, report in sorted(placed, key=lambda item: item[:2]))

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What the spec compiler and the loader found, target by target."""
        return [item for account in self.accounts if account.plan is not None for item in account.plan.diagnostics]
