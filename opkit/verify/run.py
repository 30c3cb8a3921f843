"""``gradcheck``: from the words of a command line or a Python call to a Report.

Nothing is printed here; progress goes to whoever asked for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

import opkit
from opkit.checker import CheckResult, OpReport, Report, Status
from opkit.diagnostics import Diagnostic, sort_diagnostics
from opkit.verify.codes import INTERNAL
from opkit.verify.failures.store import FailureStore
from opkit.verify.isolation.blame import report_of
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.targets.target import Target, resolve
from opkit.verify.workers.client import WorkerError, run_isolated
from opkit.verify.workers.messages import Checked, Planned

__all__ = ["Progress", "remember", "run_targets"]


class Progress(Protocol):
    """What a run tells of while it goes on."""

    def planned(self, ops: tuple[str, ...]) -> None:
        """Say that these ops will be checked, beside those named before."""

    def done(self, report: OpReport) -> None:
        """Say that an op is checked."""


class _Silent:
    def planned(self, ops: tuple[str, ...]) -> None:
        """Do nothing."""

    def done(self, report: OpReport) -> None:
        """Do nothing."""


def run_targets(
    words: Iterable[str | os.PathLike[str]], options: RunOptions, progress: Progress | None = None
) -> Outcome:
    """Check what the words name: the one entry of the command line.

    Args:
        words: targets as a user writes them; none means the current folder.
        options: of the run.
        progress: told of ops as they are found and done, or None.

    Returns:
        the outcome; its ops stand in the order of the targets, whatever the number of jobs.

    Raises:
        UsageError: a target does not exist or cannot hold an op.
        OpkitError: worker processes cannot be run.
    """
    return collect(resolve(words), options, progress or _Silent())


def collect(targets: tuple[Target, ...], options: RunOptions, progress: Progress) -> Outcome:
    """Run targets and put their messages in order."""
    started = time.perf_counter()
    options = _within(options)
    reports: dict[tuple[int, int, int], OpReport] = {}
    diagnostics: list[Diagnostic] = []
    is_interrupted = False
    try:
        for message in _messages(targets, options):
            if isinstance(message, Planned):
                diagnostics += message.diagnostics
                progress.planned(message.ops)
                continue
            reports[(message.target, message.order, len(reports))] = message.report
            progress.done(message.report)
    except KeyboardInterrupt:
        is_interrupted = True
    except WorkerError as error:
        _fill(reports, targets, error)
    ops = tuple(reports[place] for place in sorted(reports))
    report = Report(opkit.__version__, options.check.seed, ops)
    saved = remember(report, options)
    seconds = time.perf_counter() - started
    return Outcome(report, sort_diagnostics(diagnostics), saved, is_interrupted, seconds)


def _messages(targets: tuple[Target, ...], options: RunOptions) -> Iterator[Planned | Checked]:
    return run_isolated(targets, options) if targets else iter(())


def _fill(reports: dict[tuple[int, int, int], OpReport], targets: tuple[Target, ...], error: WorkerError) -> None:
    """Report the targets of which nothing was heard, after the parent of all workers died."""
    heard = {number for number, _, _ in reports}
    for number, target in enumerate(targets):
        if number not in heard:
            finding = CheckResult(INTERNAL.name, Status.ERROR, INTERNAL.code, f"{error.message}; it was not judged")
            reports[number, -1, len(reports)] = report_of(target.label, None, finding, 0.0)


def _within(options: RunOptions) -> RunOptions:
    """Keep the checker's own budget well below the time limit, so that a slow op is reported, not killed."""
    if not options.timeout or options.check.seconds <= options.timeout / 3:
        return options
    return replace(options, check=replace(options.check, seconds=options.timeout / 3))


def remember(report: Report, options: RunOptions) -> Mapping[tuple[int, int], str]:
    """Keep the failures of a report in the user's cache; return their ids by (op, check)."""
    if not options.replay:
        return {}
    store = FailureStore(options.cache)
    is_whole = not options.check.select and not options.check.ignore
    saved: dict[tuple[int, int], str] = {}
    for place, op in enumerate(report.ops):
        for index, failure_id in store.update(op, is_whole).items():
            saved[place, index] = failure_id
    return saved
