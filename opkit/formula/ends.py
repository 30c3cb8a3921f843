"""The ends of a formula's domain: whether its kernels give the formula's values where floats are nearly at an end.

Rewriting is ``careful``'s; here its outcome is measured, so that what could not be made stable can be said.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np

from opkit.errors import UsageError
from opkit.formula.domain import Region
from opkit.formula.exact import exact_values
from opkit.formula.graph import Formula
from opkit.ir import Shape

#: Where exp, its square and its sum with 1 come to an end, and where differences from 1, and sums with it, do; last,
#: where exp has ended and its quotient by x has not.
_FAR = (1e-9, 1e-4, 20.0, 95.0, 300.0, 800.0, 2e4, 1e8, 90.0, 711.0)
#: Where squares do, in float32 and in float64; digits are not compared there.
_LAST = (1e30, 1e200)
#: Enough for 1 - sigmoid(800), and for the difference that a slope is.
_DIGITS, _STEP = 450, 1e-40
#: Seconds of the processor; what takes longer has fewer ends looked at.
_SECONDS = 2.0
#: Units in the last place that a kernel may be off, relative to its condition; a cancellation costs far more.
_ULPS = 2e5
#: The same beside the size of what a sum over an axis adds up, which has rounded already.
_SLACK = 1e5


def weak_ends(
    formula: Formula,
    attrs: Mapping[str, Any],
    regions: Mapping[str, Region],
    sizes: Mapping[str, Shape],
    kernels: Sequence[Any],
    reads: Sequence[str],
) -> list[str]:
    """Return a line for each end at which a kernel is not what the formula is there; the worst of each kernel.

    Args:
        formula: as it was written.
        attrs: {attribute: default}.
        regions: {input: its region}.
        sizes: {input: shape}.
        kernels: forward, and backward where there is one, as ``kernel(args, attrs)``.
        reads: the backward kernel's inputs.
    """
    found: dict[str, tuple[float, str]] = {}
    slack = _SLACK if formula.steps else 0.0
    until = time.process_time() + _SECONDS
    for values, place, is_last in _places(formula, regions, sizes):
        if time.process_time() > until:
            break
        for dtype in (np.float64, np.float32):
            with np.errstate(over="ignore"):
                given = {name: value.astype(dtype) for name, value in values.items()}
            if not all(np.isfinite(value).all() for value in given.values()):
                continue
            try:
                compared = list(_compared(formula, attrs, given, kernels, reads))
            except (UsageError, ArithmeticError, ValueError):  # a pole, or no real number there
                continue
            for what, got, wanted in compared:
                wrong = _wrong(got, wanted, dtype, np.inf if is_last else slack)
                if wrong is None:
                    continue
                have, want = wrong
                off = abs(have - want) / (abs(want) or 1.0) if np.isfinite(have) else np.inf
                if off > found.get(what, (0.0, ""))[0]:
                    kind = np.dtype(dtype).name
                    text = f"{what}: at {place} in {kind} the kernel gives {have:.12g}, the formula is {want:.12g}"
                    found[what] = off, text
    return [text for _, text in found.values()]


def _places(
    formula: Formula, regions: Mapping[str, Region], sizes: Mapping[str, Shape]
) -> Iterator[tuple[dict[str, Any], str, bool]]:
    rng = np.random.default_rng(0)
    plain = {name: np.round(regions[name].plain(rng, sizes[name]), 3) for name in formula.inputs}
    for far, name in itertools.product((*_FAR, *_LAST), formula.inputs):
        for point in filter(regions[name].holds, (far, -far)):
            changed = plain[name].copy()
            changed.reshape(-1)[:1] = point
            yield {**plain, name: changed}, f"{name} = {point:g}", far in _LAST


def _compared(
    formula: Formula, attrs: Mapping[str, Any], values: Mapping[str, Any], kernels: Sequence[Any], reads: Sequence[str]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield (what, what a kernel gives, what the formula is) of the results, and of one slope of each input."""
    with np.errstate(all="ignore"), mpmath.workdps(_DIGITS):
        exact = exact_values(formula, {**values, **attrs}, _DIGITS)
        results = kernels[0]([values[name] for name in formula.inputs], attrs)
        results = results if isinstance(results, tuple) else (results,)
        for (name, wanted), got in zip(exact.items(), results):
            yield name, np.ravel(got), np.ravel(wanted)
        is_within = all(abs(item) < np.finfo(np.float64).max for value in exact.values() for item in np.ravel(value))
        if len(kernels) < 2 or len(exact) > 1 or not is_within:
            return
        (output,) = exact
        incoming = {f"d{output}": np.ones(np.shape(results[0]), results[0].dtype)}
        gradients = kernels[1]([{**values, **incoming}[name] for name in reads], attrs)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        step = mpmath.mpf(_STEP)
        for name, gradient in zip(formula.inputs, gradients):
            moved = []
            for side in (step, -step):
                changed = np.frompyfunc(mpmath.mpf, 1, 1)(values[name].astype(np.float64))
                changed.reshape(-1)[0] += side
                moved.append(np.sum(exact_values(formula, {**values, name: changed, **attrs}, _DIGITS)[output]))
            difference = moved[0] - moved[1]
            bend = moved[0] + moved[1] - 2 * np.sum(exact[output])
            if abs(bend) <= abs(difference) / 1000:  # neither a jump nor a kink
                yield f"d{name}", np.ravel(gradient)[:1], np.array([difference / (2 * step)], object)


def _wrong(got: Any, wanted: Any, dtype: Any, slack: float) -> tuple[float, float] | None:
    """Return the first element that is wrong: not finite where the formula is, or off by many digits."""
    limits = np.finfo(dtype)
    for have, want in zip(got, wanted):
        if not mpmath.isfinite(want) or abs(want) > limits.max / 16:
            continue
        room = float(limits.eps) * max(abs(want) * _ULPS, slack) + float(limits.tiny) / float(limits.eps)
        if not np.isfinite(have) or abs(mpmath.mpf(float(have)) - want) > room:
            return float(have), float(want)
    return None
