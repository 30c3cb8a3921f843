"""The gradient checker: cases, numeric differences with bounds, properties, verdicts.

Re-exports only.
"""

from __future__ import annotations

from opkit.checker.engine import check
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import (
    Arg,
    Arrays,
    Attr,
    Attrs,
    Backward,
    Checkable,
    Forward,
    Gradients,
    Infer,
    Kernel,
    KernelCall,
    Pullback,
    Registration,
    Results,
    Value,
)
from opkit.checker.model.codes import CODES, CheckCode, code_of
from opkit.checker.model.options import Options
from opkit.checker.model.report import CheckResult, Evidence, OpReport, Report, Slopes, Status
from opkit.checker.numeric import check_functions, checkable_of
from opkit.checker.search.compared import compared_in
from opkit.checker.search.constants import constants_of
from opkit.checker.search.pipeline import first_case, first_cases
from opkit.checker.search.table import answer_of

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
    "check_functions",
    "checkable_of",
    "code_of",
    "compared_in",
    "constants_of",
    "answer_of",
    "first_case",
    "first_cases",
]
