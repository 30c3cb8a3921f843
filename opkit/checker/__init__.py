"""The gradient checker: cases, numeric differences with bounds, properties, verdicts.

Re-exports only; the names listed here are loaded on first use, so that who reads a report loads no checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.checker.engine import check
    from opkit.checker.model.case import Case
    from opkit.checker.model.checkable import (
        Arg,
        Attr,
        Backward,
        Checkable,
        Forward,
        Infer,
        Kernel,
        KernelCall,
        Registration,
    )
    from opkit.checker.model.codes import CODES, CheckCode, code_of
    from opkit.checker.model.options import Options
    from opkit.checker.model.report import CheckResult, Evidence, OpReport, Report, Slopes, Status
    from opkit.checker.model.types import Arrays, Attrs, Gradients, Pullback, Results, Value
    from opkit.checker.search.answers import answer_of
    from opkit.checker.search.compared_options import compared_in, constants_of, marks_in
    from opkit.checker.search.pipeline import first_cases

__all__ = [
    "CODES",
    "Arg",
    "Arrays",
    "Attr",
    "Attrs",
    "Backward",
    "Case",
    "CheckCode",
    "CheckResult",
    "Checkable",
    "Evidence",
    "Forward",
    "Gradients",
    "Infer",
    "Kernel",
    "KernelCall",
    "OpReport",
    "Options",
    "Pullback",
    "Registration",
    "Report",
    "Results",
    "Slopes",
    "Status",
    "Value",
    "check",
    "code_of",
    "compared_in",
    "constants_of",
    "answer_of",
    "first_cases",
    "marks_in",
]

_HOMES = {
    "Arg": "model.checkable",
    "Arrays": "model.types",
    "Attr": "model.checkable",
    "Attrs": "model.types",
    "Backward": "model.checkable",
    "CODES": "model.codes",
    "Case": "model.case",
    "CheckCode": "model.codes",
    "CheckResult": "model.report",
    "Checkable": "model.checkable",
    "Evidence": "model.report",
    "Forward": "model.checkable",
    "Gradients": "model.types",
    "Infer": "model.checkable",
    "Kernel": "model.checkable",
    "KernelCall": "model.checkable",
    "OpReport": "model.report",
    "Options": "model.options",
    "Pullback": "model.types",
    "Registration": "model.checkable",
    "Report": "model.report",
    "Results": "model.types",
    "Slopes": "model.report",
    "Status": "model.report",
    "Value": "model.types",
    "answer_of": "search.answers",
    "check": "engine",
    "code_of": "model.codes",
    "compared_in": "search.compared_options",
    "constants_of": "search.compared_options",
    "first_cases": "search.pipeline",
    "marks_in": "search.compared_options",
}

__getattr__ = deferred(__name__, _HOMES)
