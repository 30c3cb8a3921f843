"""Linearity: backward is a linear function of the incoming gradient (GC110-GC113).

Compares backward with itself; numeric differences are not used.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import largest, widened
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import (
    FACTORS,
    IS_SINGLE,
    LINEAR,
    LINEAR_CANCELLED,
    LINEAR_LEAST,
    LINEAR_TINY,
    LINEAR_ULPS,
    LINEAR_ULPS_SINGLE,
    LINEARITY_CASES,
    PRODUCT_ROUNDINGS,
    SUM_ROUNDINGS,
)

_Found = dict[InputLeaf, ndarray]


def linearity(session: CheckSession) -> Iterator[CheckResult]:
    """GC110, GC111, GC112, GC113."""
    found: dict[str, CheckResult] = {}
    pool = [ev for ev in session.evaluators if not ev.case.is_extreme]
    evaluators = [ev for ev in session.diverse(LINEARITY_CASES, 1, pool) if ev.leaves and sum(ev.sizes)]
    for number, ev in enumerate(evaluators):
        try:
            faults = list(_faults(ev, session.rng(900 + number)))
        except Exception:  # reported by the contract check
            continue
        for code, message, leaf in faults:
            where = session.checkable.backward_where
            found.setdefault(code, session.failed(code, message, ev, input=str(leaf), where=where))
    yield from found.values()
    codes = ["GC110", "GC111", "GC112"]
    if any(len(ev.slots) > 1 for ev in evaluators):
        codes.append("GC113")
    for code in codes:
        if code not in found:
            yield session.passed(code, len(evaluators))


def _faults(ev: Evaluator, rng: Generator) -> Iterator[tuple[str, str, InputLeaf]]:
    entries = sum(ev.sizes)
    natural = LINEAR_LEAST * ev.natural()
    dtypes = [*(ev.outputs[index].dtype for index in ev.slots), *(ev.array(leaf).dtype for leaf in ev.leaves)]
    eps = float(max(np.finfo(dtype).eps for dtype in dtypes))
    tiny = float(max(np.finfo(dtype).tiny for dtype in dtypes))
    # Of the terms that a result may be the small difference of: results over arguments, or arguments over each other.
    rounding = LINEAR_CANCELLED * eps * max(ev.natural(), ev.spread())
    tolerance = max(LINEAR, LINEAR_ULPS * eps, ev.slack()) if eps < IS_SINGLE else LINEAR_ULPS_SINGLE * eps
    first, second = rng.uniform(-3, 3, entries), rng.uniform(-3, 3, entries)
    one, two, both = _run(ev, first), _run(ev, second), _run(ev, first + second)
    for leaf in one:
        off = _distance(
            both[leaf],
            one[leaf] + two[leaf],
            natural,
            one[leaf],
            two[leaf],
            slack=SUM_ROUNDINGS * rounding + tiny,
        )
        if off > tolerance:
            yield "GC110", f"backward(d1 + d2) differs from backward(d1) + backward(d2) by {off:.1e} of its size", leaf
    for factor in FACTORS:
        scaled = _run(ev, factor * first)
        for leaf in one:
            slack = PRODUCT_ROUNDINGS * rounding + LINEAR_TINY * tiny / abs(factor)
            off = _distance(scaled[leaf] / factor, one[leaf], natural, slack=slack)
            if off > tolerance:
                message = (
                    f"backward({factor:.3g} * dy) differs from {factor:.3g} * backward(dy) by {off:.1e} of its size"
                )
                yield "GC111", message, leaf
                break
    nothing = _run(ev, np.zeros(entries))
    for leaf, gradient in nothing.items():
        if np.isfinite(one[leaf]).all() and gradient.size and not (gradient == 0).all():
            worst = float(np.nanmax(np.abs(gradient))) if not np.isnan(gradient).all() else float("nan")
            yield "GC112", f"backward of a zero dy is {worst:.3g}, not 0", leaf
    if len(ev.slots) > 1:
        yield from _partial(ev, first, one, tolerance, rounding)


def _partial(
    ev: Evaluator, vector: ndarray, whole: _Found, tolerance: float, rounding: float
) -> Iterator[tuple[str, str, InputLeaf]]:
    """Sum over outputs of backward with zeros for all the others."""
    total: _Found = {leaf: np.zeros_like(value) for leaf, value in whole.items()}
    start = 0
    for size in ev.sizes:
        part = np.zeros_like(vector)
        part[start : start + size] = vector[start : start + size]
        start += size
        for leaf, value in _run(ev, part).items():
            total[leaf] = total[leaf] + value
    for leaf, value in whole.items():
        slack = PRODUCT_ROUNDINGS * len(ev.sizes) * rounding
        if _distance(total[leaf], value, LINEAR_LEAST * ev.natural(), slack=slack) > tolerance:
            yield "GC113", "a zero gradient for one output changes what comes from another output", leaf


def _run(ev: Evaluator, vector: ndarray) -> _Found:
    gradients = ev.gradients(ev.douts_from(vector))
    return {
        leaf: widened(value)
        for leaf, value in gradients.items()
        if value is not None and np.shape(value) == ev.array(leaf).shape
    }


def _distance(found: ndarray, expected: ndarray, least: float, *scales: ndarray, slack: float = 0.0) -> float:
    """The largest difference beyond ``slack`` as a share of the largest magnitude (or of ``least``).

    It is 0 where nothing is finite.
    """
    finite = np.isfinite(expected)
    if not finite.any():
        return 0.0
    difference = np.where(finite, np.abs(found - expected), 0.0)
    if not np.isfinite(difference).all():
        return float("inf")
    size = max(least, *(largest(item[finite]) for item in (expected, *scales)))
    worst = max(float(difference.max(initial=0.0)) - slack, 0.0)
    return 0.0 if worst == 0.0 else worst / size if size else float("inf")
