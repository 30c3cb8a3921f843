"""``gradcheck``: from the words of a command line or a Python call to a Report.

Nothing is printed here; progress goes to whoever asked for it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from subprocess import Popen
from typing import Protocol

from opkit.checker import CheckResult, OpReport, Report, Status
from opkit.diagnostics import sort_diagnostics
from opkit.paths import StrPath
from opkit.project.directory import op_directory_of
from opkit.project.proofs import remember_proofs
from opkit.settings import settings
from opkit.verify.codes import INTERNAL, SCRIPT
from opkit.verify.failures.store import FailureStore
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome, Terminated
from opkit.verify.targets.target import Target, resolve
from opkit.verify.workers.client import WorkerError, run_isolated
from opkit.verify.workers.ledger import Checked, Ledger, Message, Planned
from opkit.version import __version__


class Progress(Protocol):
    """What a run reports about its progress."""

    def planned(self, ops: tuple[str, ...]) -> None:
        """Say that these ops will be checked, besides those named before."""

    def done(self, report: OpReport) -> None:
        """Say that an op is checked."""


def run_targets(
    words: Iterable[StrPath],
    options: RunOptions,
    progress: Progress | None = None,
    interpreter: Popen[bytes] | None = None,
) -> Outcome:
    """Check what the words name: the one entry of the command line.

    Args:
        words: targets as a user writes them; none means the current folder.
        options: of the run.
        progress: notified of ops as they are found and done, or None.
        interpreter: one for the workers that was started ahead, None to start one.

    Returns:
        the outcome; its ops stand in the order of the targets, whatever the number of jobs.

    Raises:
        UsageError: a target does not exist or cannot hold an op.
        OpkitError: worker processes cannot be run.
    """
    targets = resolve(words, has_functions=options.command == "gradcheck")
    return collect(targets, options, progress, interpreter)


def collect(
    targets: tuple[Target, ...],
    options: RunOptions,
    progress: Progress | None = None,
    interpreter: Popen[bytes] | None = None,
) -> Outcome:
    """Run targets and put their messages in order."""
    started = time.perf_counter()
    ledger = Ledger(targets)
    _build_ahead(targets, options)
    is_interrupted = is_terminated = False
    why = "the workers ended without a report of this op"
    try:
        for message in _messages(targets, options, interpreter) if targets else ():
            ledger.note(message)
            if progress is not None and isinstance(message, Planned):
                progress.planned(message.ops)
            elif progress is not None and isinstance(message, Checked):
                progress.done(message.report)
    except KeyboardInterrupt as stop:
        is_interrupted, is_terminated = True, isinstance(stop, Terminated)
    except WorkerError as error:
        why = error.message
    if not is_interrupted:  # what is owed now will never come, and must not look as if all were well
        ledger.settle(CheckResult.of(INTERNAL, Status.ERROR, f"{why}; it was not judged"))
    report = Report(__version__, options.check.seed, _told_apart(_told_once(ledger.reports)), options.command)
    saved = remember(report, options)
    if options.command == "sbp" and not is_interrupted:
        _keep_proofs(report)
    seconds = time.perf_counter() - started
    return Outcome(report, sort_diagnostics(ledger.diagnostics), saved, is_interrupted, seconds, is_terminated)


def _told_once(reports: Sequence[OpReport]) -> Sequence[OpReport]:
    """Return the reports; what stopped a script is a note of the function that fails with the same, where one does."""
    kept = list(reports)
    for stopped in reports:
        for error in (item for item in stopped.checks if item.code == SCRIPT.code):
            said = error.message.removeprefix("the script")
            for place, report in enumerate(kept):
                is_same = any(item.is_finding and item.message.endswith(said) for item in report.checks)
                if is_same and report.op.startswith(f"{stopped.op}::"):
                    note = f"the script stopped with this at {error.where}: what comes after it was not seen"
                    kept[place] = replace(report, notes=(*report.notes, note))
                    kept.remove(stopped)
                    break
    return kept


def _told_apart(reports: Sequence[OpReport]) -> tuple[OpReport, ...]:
    """Return the reports; of an op type that a directory before has too, with a note."""
    first = {report.op: report.dir for report in reversed(reports)}
    note = "an op type of this name is defined in {} too; a job can load one of them (opkit build: PROJ012)"
    return tuple(
        replace(report, notes=(*report.notes, note.format(first[report.op])))
        if report.dir != first[report.op]
        else report
        for report in reports
    )


def _build_ahead(targets: tuple[Target, ...], options: RunOptions) -> None:
    """Build C++ kernels here, where no op's time and memory are counted; workers find them in the cache."""
    for target in targets if options.kernel != "python" else ():
        directory = op_directory_of(target.path) if target.directory is not None else None
        if directory is not None and directory.cpp_kernels:
            from opkit.project.cpp_kernels import cpp_kernels

            with settings(sanitize=options.sanitize):
                cpp_kernels(directory.cpp_kernels, has_other=True, loads=False)


def _messages(targets: tuple[Target, ...], options: RunOptions, interpreter: Popen[bytes] | None) -> Iterator[Message]:
    if not options.cluster:
        return run_isolated(targets, options, interpreter)
    from opkit.verify.workers.cluster import run_on_cluster

    return run_on_cluster(targets, options, options.cluster)


def _keep_proofs(report: Report) -> None:
    """Keep what was proved of each op directory, for jobs over devices; without a cache they run such ops whole."""
    for directory in dict.fromkeys(op.dir for op in report.ops if op.dir is not None):
        held = [item for op in report.ops if op.dir == directory for item in op.held]
        is_judged = all(op.status in (Status.PASS, Status.FAIL) for op in report.ops if op.dir == directory)
        if held or is_judged:
            with contextlib.suppress(OSError):
                remember_proofs(directory, held)


def remember(report: Report, options: RunOptions) -> Mapping[tuple[int, int], str]:
    """Keep the failures of a report in the user's cache; return their ids by (op, check)."""
    if not options.replay:
        return {}
    store = FailureStore(options.cache)
    saved: dict[tuple[int, int], str] = {}
    for place, op in enumerate(report.ops):
        chosen = options.for_op(op.op, op.dir).check
        is_whole = not chosen.select and not chosen.ignore
        for index, failure_id in store.update(op, is_whole, options.device).items():
            saved[place, index] = failure_id
    return saved
