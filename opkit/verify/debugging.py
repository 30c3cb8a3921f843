"""Debugging: targets checked in this process, which stops in pdb at the first call that a finding is about.

There is no isolation here: a kernel that hangs or dies takes this process with it.
"""

from __future__ import annotations

import pdb
import time
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from opkit.checker import Case, Checkable, CheckResult, OpReport, Report, check
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.raised import is_of_user
from opkit.diagnostics import Diagnostic, sort_diagnostics
from opkit.paths import StrPath
from opkit.verify.isolation.flight import Flight
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.targets.load import load
from opkit.verify.targets.target import resolve
from opkit.version import __version__

Say = Callable[[str], None]
#: Codes of findings about backward that name no input.
_ABOUT_BACKWARD = frozenset({"GC123", "GC142", "GC145", "GC160", "GC181"})


class _Debugger(pdb.Pdb):
    """Steps over all that is not the user's: opkit, frameworks, numpy, and what was compiled from text."""

    has_stopped = False

    def stop_here(self, frame: FrameType) -> bool:
        stops = is_of_user(frame.f_code.co_filename) and bool(super().stop_here(frame))
        self.has_stopped |= stops
        return stops


def debug_targets(words: Iterable[StrPath], options: RunOptions, say: Say) -> Outcome:
    """Check targets one after the other in this process; stop in pdb once, at the first failing call.

    Args:
        words: targets as a user writes them; none means the current folder.
        options: of the run; time and memory are not limited.
        say: called with one line that says where the debugger stops, or why it does not.

    Returns:
        the outcome, as a run in isolation gives it, up to the op at which the debugger stopped.

    Raises:
        UsageError: a target does not exist or cannot hold an op.
    """
    started = time.perf_counter()
    reports: list[OpReport] = []
    diagnostics: list[Diagnostic] = []
    is_stopped = False
    for target in resolve(words):
        loaded = load(target, options, Flight()).made()
        diagnostics += loaded.diagnostics
        reports += loaded.reports
        for checkable in [] if is_stopped else loaded.checkables:
            report = check(checkable, options.check)
            reports.append(report)
            is_stopped = _stop_at_first(checkable, report, say)
            if is_stopped:
                break
    seconds = time.perf_counter() - started
    whole = Report(__version__, options.check.seed, tuple(reports))
    return Outcome(whole, sort_diagnostics(diagnostics), seconds=seconds)


def _stop_at_first(checkable: Checkable, report: OpReport, say: Say) -> bool:
    """Stop at the call of the first finding that is based on one; say whether there was any."""
    for finding in report.findings:
        if finding.evidence is not None and finding.evidence.case is not None:
            say(f"{checkable.name}: {finding.code} {finding.message}")
            _stop_at(checkable, finding, finding.evidence.case, finding.evidence.douts, say)
            return True
    if report.findings:
        say(f"{checkable.name}: no finding is based on one call; the debugger has nowhere to stop")
    return False


def _stop_at(checkable: Checkable, finding: CheckResult, case: Case, douts: tuple[Any, ...], say: Say) -> None:
    """Make the calls again that a finding is about: stop where one raises, else at the first line of the last."""
    calls = _calls_of(checkable, finding, case, douts)
    for call in calls:
        try:
            call()
        except Exception as error:
            trace = _users_part(error.__traceback__)
            if trace is not None:
                say("the debugger stands where it raised; q ends")
                pdb.post_mortem(trace)
                return
    say("the debugger stands at the function's first line, with the failing inputs; c runs it, q ends")
    debugger = _Debugger()
    try:
        debugger.runcall(calls[-1])
    except Exception as error:  # it was shown as it happened
        say(f"{type(error).__name__} after the debugger was left")
    if not debugger.has_stopped:
        say("the function was not called again: the framework has traced it, and runs what it recorded")


def _calls_of(
    checkable: Checkable, finding: CheckResult, case: Case, douts: tuple[Any, ...]
) -> list[Callable[[], Any]]:
    """Return forward's call and backward's, the one that the finding is about last."""
    inputs, attrs = dict(case.inputs), dict(case.attrs)

    def forward() -> Any:
        return checkable.forward(inputs, attrs)

    if not checkable.has_gradient:
        return [forward]
    bound = checkable.bound(inputs, attrs)
    needs = frozenset(leaf.name for leaf, _ in leaves_of(inputs)) if bound is None else frozenset(bound)

    kept: list[Any] = []  # so that the debugger, which takes a second call, meets backward first

    def back() -> Any:
        if not kept:
            kept.append(checkable.run(inputs, attrs))
        outputs, pullback = kept[0]
        return pullback(douts or [np.ones_like(value) for value in outputs], needs)

    return [forward, back] if finding.input is not None or finding.code in _ABOUT_BACKWARD else [back, forward]


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that ends at the user's innermost line, None where no line is the user's."""
    found = None
    while trace is not None:
        if is_of_user(trace.tb_frame.f_code.co_filename):
            found = trace
        trace = trace.tb_next
    if found is not None:
        return TracebackType(None, found.tb_frame, found.tb_lasti, found.tb_lineno)
    return None
