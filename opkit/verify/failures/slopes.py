"""One-sided slopes at the element that a finding names, for the plot in a report.

They show, they do not judge: the verdict is the checker's, from its own differences.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker import Checkable, CheckResult, OpReport, Slopes
from opkit.checker.model.evaluate import array_at, called_leaves
from opkit.listed import each

_STEPS = 10.0 ** np.arange(-1, -9.0, -0.5)
#: A forward that takes longer than this many seconds is not run for a plot.
_SLOW = 0.05


def with_slopes(report: OpReport, checkable: Checkable) -> OpReport:
    """Return the report with slopes on both sides wherever a finding names one entry of a Jacobian."""
    return replace(report, checks=tuple(_with(result, checkable) for result in report.checks))


def _with(result: CheckResult, checkable: Checkable) -> CheckResult:
    evidence = result.evidence
    if result.input is None or evidence is None or evidence.case is None or evidence.slopes is not None:
        return result
    if evidence.element is None or evidence.output_element is None or not isinstance(result.actual, float):
        return result
    second = checkable.second if result.check == "second_order" else None
    try:
        slopes = _slopes(result, second or checkable)
    except Exception:  # user code away from the case; the plot is left out
        return result
    return result if slopes is None else replace(result, evidence=replace(evidence, slopes=slopes))


def _slopes(result: CheckResult, checkable: Checkable) -> Slopes | None:
    evidence = result.evidence
    case = evidence.case if evidence is not None else None
    leaves = called_leaves(checkable, {} if case is None else case.inputs)
    leaf = next((one for one, _ in leaves if str(one) == result.input), None)
    names = [arg.name for arg in checkable.outputs]
    if evidence is None or case is None or leaf is None or result.output not in names:
        return None
    place, element, output = names.index(result.output), evidence.element or (), evidence.output_element or ()
    function = checkable.surrogate or checkable.forward

    def value(by: float) -> float:
        inputs = {name: _copied(item) for name, item in case.inputs.items()}
        array_at(inputs, leaf)[element] += by
        return float(np.asarray(function(inputs, case.attrs)[place])[output])

    array = array_at(case.inputs, leaf)
    scale = max(abs(float(array[element])), 0.1 * float(np.sqrt(np.mean(np.square(array)))), 1e-3)
    steps = _STEPS * scale
    with np.errstate(all="ignore"):
        started = time.perf_counter()
        base = value(0.0)
        if time.perf_counter() - started > _SLOW:
            return None
        left = np.array([(base - value(-step)) / step for step in steps])
        right = np.array([(value(step) - base) / step for step in steps])
    flat = int(np.ravel_multi_index(element, array.shape)) if element else 0
    return Slopes(steps, left, right, float(result.actual), flat)


def _copied(item: Any) -> Any:
    return each(lambda part: np.array(part) if isinstance(part, np.ndarray) else part, item)
