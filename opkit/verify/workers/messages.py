"""What workers tell the process that the user started.

Data only.
"""

from __future__ import annotations

from dataclasses import dataclass

from opkit.checker import OpReport
from opkit.diagnostics import Diagnostic

__all__ = ["Checked", "Planned"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A target is loaded.

    Args:
        target: its number.
        ops: the names of the ops that will be checked.
        diagnostics: what the spec compiler and the loader found.
    """

    target: int
    ops: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
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
