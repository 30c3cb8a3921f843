"""Linearity: backward is a linear function of the incoming gradient (GC110-GC113).

Compares backward with itself; numeric differences are not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.evaluate import Evaluator, InputLeaf, rounding_shift
from opkit.checker.model.numbers import largest, widened
from opkit.checker.model.report import CheckResult, Evidence
from opkit.checker.model.session import CheckSession, Findings
from opkit.checker.model.thresholds import (
    CANCELLED_ULPS,
    FACTORS,
    FEW,
    FLOOR,
    LINEAR_LEAST,
    LINEAR_TINY,
    LINEAR_ULPS,
    LITTLE,
    MANY,
    PRODUCT_ROUNDINGS,
    SUM_ROUNDINGS,
)

_Found = dict[InputLeaf, ndarray]


def linearity(session: CheckSession) -> Iterator[CheckResult]:
    """GC110, GC111, GC112, GC113."""
    found = Findings(session)
    pool = [ev for ev in session.evaluators if not ev.case.is_extreme]
    evaluators = [ev for ev in session.diverse(MANY, 1, pool) if ev.leaves and ev.entries]
    for number, ev in enumerate(evaluators):
        try:
            faults = list(_faults(ev, session.rng(900 + number)))
            noisy = {leaf: _is_noise(ev, leaf, session.rng(900 + number)) for _, _, leaf, _ in faults}
        except Exception:  # reported by the contract check
            continue
        for code, message, leaf, share in faults:
            of = None if leaf is None else str(leaf)
            if not noisy[leaf]:
                found.add(code, message, ev, input=of, evidence=Evidence(ev.case, share=share))
    is_partial = any(len(ev.slots) > 1 for ev in evaluators)
    yield from found.told(("GC110", "GC111", "GC112", *["GC113"] * is_partial), len(evaluators))


def _is_noise(ev: Evaluator, leaf: InputLeaf | None, rng: Generator) -> bool:
    """Return whether the gradient of an input, of any for None, is rounding of terms that cancel: digits move it."""
    draws = [ev.douts_from(rng.uniform(-3, 3, ev.entries)) for _ in range(FEW)]  # by chance one gives 0 itself

    def pulled(inputs: dict[str, Any]) -> list[ndarray]:
        every = zip(ev.leaves, zip(*(ev.pulled(douts, None, inputs) for douts in draws)))
        return [np.array(values) for one, values in every if leaf in (None, one)]

    return rounding_shift(pulled, ev.inputs) > LITTLE


def _faults(ev: Evaluator, rng: Generator) -> Iterator[tuple[str, str, InputLeaf | None, float]]:
    """Yield what is not linear: code, message, the input that it concerns, None for all, by what share of its size."""
    entries = ev.entries
    natural = LINEAR_LEAST * ev.natural()
    dtypes = [*(ev.outputs[index].dtype for index in ev.slots), *(ev.array(leaf).dtype for leaf in ev.leaves)]
    eps = float(max(np.finfo(dtype).eps for dtype in dtypes))
    tiny = float(max(np.finfo(dtype).tiny for dtype in dtypes))
    # Of the terms that a result may be the small difference of: results over arguments, or arguments over each other.
    rounding = CANCELLED_ULPS * eps * max(ev.natural(), ev.spread())
    tolerance = max(FLOOR, LINEAR_ULPS * eps, ev.slack())
    first, second = rng.uniform(-3, 3, entries), rng.uniform(-3, 3, entries)
    # Of multiples of 1/1024 the second sum is ones to the last bit, as the loss of a training loop gives them.
    coarse = np.round(1024 * first) / 1024
    one = _run(ev, first)
    for start, rest, said in ((first, second, ""), (coarse, 1 - coarse, ", where the sum is all ones")):
        two, both = _run(ev, rest), _run(ev, start + rest)
        left = one if start is first else _run(ev, start)
        for leaf in one:
            slack = SUM_ROUNDINGS * rounding + tiny
            off = _distance(both[leaf], left[leaf] + two[leaf], natural, slack, left[leaf], two[leaf])
            if off > tolerance:
                what = "backward(d1 + d2) differs from backward(d1) + backward(d2)"
                yield "GC110", f"{what} by {off:.1e} of its size{said}", leaf, off
    for factor in FACTORS:
        scaled = _run(ev, factor * first)
        for leaf in one:
            slack = PRODUCT_ROUNDINGS * rounding + LINEAR_TINY * tiny / abs(factor)
            off = _distance(scaled[leaf] / factor, one[leaf], natural, slack)
            if off > tolerance:
                message = (
                    f"backward({factor:.3g} * dy) differs from {factor:.3g} * backward(dy) by {off:.1e} of its size"
                )
                yield "GC111", message, leaf, off
                break
    nothing = {leaf: value for leaf, value in _run(ev, np.zeros(entries)).items() if np.isfinite(one[leaf]).all()}
    others = {leaf: value[value != 0] for leaf, value in nothing.items() if value.any()}
    for leaf, values in islice(others.items(), 1):
        said = "; it does not depend on dy" if np.array_equal(nothing[leaf], one[leaf]) else ""
        whose = None if len(others) == len(one) else leaf
        yield "GC112", f"backward of a zero dy is {values[0]:.3g}, not 0{said}", whose, np.inf
    if len(ev.slots) > 1:
        # The sum over outputs of backward with zeros for all the others.
        place = np.repeat(np.arange(len(ev.sizes)), ev.sizes)
        parts = [_run(ev, np.where(place == one_of, first, 0.0)) for one_of in range(len(ev.sizes))]
        slack = PRODUCT_ROUNDINGS * len(ev.sizes) * rounding
        for leaf, value in one.items():
            if _distance(sum(part[leaf] for part in parts), value, natural, slack) > tolerance:
                yield "GC113", "a zero gradient for one output changes what comes from another output", leaf, np.inf


def _run(ev: Evaluator, vector: ndarray) -> _Found:
    gradients = ev.gradients(ev.douts_from(vector))
    return {
        leaf: widened(value)
        for leaf, value in gradients.items()
        if value is not None and np.shape(value) == ev.array(leaf).shape
    }


def _distance(found: ndarray | float, expected: ndarray, least: float, slack: float, *scales: ndarray) -> float:
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
