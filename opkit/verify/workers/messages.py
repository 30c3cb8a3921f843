"""Messages: what workers report to the process that the user started, in the order in which it happens to a target.

Data only; the ledger makes sense of them.
"""

from __future__ import annotations

from typing import TypeAlias

from opkit.checker import CheckResult, OpReport
from opkit.diagnostics import Diagnostic
from opkit.record import record


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
