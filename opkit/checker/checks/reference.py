"""Reference: results and gradients against those of a function that is declared to be right (GC107-GC109).

Runs both in each format that the op takes, and reports; what the numbers say is decided in model.measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.checks.entries import index_of
from opkit.checker.checks.reference_terms import slopes, summed_gradient, summed_result
from opkit.checker.derivative.directions import probe_leaf
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.draws import generator
from opkit.checker.model.evaluate import Evaluator, frozen, is_float, leaves_of
from opkit.checker.model.formats import FORMATS, HALVES, Format
from opkit.checker.model.numbers import place_of, signed, widened
from opkit.checker.model.raised import words_of
from opkit.checker.model.reference import Found, InFormat, Reference, Samples, judged
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import REFERENCE_DOUTS, SOME
from opkit.checker.model.types import Arrays, Attrs, Computed, Gradients, Ran, Results
from opkit.listed import each
from opkit.record import mutable

VALUES, GRADIENTS, ITSELF = "GC107", "GC108", "GC109"


@mutable
class _Ledger:
    """What the comparisons brought up: by code, what is wrong, and the largest ratio of each format with its place."""

    session: CheckSession
    given: Reference
    wrong: dict[str, CheckResult] = field(default_factory=dict)
    open: dict[str, CheckResult] = field(default_factory=dict)
    best: dict[str, dict[str, tuple[float, str, float]]] = field(default_factory=dict)
    compared: set[int] = field(default_factory=set)
    raised: str = ""
    rounded: set[str] = field(default_factory=set)

    def add(self, code: str, format: str, found: Found, place: str) -> None:
        known = self.best.setdefault(code, {}).setdefault(format, (-1.0, "", 0.0))
        size = found.share if format == "float64" else found.ratio
        if size > known[0]:
            self.best[code][format] = size, place, max(found.sees, known[2])


def reference(session: CheckSession) -> Iterator[CheckResult]:
    """GC107-GC109 where a reference is declared."""
    given = session.checkable.reference
    if given is None or session.is_impure:
        return
    ledger = _Ledger(session, given)
    chosen = [ev for ev in session.evaluators if ev.case.origin != "search"] or session.diverse(SOME)
    confirmed = _confirmed(session, given, chosen)
    for number, ev in enumerate(chosen):
        if session.left() < 0 and ledger.compared:
            break
        for format in _formats(session.checkable, ev):
            if not {VALUES, GRADIENTS} <= ledger.wrong.keys():
                _compare(ledger, ev, number, format)
    yield from _results(ledger)
    if confirmed is not None:
        yield confirmed


def _formats(checkable: Checkable, ev: Evaluator) -> list[str]:
    """Return the formats in which a case is run: its own, and narrower ones that the op may take."""
    if checkable.format:
        return [checkable.format]
    dtypes = {array.dtype.name for array in ev.case.floats}
    own = next((name for name in FORMATS if name in dtypes), "float64")
    narrower = [name for name in ("float32", *HALVES) if FORMATS[name].bits < FORMATS[own].bits]
    return [own, *(name for name in narrower if checkable.in_format is not None or name == "float32")]


def _compare(ledger: _Ledger, ev: Evaluator, number: int, format: str) -> None:
    """Compare one case in one format."""
    session, given, form = ledger.session, ledger.given, FORMATS[format]
    rng = session.rng(6000 + number)
    checkable = session.checkable
    run = checkable.in_format or _plain(checkable)
    is_own = format == _formats(checkable, ev)[0]
    inputs = ev.map_inputs(lambda array: frozen(form.rounded(array)) if is_float(array) else array)
    try:
        outputs, _ = run(inputs, ev.attrs, None, format)
    except Exception:  # user code: it does not take the format
        if is_own:
            raise
        return
    try:
        exact, _ = given.run(inputs, ev.attrs, None, "float64")
    except Exception as error:  # user code: the case is none of the reference's
        ledger.raised = ledger.raised or f"{words_of(error)}"
        return
    names = [session.output_name(index) for index in range(len(outputs))]
    misfit = _misfit(given, names, outputs, exact)
    if misfit:
        ledger.wrong.setdefault(VALUES, session.failed(VALUES, misfit, ev))
        return
    douts = [rng.choice(REFERENCE_DOUTS, item.shape) for item in exact]
    near = _near(ev, inputs, form, rng)
    ledger.compared.add(number)
    judges = bool(ev.leaves) and checkable.has_gradient and given.judges_gradients
    values, gradients = _samples(ledger, run, ev, near, douts if judges and given.has_gradient else None, format)
    _judge(ledger, ev, values, names, VALUES, form, partial(summed_result, given, ev, inputs, douts))
    if judges:
        gradients = gradients or _measured_gradients(given, run, ev, near, douts, format)
        sums = partial(summed_gradient, given, ev, inputs, douts)
        _judge(ledger, ev, gradients, [*map(str, ev.leaves)], GRADIENTS, form, sums)


def _misfit(given: Reference, names: Sequence[str], outputs: Sequence[Any], exact: Sequence[Any]) -> str:
    if len(exact) > len(outputs):
        return f"{given.name} gives {len(exact)} results, forward {len(outputs)}"
    for name, one, other in zip(names, outputs, exact):
        if one.shape != other.shape:
            return f"{name} has the shape {one.shape} where {given.name} gives {other.shape}"
    return ""


def _near(ev: Evaluator, inputs: Arrays, form: Format, rng: Generator) -> list[Arrays]:
    """Return the inputs, and others within two units in their last places: what rounds otherwise there is a sample."""

    def moved(array: ndarray) -> ndarray:
        if not is_float(array):
            return array
        share = form.eps * signed(rng, array.shape, (1.0, 2.0))
        return frozen(form.rounded(form.rounded(array) * (1 + share)))

    return [inputs, *(ev.map_inputs(moved) for _ in range(SOME - 1))]


# --- running
def _plain(checkable: Checkable) -> InFormat:
    """Return an op of numpy arrays as it runs in a format."""

    def run(arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        return ran(checkable.run, arrays, attrs, douts, "float32" if checkable.format else format)

    return run


def ran(
    run: Callable[[Arrays, Attrs], Ran], arrays: Arrays, attrs: Attrs, douts: Results | None, dtype: str
) -> Computed:
    """Run an op of numpy arrays in a dtype of numpy; see ``InFormat``."""
    cast = {name: cast_to(value, dtype) for name, value in arrays.items()}
    outputs, pullback = run(cast, attrs)
    found = [np.array(item) for item in outputs]
    if douts is None:
        return found, {}
    seeds = [
        frozen((douts[index] if index < len(douts) else np.zeros(item.shape)).astype(item.dtype))
        for index, item in enumerate(found)
    ]
    needs = frozenset(leaf.name for leaf, array in leaves_of(cast) if is_float(array))
    return found, pullback(seeds, needs)


def cast_to(value: Any, dtype: Any) -> Any:
    """Return the float arrays of an input in another dtype."""
    return each(lambda item: frozen(item.astype(dtype)) if is_float(item) else item, value)


_Sample = tuple[Any, Any, Any, Any]


def _samples(
    ledger: _Ledger, run: InFormat, ev: Evaluator, near: Sequence[Arrays], douts: Results | None, format: str
) -> tuple[list[list[_Sample]], list[list[_Sample]]]:
    """Return, for results and for gradients, a list per input tried of what is exact, the reference's own and the op's.

    Where douts is None there are no gradients. Where the reference does not run in the format, what rounding the
    inputs changes stands for its own.
    """
    values: list[list[_Sample]] = []
    gradients: list[list[_Sample]] = []
    last: tuple[Sequence[Any], Gradients] | None = None
    for arrays in near:
        try:
            made, exact = run(arrays, ev.attrs, douts, format), ledger.given.run(arrays, ev.attrs, douts, "float64")
        except Exception:  # user code: it does not take what lies beside the case
            if arrays is near[0]:
                raise
            continue
        own = None
        with suppress(Exception):  # user code, or an operation that the framework lacks in the format
            own = None if format == "float64" else ledger.given.run(arrays, ev.attrs, douts, format)
        if own is None:
            before = last or exact
            own = [FORMATS[format].rounded(item) for item in before[0]], before[1]
            ledger.rounded |= {format} - {"float64"}
        last = exact
        values.append([(*one, 0.0) for one in zip(exact[0], own[0], made[0])])
        if douts is not None:
            its, rougher, claimed = (ev.by_leaf(item[1]) for item in (exact, own, made))
            gradients.append([(its[leaf], rougher[leaf], claimed[leaf], 0.0) for leaf in ev.leaves])
    return values, gradients


def _measured_gradients(
    given: Reference, run: InFormat, ev: Evaluator, near: Sequence[Arrays], douts: Results, format: str
) -> list[list[_Sample]]:
    """Return the samples of gradients by differences; the reference's own error is what rounding the inputs changes."""
    rows = []
    for arrays in near[:2]:
        claimed = ev.by_leaf(run(arrays, ev.attrs, douts, format)[1])
        rows.append([(*slopes(given, ev, arrays, leaf, douts), claimed[leaf]) for leaf in ev.leaves])
    first, second = rows
    return [
        [(here[0], beside[0], here[2], here[1]) for here, beside in zip(row, other)]
        for row, other in ((first, second), (second, first))
    ]


# --- judging
def _judge(
    ledger: _Ledger,
    ev: Evaluator,
    rows: Sequence[Sequence[_Sample]],
    names: Sequence[str],
    code: str,
    form: Format,
    sums: Callable[[int, int], float],
) -> None:
    """Judge each result, or gradient, over the inputs tried; ``sums`` of its number and an element: see Samples."""
    terms = max((array.size for array in ev.case.arrays), default=1)
    for number, (name, column) in enumerate(zip(names, zip(*rows))):
        if any(item is None for sample in column for item in sample):
            continue  # the contract check reports what is missing
        shape = np.shape(column[0][0])
        if any(np.shape(item) != shape for sample in column for item in sample[:3]) or not np.prod(shape):
            continue
        exact, own, given = (np.stack([widened(sample[which]).ravel() for sample in column]) for which in range(3))
        slack = float(ledger.session.checkable.tolerance.get(name, 0.0))
        samples = Samples(exact, own, given, form.name, terms, slack, column[0][3], partial(sums, number))
        found = judged(_at_single(samples) if form.name == "float64" else samples)
        if found is None:
            continue
        at = index_of(place_of(found.element, shape))
        ledger.add(code, form.name, found, f"{name}{at}")
        if found.kind:
            _note(ledger, ev, found, name, at, code, form)


def _at_single(samples: Samples) -> Samples:
    """Return samples with what float32 inside the reference leaves of its digits: its results are numbers of it."""
    is_single = bool((samples.exact.astype(np.float32) == samples.exact).all())
    return replace(samples, format="float32") if is_single and samples.exact.size > 1 else samples


def _note(ledger: _Ledger, ev: Evaluator, found: Found, name: str, at: str, code: str, form: Format) -> None:
    """Keep what is wrong with a result or a gradient; ``at`` is the place of its worst element."""
    subject = name if code == VALUES else f"the gradient of {name}"
    size = f"{found.share:.1e} of the largest"
    if form.name != "float64":  # in which there is nothing to measure the reference by
        size += f", {found.ratio:.3g} times the reference's own in {form.name}"
    if found.kind in ("value", "lower"):
        text = f"{subject}{at} is {found.actual:.9g}, {ledger.given.name} gives {found.expected:.9g}"
        text += f": errors go up to {size}"
    elif found.kind == "noise":
        text = f"the errors of {subject} are on the whole larger than rounding in {form.name} makes them: up to {size}"
    elif found.kind == "recurs":
        text = f"the errors of {subject} recur where rounding in {form.name} does not: up to {size}"
    else:
        text = f"all of {subject} is off alike in {form.name}: by up to {size}"
    if found.factor is not None and found.kind != "lower":
        text += f"; it is {found.factor:.6g} times the reference's"
    status, kept = Status.FAIL, ledger.wrong
    if found.kind == "lower":
        status, kept = Status.UNDECIDED, ledger.open
        text += f"; sums in {form.name} would explain it: accumulate in float32, or say TOLERANCE"
    fields: dict[str, Any] = {"expected": found.expected, "actual": found.actual, "bound": found.allowed}
    fields["input" if code == GRADIENTS else "output"] = name
    kept.setdefault(code, ledger.session.result(code, status, text, case=ev.case, **fields))


def _results(ledger: _Ledger) -> Iterator[CheckResult]:
    session, given = ledger.session, ledger.given
    if not ledger.compared and not ledger.wrong:
        why = f": it raised {ledger.raised}" if ledger.raised else ""
        yield session.result(VALUES, Status.ERROR, f"{given.name} could not be compared on any case{why}")
        return
    for format in sorted(ledger.rounded):
        session.notes.append(f"{given.name} does not run in {format}: what rounding its inputs changes is its error")
    for code in (VALUES, GRADIENTS):
        found = ledger.wrong.get(code) or ledger.open.get(code)
        if found is not None:
            yield found
        elif code in ledger.best:
            best = ledger.best[code]
            text = ", ".join(
                f"{ratio:.1e} of the largest in float64 ({place})"
                if name == "float64"
                else f"{ratio:.2g} times the reference's own in {name} ({place})"
                for name, (ratio, place, _) in best.items()
            )
            sees = max(item[2] for item in best.values())
            yield session.result(code, Status.PASS, f"error {text}", cases=len(ledger.compared), detectable=sees)


# --- the reference itself
def _confirmed(session: CheckSession, given: Reference, chosen: Sequence[Evaluator]) -> CheckResult | None:
    """GC109: the reference's own derivative is that of its values, on one case."""
    for ev in chosen if given.has_gradient and given.judges_gradients else ():
        with suppress(Exception):  # user code: not on this case
            return _itself(session, given, ev)
    return None


def _itself(session: CheckSession, given: Reference, ev: Evaluator) -> CheckResult:
    def run(arrays: Arrays, attrs: Attrs) -> tuple[Results, Callable[..., Gradients]]:
        outputs, _ = given.run(arrays, attrs, None, "float64")
        return outputs, lambda douts, needs: given.run(arrays, attrs, douts, "float64")[1]

    alone = replace(session.checkable, forward=lambda arrays, attrs: run(arrays, attrs)[0], vjp=run, surrogate=None)
    alone = replace(alone, gradients=ev.needs, infer=None)
    wide = ev.map_inputs(lambda array: frozen(array.astype(np.float64)) if is_float(array) else array)
    other = Evaluator(alone, replace(ev.case, inputs=wide)).prepare()
    for leaf in other.leaves:
        probes = [probe_leaf(other, leaf, generator(session.options.seed, 6500 + turn)) for turn in range(2)]
        if all(probe.is_wrong for probe in probes):
            text = (
                f"the derivative of {given.name} by its framework, {probes[0].actual:.9g} along a direction of {leaf}, "
                f"is not that of its values, {probes[0].expected:.9g}: gradients were compared with the former"
            )
            return session.result(ITSELF, Status.UNDECIDED, text, case=ev.case, input=str(leaf))
    return session.passed(ITSELF, 1)
