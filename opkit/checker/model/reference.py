"""Reference: a plain function of an op's own arguments, with which its results and gradients are compared.

Data and borders only; what is made of the numbers is decided elsewhere.

Reference tolerance: whether a function's results are as near to exact ones as rounding brings a reference.

The tolerance is the error that the reference itself makes in the function's format; docs/gradcheck-reference.md derives
the factors. Arrays only: what was run to get them is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy import ndarray

from opkit.checker.model.formats import FORMATS, Format
from opkit.checker.model.numbers import typical
from opkit.checker.model.thresholds import (
    BIAS_ULPS,
    FACTOR_FITS,
    FAST_ULPS,
    FLOOR,
    GREW_TIMES,
    GREW_ULPS,
    NONZERO,
    RECURS_ULPS,
    REFERENCE_TIMES,
    REFERENCE_ULPS,
    SMALL_ARRAY,
    SPREADS,
    SUBNORMALS,
)
from opkit.checker.model.types import Arrays, Attrs, Computed, Results
from opkit.record import record


class InFormat(Protocol):
    """Runs a function, and its gradient, in a floating-point format that arrays of numpy may not have.

    Args:
        arrays: the inputs; floats are of float64, and numbers of the format.
        attrs: complete attributes.
        douts: an incoming gradient for each result, of float64; fewer than results: the rest gets none. None for
            results alone.
        format: a name of ``formats.FORMATS``.

    Returns:
        the results as they are (floats as float64), and the gradients as float64 by input; those that are missing
        are left out.

    Raises:
        Exception: user code does not take the format, or raises for other reasons.
    """

    def __call__(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run it."""
        ...


@record
class Reference:
    """A function to be compared with.

    Args:
        name: what messages call it.
        run: see InFormat.
        has_gradient: whether ``run`` gives gradients, by the derivative rules of its own framework; those of another
            are measured by differences.
        judges_gradients: whether gradients are compared too; else another function is declared for them.
    """

    name: str
    run: InFormat
    has_gradient: bool = False
    judges_gradients: bool = True


@record
class Samples:
    """One result, or one gradient, at inputs and at others within their last places: (inputs, elements) each.

    Args:
        exact: of the reference in float64.
        own: of the reference in the function's format.
        given: of the function, in that format.
        format: its name.
        terms: how many numbers one element may be the sum of.
        slack: the share of the largest element that is allowed beside.
        bound: (elements,) how far ``exact`` may be off.
        sums: how far an element may be off where the additions that make it round by a share of 1.
    """

    exact: ndarray
    own: ndarray
    given: ndarray
    format: str
    terms: int = 1
    slack: float = 0.0
    bound: ndarray | float = 0.0
    sums: Callable[[int], float] = lambda element: np.inf


@record
class Found:
    """What samples show.

    Args:
        kind: "" where rounding explains all; "value" where an element is wrong, "bias" where all are off by a factor,
            "recurs" where many are off by the same at all inputs, "noise" where they are off more than rounding makes
            them, "lower" where sums in half precision would explain it.
        ratio: the largest error over the reference's own largest.
        share: the largest error over the largest element.
        element: where it is.
        expected: the exact element.
        actual: the function's.
        allowed: how far it may be off.
        factor: of the exact elements that all that were given are, None where no factor fits.
        sees: the least relative error of all elements that would have been seen.
    """

    kind: str
    ratio: float
    share: float
    element: int
    expected: float
    actual: float
    allowed: float
    factor: float | None
    sees: float


def judged(samples: Samples) -> Found | None:
    """Return what samples show, None where no element can be compared.

    An element is wrong where it is so at most of the inputs: rounding that crosses a jump does not recur beside it.
    """
    form = FORMATS[samples.format]
    exact, own, given = samples.exact, samples.own, samples.given
    with np.errstate(all="ignore"):
        strange = ~np.isfinite(exact) & ((exact == given) | (exact != own))  # NaN equals nothing, and decides nothing
        known = ~strange & (np.isfinite(own) | ~np.isfinite(exact))
        if not known.any():
            return None
        usable = known & np.isfinite(exact)
        size = float(np.abs(exact).max(initial=0.0, where=usable))
        error, off = (np.where(where, np.abs(one - exact), 0.0) for one, where in ((own, usable), (given, known)))
        off = np.where(known & ~np.isfinite(given - exact), np.inf, off)
        usual = np.sqrt(np.square(error).mean(axis=0))
        usual = np.maximum(usual, np.sqrt(np.square(usual).mean()))
        ulps, slack = _ulps(form, samples.terms), samples.slack
        floor = ulps + slack
        least = SUBNORMALS * form.smallest
        allowed = REFERENCE_TIMES * usual + (REFERENCE_ULPS * form.eps + ulps + slack) * size + least + samples.bound
        over = off > allowed
        bulk = usable & ~over & (error <= allowed)
        bias, limit = _bias(exact, own, given, bulk, form, floor)
        is_grown = partial(_is_grown, exact, own, given, bulk, GREW_ULPS * form.eps + floor)
        grown = is_grown(least)
        recurs = _recurs(exact, own, given, bulk.all(axis=0), (RECURS_ULPS * form.eps + floor, least))
        steady = np.sort(off, axis=0)[(exact.shape[0] - 1) // 2]
        wrong = steady > allowed
    which = np.where(wrong, off / allowed, -1.0).max(axis=0) if wrong.any() else (off / allowed).max(axis=0)
    element = int(np.argmax(which))
    worst = int(np.argmax(off[:, element]))
    largest = float(off.max(initial=0.0))
    unit = max(float(error.max(initial=0.0)), form.eps / 2 * size, NONZERO)
    factor = _factor(exact, given, usable)
    kind = "value" if wrong.any() else "bias" if abs(bias) > limit else "recurs" if recurs else "noise" if grown else ""
    if kind in ("value", "noise") and not recurs and form.eps > FORMATS["float32"].eps and factor is None:
        most = form.eps * float(np.sqrt(samples.terms)) * size
        if kind == "value":
            worst_first = np.argsort(-which)[: min(int(wrong.sum()), SMALL_ARRAY)].tolist()
            is_more = any(steady[one] > allowed[one] + min(form.eps * samples.sums(one), most) for one in worst_first)
        else:
            chosen = np.arange(0, wrong.size, -(-wrong.size // SMALL_ARRAY))
            summed = typical(np.array([min(form.eps * samples.sums(one), most) for one in chosen.tolist()]))
            is_more = is_grown(least + summed)
        kind = kind if is_more else "lower"
    return Found(
        kind,
        largest / unit,
        largest / max(size, NONZERO),
        element,
        float(exact[worst, element]),
        float(given[worst, element]),
        float(allowed[element]),
        factor,
        limit,
    )


def _ulps(form: Format, terms: int) -> float:
    """Return what another order of a sum, and a fast exponential, may add: both are computed in float32 at least."""
    if form.name == "float64":
        return FLOOR
    eps = min(form.eps, FORMATS["float32"].eps)
    return eps * (FAST_ULPS + float(np.sqrt(terms)))


def _bias(
    exact: ndarray, own: ndarray, given: ndarray, bulk: ndarray, form: Format, ulps: float
) -> tuple[float, float]:
    """Return the share by which all elements are off alike, and how much of it rounding explains."""
    power = float(np.square(exact).sum(where=bulk))
    if not power:
        return 0.0, np.inf
    share, its = (float((exact * (item - exact)).sum(where=bulk)) / power for item in (given, own))
    rest = np.square(given - exact * (1 + share)) + np.square(own - exact)
    spread = float(np.sqrt((rest * np.square(exact)).sum(where=bulk))) / power
    tiny = SUBNORMALS * form.smallest * float(np.sqrt(bulk.sum() / power))
    return share, abs(its) + SPREADS * spread + BIAS_ULPS * form.eps + ulps + tiny


def _is_grown(exact: ndarray, own: ndarray, given: ndarray, bulk: ndarray, share: float, least: float) -> bool:
    """Return whether the function's errors are, on the whole, larger than the reference's and rounding explain."""
    if not bulk.any():
        return False
    size, error, off = (
        float(np.sqrt(np.square(item).mean(where=bulk))) for item in (exact, own - exact, given - exact)
    )
    return off > GREW_TIMES * error + share * size + least


def _recurs(exact: ndarray, own: ndarray, given: ndarray, columns: ndarray, floors: tuple[float, float]) -> bool:
    """Return whether errors are the same at all inputs, more than those of a rounded constant are: rounding is not."""
    count = int(columns.sum())
    if not count or exact.shape[0] < 2:
        return False
    found = []
    for item in (own, given):
        error = (item - exact)[:, columns]
        chance = error.var(axis=0, ddof=1) / exact.shape[0]
        power = max(float((np.square(error.mean(axis=0)) - chance).mean()), 0.0)
        found.append((float(np.sqrt(power)), float(np.sqrt(chance.mean())) * (2 / count) ** (1 / 4)))
    size = float(np.sqrt(np.square(exact[:, columns]).mean()))
    its, spread = found[0][0], found[0][1] + found[1][1]
    return bool(found[1][0] > 2 * its + SPREADS * spread + floors[0] * size + floors[1])


def _factor(exact: ndarray, given: ndarray, usable: ndarray) -> float | None:
    """Return the factor that makes most of the difference, None where none does."""
    usable = usable & np.isfinite(given)
    power = float(np.square(exact).sum(where=usable))
    if not power:
        return None
    factor = float((exact * given).sum(where=usable)) / power
    missed, rest = (float(np.square(given - by * exact).sum(where=usable)) for by in (1.0, factor))
    return factor if rest <= FACTOR_FITS**2 * missed else None
