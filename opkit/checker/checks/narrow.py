"""Narrow: gradients of an op that computes in half precision alone, where no reference is declared (GC102).

What forward changes by along a line is what backward's gradient sums up to on it. Rounding hides a single line; many
lines, and the exact sums of all outputs, show a factor.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.derivative.columns import scales_of
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.formats import FORMATS
from opkit.checker.model.numbers import signed, widened
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import LINE_SHARES, LINE_STEPS, NARROW_PROMISE, SOME, SPREADS


def narrow(session: CheckSession) -> Iterator[CheckResult]:
    """GC102 of an op of one format, for each input: on lines through a few cases."""
    chosen = session.diverse(SOME, 2)
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for number, ev in enumerate(chosen):
        for leaf in ev.leaves:
            found = lines.setdefault(leaf.name, [])
            for turn in range(SOME):
                found += _line(ev, leaf, session.rng(6700 + SOME * number + turn))
    for name, found in lines.items():
        yield _result(session, name, np.array(found).reshape(-1, 3), len(chosen))


def _line(ev: Evaluator, leaf: InputLeaf, rng: Generator) -> Iterator[tuple[float, float, float]]:
    """Yield, for one line, what forward changes by, what backward says of it, and how far rounding may part them."""
    form = FORMATS[ev.checkable.format]
    base = ev.array(leaf).astype(np.float64)
    moves = signed(rng, base.shape)
    moves *= LINE_STEPS[rng.integers(len(LINE_STEPS))] * scales_of(base).reshape(base.shape)
    weights = rng.choice([-1.0, 1.0], ev.entries)
    douts = ev.douts_from(weights)
    points = [form.rounded(base + share * moves) for share in np.linspace(-1, 1, len(LINE_SHARES))]
    way = points[-1] - points[0]
    ends, slopes, noise = [], [], 0.0
    for number, point in enumerate(points):
        inputs = ev.replaced(leaf, frozen(point.astype(ev.array(leaf).dtype)))
        try:
            outputs, pullback = ev.run(inputs)
            gradient = ev.gradients(douts, pullback)[leaf]
        except Exception:  # user code: a point leaves the domain
            return
        if gradient is None:
            return
        terms = widened(gradient) * way
        slopes.append(float(terms.sum()))
        noise += form.eps**2 * float(np.square(terms).sum()) / len(points)
        if number in (0, len(points) - 1):
            values = ev.vector(outputs) * weights
            ends.append(float(values.sum()))
            noise += form.eps**2 * float(np.square(values).sum())
    whole = float(np.dot(LINE_SHARES, slopes))
    coarse = (slopes[0] + 4 * slopes[len(slopes) // 2] + slopes[-1]) / 6
    if np.isfinite([*ends, whole, coarse, noise]).all():
        yield ends[1] - ends[0], whole, float(np.hypot(np.sqrt(noise), whole - coarse))


def _result(session: CheckSession, name: str, found: ndarray, cases: int) -> CheckResult:
    """Judge all lines of one input: by which factor backward is off, how well that is known, and what rounding leaves.

    The rounding foreseen is a whole unit of each value: what is left is a third of it where each was rounded once.
    """
    changed, said, noise = found.T
    form = session.checkable.format
    fields = {"input": name, "cases": cases}
    power = max(float(np.square(said).sum()), float(np.square(changed).sum()))
    if not power:
        return session.result("GC102", Status.UNDECIDED, f"in {form} no line shows a slope of {name}", **fields)
    missed = said - changed
    off = float((missed * said).sum()) / power
    rest = np.maximum(np.square(noise), np.square(missed - off * said))
    bound = SPREADS * float(np.sqrt((rest * np.square(said)).sum())) / power
    left = float(np.sqrt(np.square(missed).sum() / np.square(noise).sum()))
    if abs(off) > NARROW_PROMISE + bound or left > SPREADS:
        worst = int(np.argmax(np.abs(missed) / noise))
        text = f"along lines of {name} in {form} backward is off by {left:.3g} times what rounding may do: "
        text += f"forward changes by {changed[worst]:.6g}, and by backward by {said[worst]:.6g}"
        expected, actual = float(changed[worst]), float(said[worst])
        return session.result("GC102", Status.FAIL, text, expected=expected, actual=actual, **fields)
    if bound > NARROW_PROMISE or left > 1:
        text = (
            f"in {form} no error of {name} below {bound:.0%} can be told from rounding"
            if left <= 1
            else (f"along lines of {name} in {form} backward is off by {left:.3g} times what rounding may do")
        )
        return session.result(
            "GC102", Status.UNDECIDED, f"{text}: name a slow function that is right, REFERENCE", **fields
        )
    text = f"along {len(found)} lines in {form} forward changes as backward says"
    return session.result("GC102", Status.PASS, text, detectable=bound, **fields)
