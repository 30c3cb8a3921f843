"""Outcome: a run's report, and what else its caller must know to show it and to exit.

Data and the exit status only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from opkit.checker import Report, Status, code_of
from opkit.checker.model.codes import NAMED
from opkit.diagnostics import Diagnostic
from opkit.record import record
from opkit.signals import Terminated

__all__ = ["Outcome", "Terminated"]

#: What a file has to have: cases that are well formed, and a gradient to check.
_OF_THE_FILE = (code_of("cases"), code_of("backward_raises"))


@record
class Outcome:
    """The outcome of a run of gradcheck.

    Args:
        report: op by op.
        diagnostics: what the spec compiler and the loader found, of all targets.
        saved: {(index of the op, index of the check): id for ``--repro``}.
        is_interrupted: Ctrl-C came before the end; the report holds what was done by then.
        seconds: wall time.
        is_terminated: it was SIGTERM, not Ctrl-C.
    """

    report: Report
    diagnostics: tuple[Diagnostic, ...] = ()
    saved: Mapping[tuple[int, int], str] = field(default_factory=dict)
    is_interrupted: bool = False
    seconds: float = 0.0
    is_terminated: bool = False

    @property
    def is_broken(self) -> bool:
        """Whether a spec, an op directory, a cases file or a function has errors of its own."""
        return any(item.is_error for item in self.diagnostics) or any(map(self._has, _OF_THE_FILE))

    def _has(self, code: str) -> bool:
        checks = (result for op in self.report.ops for result in op.checks)
        return any(result.code == code and result.status is Status.ERROR for result in checks)

    def exit_status(self, strict: bool = False) -> int:
        """Return the status of the contract: 143, 130, 3, 2, 5, 1 or 0, the first that applies."""
        if self.is_terminated:
            return 143
        if self.is_interrupted:
            return 130
        if self.is_broken:
            return 3
        if self._has(NAMED.code):
            return 2
        if all(op.status is Status.SKIP for op in self.report.ops):  # none at all, or nothing in any to decide
            return 5
        return 0 if self.report.is_clean(strict) else 1
