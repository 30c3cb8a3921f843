"""Precision: float32 against float64, lower precisions inside, digits lost to cancellation (GC150-GC152).

Asks how exact results are, never whether the formula is right.

Narrow: gradients of an op that computes in half precision alone, where no reference is declared (GC102).

What forward changes by along a line is what backward's gradient sums up to on it. Rounding hides a single line; many
lines, and the exact sums of all outputs, show a factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.checks.entries import index_of
from opkit.checker.derivative.columns import scales_of
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.ladder import Line, settle, steps_for
from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen, is_float, leaves_of
from opkit.checker.model.formats import FORMATS
from opkit.checker.model.numbers import largest, median, place_of, signed, widened
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession, cast_case
from opkit.checker.model.thresholds import (
    ARGUMENT_LEAST,
    FEW,
    FLOOR,
    FLOOR_SINGLE,
    GRADIENT_LEAST,
    LINE_SHARES,
    LINE_STEPS,
    LITTLE,
    MOVES,
    NARROW_PROMISE,
    NOISE_MOST,
    NOISE_TIMES,
    ORDINARY_MOST,
    OVERFLOW,
    RATIO,
    RESOLUTION,
    RESULT_LEAST,
    SINGLE_RESOLUTION,
    SINGLE_ROUNDINGS,
    SLIGHT,
    SMALL,
    SMALL_ARRAY,
    SOME,
    SPREADS,
    UNDERFLOW,
)
from opkit.checker.model.trial import Answer, Attempt

#: The place of an output, or the input of a gradient.
_Name: TypeAlias = "int | InputLeaf"
#: What is wrong, "" for nothing, and whether it is doubtful, but not a fault.
_Said: TypeAlias = "tuple[str, bool]"
_AGREES: _Said = ("", False)


def single_precision(session: CheckSession) -> Iterator[CheckResult]:
    """GC150: float32 results and gradients agree with float64's within what rounding the inputs explains."""
    pool = [ev for ev in session.evaluators if not ev.case.is_extreme or ev.case.regime.split()[0] == "saturated"]
    chosen = session.diverse(SOME, 1, pool)
    chosen += [ev for ev in pool if ev.case.regime in ("large", "saturated", "ties")][:FEW]
    chosen += [ev for ev in session.evaluators if ev.case.regime in ("steep", "offset") and not ev.case.is_empty][:FEW]
    tried = 0
    highest = _gradient_sizes(session, chosen)
    doubt: CheckResult | None = None
    for number, ev in enumerate(chosen):
        if not ev.case.floats or not all(array.dtype == np.float64 for array in ev.case.floats):
            continue
        found = _compare_single(session, ev, session.rng(4000 + number), highest)
        if found is None:
            continue
        tried += 1
        (message, is_open), is_gradient = found
        where = (is_gradient and session.checkable.backward_where) or session.checkable.forward_where
        if message and is_open:
            said = f"at the limits of float32, {message}"
            doubt = doubt or session.result("GC150", Status.UNDECIDED, said, case=ev.case, where=where)
        elif message:
            yield session.failed("GC150", message, ev, where=where)
            return
    if doubt is not None:
        yield doubt
    elif tried:
        yield session.passed("GC150", tried)
    else:
        yield session.skipped("GC150", "the op does not take both float32 and float64")


def _gradient_sizes(session: CheckSession, evaluators: list[Evaluator]) -> dict[_Name, float]:
    """Return how large the gradients of each input get: their rounding may be of that size wherever they are small."""
    highest: dict[_Name, float] = {}
    for number, ev in enumerate(evaluators):
        weights = session.rng(4000 + number).uniform(-1, 1, ev.entries)
        try:
            found = _results(ev, weights, None)
        except Exception:  # reported by the contract check
            continue
        for name, value in found.items():
            highest[name] = max(highest.get(name, 0.0), largest(value))
    return highest


def _compare_single(
    session: CheckSession, ev: Evaluator, rng: Generator, highest: dict[_Name, float]
) -> tuple[_Said, bool] | None:
    """Return in what float32 does not agree, and whether that is a gradient; None where it cannot be compared."""
    low_case = cast_case(ev.case, "float32")
    cases = low_case, cast_case(low_case, "float64")
    low_outcome, high_outcome = map(session.trial.probe, cases)
    if high_outcome.is_accepted and low_outcome.answer is Answer.NONFINITE:
        message = _overflow(session, high_outcome, low_outcome)
        # Where forward overflows it leaves its domain; that it need not is worth a note, but is not a failure. NaN, as
        # of one infinity over another, is not an overflow of the result. Nothing says how large values may be where
        # neither a definition nor cases do.
        is_found, widest = session.is_found(ev.case), max(map(largest, ev.case.floats))
        has_nan = any(is_float(item) and np.isnan(item).any() for item in low_outcome.outputs)
        is_open = widest > ORDINARY_MOST if has_nan and is_found else not has_nan and (is_found or ev.case.is_extreme)
        return message if message is None else ((message, is_open), False)
    if not low_outcome.is_accepted or not high_outcome.is_accepted:
        return None
    low, high = (Evaluator(ev.checkable, case).prepare() for case in cases)
    is_single = all(low.outputs[index].dtype == np.float32 for index in low.slots)
    if low.sizes != high.sizes or low.leaves != high.leaves or not is_single:
        return None
    weights = rng.uniform(-1, 1, high.entries).astype(np.float32)
    try:
        wobbled = [
            [_results(high, weights, _nudged(high, leaf, k)) for k in range(FEW)]
            for leaf, array in leaves_of(high.inputs)
            if is_float(array)
        ]
        exact, single = _results(high, weights, None), _results(low, weights, None)
    except Exception:  # reported by the contract check, or a nudge left the domain
        return None
    high.typical = ev.typical
    known = set(exact).intersection(single, *(one for tried in wobbled for one in tried))
    for name in (name for name in exact if name in known):
        tried = [[one[name] for one in each] for each in wobbled]
        said = _off(session, high, name, (exact[name], single[name]), tried, highest)
        if said[0]:
            return said, isinstance(name, InputLeaf)
    return _AGREES, False


def _off(
    session: CheckSession,
    high: Evaluator,
    name: _Name,
    values: tuple[ndarray, ndarray],
    wobbled: list[list[ndarray]],
    highest: dict[_Name, float],
) -> _Said:
    """Say in what one result, or gradient, in float32 differs from float64's by more than rounding explains."""
    exact, single = values
    regime, is_gradient, is_found = high.case.regime, isinstance(name, InputLeaf), session.is_found(high.case)
    if exact.shape != single.shape or not np.isfinite(exact).all() or not exact.size:
        return _AGREES
    if is_gradient and regime == "offset":
        return _AGREES  # gradients there are small differences of numbers that the offset rounds
    # Roundings of several inputs may add up, and cancel in any one try: their effects are added.
    spread = np.sum([np.max([np.abs(item - exact) for item in tried], axis=0) for tried in wobbled], axis=0)
    widest = max(map(largest, high.case.floats))
    # An output may be the small difference of numbers of the usual size.
    floor = max(RESULT_LEAST * high.typical, ARGUMENT_LEAST * widest)
    if is_gradient:
        floor = max(high.natural(), GRADIENT_LEAST * highest.get(name, 0.0))
    elif is_found:  # a bound decides where no change of an input changes a result (rule 5)
        single = np.where(spread == 0, exact, single)
    what = f"the gradient of {name}" if isinstance(name, InputLeaf) else session.output_name(name)
    # Terms that cancel may be as large as the products of the other inputs: attention with weights next to 0 or 1.
    is_open = is_found and widest > ORDINARY_MOST
    terms = high.others(name) if isinstance(name, InputLeaf) and is_open else 0.0
    message = _explain(what, exact, single, spread, max(floor, terms))
    loss, size = float(np.abs(values[1] - exact).max()), largest(exact)
    if is_gradient and size <= SINGLE_ROUNDINGS * RESOLUTION * floor and loss < LITTLE * highest.get(name, 0.0):
        return _AGREES  # all of it cancels: no order of computing keeps any digits
    if regime == "large" and not is_gradient and loss < LITTLE * size:
        return _AGREES  # terms that are saturated in float32 and guarded against log(0)
    if regime == "steep" and is_gradient and loss < LITTLE * max(size, floor):
        return _AGREES  # where the terms of a norm cancel nearly all, no order of computing keeps these digits
    if not message or is_open:  # nothing says that such values are meant (rule 5)
        return message, True
    if regime == "offset":  # the author decides which of a formula's digits matter: UNDECIDED, and not a failure
        return (f"{message}; the digits are lost to cancellation" if loss > SLIGHT * size else "", True)
    return message, False


def _overflow(session: CheckSession, high: Attempt, low: Attempt) -> str | None:
    """Say where float32 gives NaN or infinity although float64's result is one that float32 can hold."""
    for index, (exact, single) in enumerate(zip(high.outputs, low.outputs)):
        is_single = is_float(single) and single.dtype == np.float32 and np.shape(exact) == np.shape(single)
        bad = np.asarray(is_single and ~np.isfinite(single) & (np.abs(exact) < OVERFLOW))
        if bad.any():
            place = place_of(np.argmax(bad), np.shape(bad))
            text = f"{session.output_name(index)}{index_of(place)} is {single[place]} in float32 and {exact[place]:.9g}"
            return f"{text} in float64: a step on the way overflows, or becomes 0"
    return None


def _explain(name: str, exact: ndarray, single: ndarray, spread: ndarray, natural: float) -> str:
    """Say what rounding does not explain, where a result moves by ``spread`` as inputs are rounded otherwise."""
    size = max(largest(exact), natural)
    if size > OVERFLOW or not np.isfinite(spread).all():
        return ""
    allowed = NOISE_TIMES * spread + SINGLE_ROUNDINGS * SINGLE_RESOLUTION * (size + spread.max()) + UNDERFLOW
    off = np.abs(single - exact)
    if (off <= allowed).all():
        return ""
    where = place_of(np.argmax(np.nan_to_num(off - allowed, nan=np.inf)), exact.shape)
    text = f"{name}{index_of(where)} is {single[where]:.9g} in float32 and {exact[where]:.9g} in float64"
    return f"{text}; rounding of inputs and result explains a difference of {allowed[where]:.1e} at most"


def _nudged(ev: Evaluator, leaf: InputLeaf, number: int) -> dict[str, object]:
    """Inputs with one moved by up to a float32 ulp: all its elements alike at first, then with random signs."""
    array = ev.array(leaf)
    rng = np.random.default_rng([7, number])
    # Magnitudes vary too: what is the same for a whole row may have no effect, and an oscillation's phase may recur.
    share = signed(rng, array.shape, MOVES) if number else 1.0
    return ev.replaced(leaf, frozen(array * (1 + share * SINGLE_RESOLUTION)))


def _results(ev: Evaluator, weights: ndarray, inputs: dict[str, object] | None) -> dict[_Name, ndarray]:
    """Outputs by their place, and gradients by their input, as float64."""
    outputs, pullback = ev.run(inputs)
    found: dict[_Name, ndarray] = {index: widened(outputs[index]) for index in ev.slots}
    if ev.leaves and ev.slots and ev.checkable.has_gradient:
        for leaf, value in ev.gradients(ev.douts_from(weights), pullback).items():
            if value is not None:
                found[leaf] = widened(value)
    return found


def low_precision(session: CheckSession) -> Iterator[CheckResult]:
    """GC151: the noise of a float64 forward is float64's. Where it is float32's, derivatives are held to that."""
    if session.dtype != "float64" or session.is_impure:
        yield session.skipped("GC151", "no float64 results are claimed")
        return
    is_any = session.checkable.infer is None
    evaluators = [
        ev
        for ev in session.diverse(SOME, 2)
        if not ev.case.is_extreme and ev.leaves and ev.slots and ev.case.regime != "zeros"
        if is_any or all(ev.outputs[index].dtype == np.float64 for index in ev.slots)
    ]
    found = [(_noise(ev, session.rng(5000 + number)) or 0.0, ev) for number, ev in enumerate(evaluators)]
    suspects = [(noise, ev) for noise, ev in found if 2 * FLOOR < noise < NOISE_MOST]
    if len(suspects) * 2 > len(evaluators):
        noise, ev = max(suspects, key=lambda item: item[0])
        kind = "float32" if noise < FLOOR_SINGLE else "float16"
        for each in session.evaluators if noise < FLOOR_SINGLE else ():
            each.resolution = noise
        message = f"forward's float64 result carries noise of {noise:.1e} of its size: something inside is {kind}"
        if ev.case.precision:
            yield session.skipped("GC151", f"only {ev.case.precision} was seen")
        elif session.claims_float64:
            yield session.failed("GC151", message, ev, expected=RESOLUTION, actual=noise)
        else:
            yield session.result("GC151", Status.UNDECIDED, message + "; the cases file gives float32 only")
        return
    yield session.passed("GC151", len(evaluators)) if evaluators else session.skipped("GC151", "no case applies")


def _noise(ev: Evaluator, rng: Generator) -> float | None:
    """Return forward's noise relative to its size along a random direction, None where values say nothing."""
    arrays = {leaf: array for leaf, array in leaves_of(ev.inputs) if is_float(array)}
    moves = {leaf: scales_of(array).reshape(array.shape) * signed(rng, array.shape) for leaf, array in arrays.items()}
    steps = steps_for(np.ones(1))
    base, eps = ev.vector(ev.outputs), ev.eps()
    entries = np.linspace(0, base.size - 1, min(base.size, SMALL_ARRAY)).astype(int)
    plus, minus = (side[:, :, entries] for side in Line(ev, moves, of_forward=True).ladder(steps[0]))
    base = base[entries]
    found = settle(plus, minus, base, steps[:, :, None], steps[:, :, None], eps[entries], np.ones((1, 1)))
    size = largest(base)
    telling = (found.value[0] != 0) & (found.kind[0] <= Behaviour.ONE_SIDED) & np.isfinite(found.bound[0])
    stairs = found.kind[0] == Behaviour.STAIRCASE
    if size == 0 or not (telling | stairs).any():
        return None
    if 2 * stairs.sum() > stairs.size:
        return _half_noise(ev)
    return median(found.noise[0][telling]) / size if telling.any() else None


def _half_noise(ev: Evaluator) -> float | None:
    """Distinguish float16 inside from intended steps: float16's results repeat for arguments rounded to float16."""
    form = FORMATS["float16"]
    rounded = ev.map_inputs(lambda array: frozen(form.rounded(array)) if is_float(array) else array)
    values, again = ev.vector(ev.outputs), ev.value_of(lambda: ev.forward(rounded))
    is_output_half = bool((form.rounded(values) == values).all()) and bool((values % RATIO**-3 != 0).any())
    return form.eps if is_output_half or (again == values).mean() > 1 - SMALL else None


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
