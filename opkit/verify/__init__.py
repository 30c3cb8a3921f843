"""gradcheck: targets are resolved, loaded and checked in isolated workers, and the outcome is a Report.

What is listed here is loaded on first use: the process that only starts workers needs little of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.verify.api import gradcheck, outcome_of
    from opkit.verify.failures.repro import write_repro
    from opkit.verify.failures.store import FailureStore
    from opkit.verify.options import RunOptions
    from opkit.verify.outcome import Outcome
    from opkit.verify.run import Progress, run_targets
    from opkit.verify.targets.target import resolve

__all__ = [
    "FailureStore",
    "Outcome",
    "Progress",
    "RunOptions",
    "gradcheck",
    "outcome_of",
    "resolve",
    "run_targets",
    "write_repro",
]

_HOMES = {
    "FailureStore": "failures.store",
    "Outcome": "outcome",
    "Progress": "run",
    "RunOptions": "options",
    "gradcheck": "api",
    "outcome_of": "api",
    "resolve": "targets.target",
    "run_targets": "run",
    "write_repro": "failures.repro",
}

__getattr__ = deferred(__name__, _HOMES)
