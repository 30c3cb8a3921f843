"""Loaded: what a target turned out to hold, once its files were compiled and imported: ops to check, and reports.

Data, what reports say of the device that a run asks for, and the report of what cannot be served; loading stands in
one module per kind of target, and arrays are put on a device by each framework's own runner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from opkit.checker import CODES, Checkable, CheckResult, OpReport, Status
from opkit.diagnostics import Diagnostic
from opkit.errors import Location, OpkitError
from opkit.record import record
from opkit.verify.codes import NAMED
from opkit.verify.options import NamedError, NoGradientError
from opkit.verify.subjects.declared import mistakes_of

#: What an op says that runs on a device, before the device's name.
RAN_ON = "forward and backward ran on the device"


def without_device(checkable: Checkable, device: str) -> Checkable:
    """Return an op whose reports say that a device that was asked for has no part in it, where that is so."""
    if not device or any(remark.startswith(RAN_ON) for remark in checkable.remarks):
        return checkable
    remark = f"the device {device!r} has no part in this op: its functions take numpy arrays"
    return replace(checkable, remarks=(*checkable.remarks, remark))


@record
class Unmade:
    """A function of a file of which nothing was called yet: its own check, in its own time, makes an op of it.

    Args:
        name: what reports call it.
        make: makes the op, or the report of why there is none.
        directory: as an op has it.
        spent: as an op has it.
    """

    name: str
    make: Callable[[], Checkable | OpReport]
    directory: None = None
    spent: float = 0.0

    def made(self) -> Checkable | OpReport:
        """Return the op, or the report of why there is none."""
        found = self.make()
        return replace(found, op=self.name) if isinstance(found, OpReport) else replace(found, name=self.name)

    def then(self, change: Callable[[Checkable | OpReport], Checkable | OpReport]) -> Unmade:
        """Return the same, changed once it is made."""
        return replace(self, make=lambda: change(self.make()))


#: What a target holds: an op to check, made or not, or a report of what needs no check.
Found: TypeAlias = Checkable | Unmade | OpReport


def changed(found: Found, change: Callable[[Checkable], Checkable]) -> Any:
    """Return an op changed, as soon as it is made; a report stays."""
    if isinstance(found, OpReport):
        return found
    return found.then(partial(changed, change=change)) if isinstance(found, Unmade) else change(found)


@record
class Loaded:
    """The contents of a target, or of what a call of ``gradcheck`` gave.

    Args:
        found: the ops to check, in the order of their definition, and what can be said without a check: a file that
            does not load, a function without a gradient.
        diagnostics: what the spec compiler and the loader found.
        is_repeatable: loading once more gives the same ops, and does no work of the user's.
    """

    found: tuple[Found, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    is_repeatable: bool = True

    @property
    def ops(self) -> tuple[Checkable | Unmade, ...]:
        """All that is to be checked."""
        return tuple(item for item in self.found if not isinstance(item, OpReport))

    @property
    def checkables(self) -> tuple[Checkable, ...]:
        """The ops that are made."""
        return tuple(item for item in self.found if isinstance(item, Checkable))

    @property
    def reports(self) -> tuple[OpReport, ...]:
        """What can be said without a check."""
        return tuple(item for item in self.found if isinstance(item, OpReport))

    def made(self) -> Loaded:
        """Return the same with all ops made here, in this process's time."""
        return replace(self, found=tuple(item.made() if isinstance(item, Unmade) else item for item in self.found))

    def each(self, change: Callable[[Checkable], Checkable]) -> Loaded:
        """Return the same with each op changed, as soon as it is made."""
        return replace(self, found=tuple(changed(item, change) for item in self.found))

    def on(self, device: str) -> Loaded:
        """Return the same; ops in which a device that was asked for has no part say so."""
        return self.each(partial(without_device, device=device)) if device else self


def reported_as(found: Found) -> str:
    """Return what reports call an op."""
    return found.op if isinstance(found, OpReport) else found.name


def numbered(every: Iterable[Found]) -> tuple[Found, ...]:
    """Return ops in their order; of a file's functions of one name the later ones are numbered."""
    counts = Counter[str]()

    def as_numbered(found: Found) -> Found:
        name = reported_as(found)
        counts[name] += 1
        if counts[name] == 1 or "::" not in name:
            return found
        field = "op" if isinstance(found, OpReport) else "name"
        return replace(found, **{field: f"{name}#{counts[name]}"})  # type: ignore[arg-type]

    return tuple(map(as_numbered, every))


def skipped(label: str, why: str, where: Location | None) -> OpReport:
    """Return the report of a function in which there is nothing to check."""
    return OpReport(label, (CheckResult("domain", Status.SKIP, "GC182", why, where=where),), notes=(why,))


#: What asks for that which a function, or what is said of it, lacks; the rest is wrong in its cases.
_ROWS = {NamedError: NAMED, NoGradientError: CODES["GC181"]}


def unloadable(label: str, error: OpkitError) -> OpReport:
    """Return the report of a function that could not be served: a finding for each mistake."""
    return OpReport(label, tuple(map(_finding, mistakes_of(error))))


def _finding(error: OpkitError) -> CheckResult:
    row = next((row for kind, row in _ROWS.items() if isinstance(error, kind)), CODES["GC183"])
    return CheckResult.of(row, Status.ERROR, error.message, where=error.where, hint=error.help)
