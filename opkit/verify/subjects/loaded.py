"""Loaded: what a target turned out to hold, once its files were compiled and imported: ops to check, and reports.

Data, and the report of what cannot be served; loading stands in one module per kind of target.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opkit.checker import CODES, Checkable, CheckResult, OpReport, Status
from opkit.diagnostics import Diagnostic
from opkit.errors import Location, OpkitError
from opkit.record import record
from opkit.verify.codes import NAMED
from opkit.verify.options import NamedError
from opkit.verify.subjects.devices import without_device


@record
class Loaded:
    """The contents of a target, of a part of it, or of what a call of ``gradcheck`` gave.

    Args:
        checkables: the ops to check, in the order of their definition.
        reports: what can be said without a check: a file that does not load, a function without a gradient.
        diagnostics: what the spec compiler and the loader found.
    """

    checkables: tuple[Checkable, ...] = ()
    reports: tuple[OpReport, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def on(self, device: str) -> Loaded:
        """Return the same; ops in which a device that was asked for has no part say so."""
        if not device:
            return self
        return replace(self, checkables=tuple(without_device(item, device) for item in self.checkables))


def joined(parts: Iterable[Loaded]) -> Loaded:
    """Return the contents of several in order; of a file's functions of one name the later ones are numbered."""
    every = list(parts)
    counts: dict[str, int] = {}

    def numbered(name: str) -> str:
        counts[name] = counts.get(name, 0) + 1
        return name if counts[name] == 1 or "::" not in name else f"{name}#{counts[name]}"

    checkables = [replace(item, name=numbered(item.name)) for part in every for item in part.checkables]
    reports = [replace(item, op=numbered(item.op)) for part in every for item in part.reports]
    diagnostics = tuple(item for part in every for item in part.diagnostics)
    return Loaded(tuple(checkables), tuple(reports), diagnostics)


def skipped(label: str, why: str, where: Location | None) -> OpReport:
    """Return the report of a function in which there is nothing to check."""
    return OpReport(label, (CheckResult("domain", Status.SKIP, "GC182", why, where=where),), notes=(why,))


def unloadable(label: str, error: OpkitError) -> OpReport:
    """Return the report of a function that could not be served."""
    row = NAMED if isinstance(error, NamedError) else CODES["GC183"]
    return OpReport(label, (CheckResult.of(row, Status.ERROR, error.message, where=error.where, hint=error.help),))
