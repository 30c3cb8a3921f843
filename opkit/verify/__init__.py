"""gradcheck: targets are resolved, loaded and checked in isolated workers, and what comes of it is a Report."""

from opkit.verify.api import gradcheck, outcome_of
from opkit.verify.failures import FailureStore
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.repro import write_repro
from opkit.verify.run import Progress, run_targets
from opkit.verify.target import resolve

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
