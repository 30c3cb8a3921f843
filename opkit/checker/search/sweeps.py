"""Sweeps: cases made of natural ones by changing sizes, attributes and the regime of the values.

Each takes the search, for what forward takes, and the cases of natural shapes that were found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, product, takewhile
from time import perf_counter
from typing import Any

import numpy as np

from opkit.checker.model.case import Case, first_of_each
from opkit.checker.model.thresholds import (
    BESIDE_LONGEST,
    FEW,
    LEAST_LARGE,
    LONG,
    LONG_CARRIER,
    LONGEST,
    MANY,
    MIDDLE,
    MOST_LARGE,
    MOST_SHAPES,
    SLOW_GRADIENT,
    SMALL_ARRAY,
    SOME,
)
from opkit.checker.model.trial import Trial
from opkit.checker.search.attributes import alternatives, fits, pairwise
from opkit.checker.search.kinds import elements, is_list, resized, shapes_of
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.shapes import Assignment, with_item
from opkit.checker.search.usual_shapes import UsualShapes
from opkit.checker.search.values import ANCHORED, REGIMES, beyond
from opkit.listed import each, present

#: Regimes beyond "normal", for the shapes that carry the sweep.
_SWEEP = tuple(name for name in REGIMES if name != "normal")
#: Those that one of several inputs has alone.
_ALONE = ("large", "saturated", "small", "negative", "positive", "zeros", "ties")


# --- which cases carry a sweep, since all of them would take too long
def _one_per_rank(cases: Sequence[Case]) -> list[Case]:
    """Return the first case without empty arrays for each combination of ranks, a few at most, with sizes above 1."""
    full = (case for case in cases if not case.is_empty and max(case.sizes, default=0) > 1)
    return first_of_each(full, lambda case: case.ranks)[0][:FEW]


def _diverse(cases: Sequence[Case]) -> list[Case]:
    """Return small non-empty cases: one per combination of ranks, then those whose inputs differ most in size."""
    small = (case for case in cases if 0 < max(case.sizes, default=0) <= SMALL_ARRAY)
    first, later = first_of_each(small, lambda case: case.ranks)
    return first + sorted(later, key=lambda case: min(case.sizes) - max(case.sizes))[:MANY]


def carriers(shapes: Sequence[Case]) -> list[Case]:
    """Return the most natural case, a long one and one of another rank."""
    full = [case for case in shapes if not case.is_empty]
    longer = [case for case in full if LONG_CARRIER[0] < max(case.sizes, default=0) <= LONG_CARRIER[1]]
    other = [case for case in full if case.ranks != full[0].ranks and max(case.sizes, default=0) > 2]
    return list({id(case): case for case in (*full[:1], *longer[:1], *other[:1])}.values())


# --- sizes
def grown(search: UsualShapes, shapes: Sequence[Case]) -> list[Case]:
    """Take natural cases and change sizes: one size everywhere, then one size of one input."""
    known = set(map(shapes_of, shapes))
    sizes = {*chain(*(case.lengths for case in shapes))}
    hinted = [size + more for size in sorted(set(search.hinted_sizes), reverse=True)[:3] for more in (1, 3)]
    found: list[Case] = []
    for carrier in _one_per_rank(shapes):
        base = shapes_of(carrier)
        for size in carrier.lengths:
            others = (*hinted, 2 * size, 9, size + 1, 23, 1, 2, 3)  # longer ones, those that kernels mention, and 1
            changed = (resized(base, size, other) for other in others if other > 3 or other not in sizes)
            found += islice(_taken(search, changed, known), max(min(FEW, 3 * FEW - len(found)), 0))
        narrowed = list(islice(_taken(search, _with_one_changed(base), known), FEW))
        found += narrowed
        for case in narrowed[:3]:  # a window may lie in many places: each size that the first input alone has, long
            first, *rest = case.shapes
            longer = (resized(shapes_of(case), size, 9) for size in sorted(set(first).difference(*rest)))
            found += _taken(search, longer, known)
    return found


def _taken(search: UsualShapes, assignments: Iterable[Assignment], known: set[Assignment]) -> Iterator[Case]:
    """Yield cases of the shapes that are not known yet, not large, and that forward takes."""
    for assignment in assignments:
        if assignment not in known and elements(assignment) <= SMALL_ARRAY:
            known.add(assignment)
            yield from present(search.attempt(assignment, search.attrs, 9000 + len(known)))


def _with_one_changed(shapes: Assignment) -> Iterator[Assignment]:
    """Yield shapes with one size of one input changed: a size of its own may be smaller, larger, or a multiple.

    An only input has sizes of their own where two are equal, as in two points of two coordinates.
    """
    first: Any = shapes[0] or ()
    has_others = len(shapes) > 1
    for index in (*range(1, len(shapes)), *range(has_others or len({*first}) < len(first))):
        shape: Any = shapes[index]
        for axis, size in enumerate(() if shape is None or is_list(shape) else shape):
            for other in (2 * size, 3 * size) if has_others and not index else (2, size + 2):  # tiles, parts
                yield with_item(shapes, index, with_item(shape, axis, other))


def enlarged(search: UsualShapes, shapes: Sequence[Case]) -> Case | None:
    """Take the most natural case and make its sizes large: kernels may work in blocks, or keep buffers.

    The last size becomes larger than the numbers that they mention, and than a byte counts: places may be kept in one.
    """
    named = [one + 1 for one in search.checkable.constants if type(one) is int and LONG <= one < MOST_LARGE]
    for carrier in _one_per_rank(shapes):
        sizes = [size for size in reversed(carrier.lengths) if size > 1]
        longer = max(named, default=0)
        for longest, changed in product(dict.fromkeys((max(longer, LONGEST), longer, 0)), (sizes, sizes[:1])):
            *smaller, assignment = (
                _with_large(shapes_of(carrier), changed, part, longest) for part in (16, 8, 4, 2, 1)
            )
            if not LEAST_LARGE < elements(assignment) < MOST_LARGE or _takes_long(search, smaller):
                continue
            case = search.attempt(assignment, search.attrs, 9900)
            if case is not None and any(_seconds(search.trial, case) <= SLOW_GRADIENT for _ in range(FEW)):
                outcome = search.trial.attempt(case)
                if outcome.keeps_promise() and sum(np.size(item) for item in outcome.outputs) < 2 * MOST_LARGE:
                    return replace(case, regime="many elements")
    return None


def _with_large(shapes: Assignment, sizes: Sequence[int], part: int, longest: int) -> Assignment:
    """Return shapes with sizes made as large as kernels work in blocks of, or part of it; the first the longest."""
    others = (BESIDE_LONGEST if longest else (LONG, MIDDLE))[len(sizes) > 2]
    for number, size in enumerate(sizes):
        large = others if number or not longest else longest
        shapes = resized(shapes, size, large // part + number)
    return shapes


def _takes_long(search: SearchScope, smaller: Sequence[Assignment]) -> bool:
    """Return whether forward would take longer than is worth it with sizes twice as large as the last of these.

    By how its time grows from each to the next; a few times, since others may have kept the machine busy.
    """
    cases = [search.case(one, search.attrs, search.held, seed=9900) for one in smaller]
    return search.trial.is_late or not any(_stays_short(search.trial, cases) for _ in range(FEW))


def _stays_short(trial: Trial, cases: Sequence[Case]) -> bool:
    before = SLOW_GRADIENT
    for case in cases:
        seconds = _seconds(trial, case)
        if max(seconds, seconds * seconds / before) > SLOW_GRADIENT:
            return False
        before = seconds
    return True


def _seconds(trial: Trial, case: Case) -> float:
    begun = perf_counter()
    trial.probe(case)
    return perf_counter() - begun


def emptied(search: UsualShapes, shapes: Sequence[Case]) -> Iterator[Case]:
    """Take natural cases of several arrays and make each size 0 in turn, and each part of a list or of places."""
    full = [case for case in shapes if not case.is_empty]
    known = set(map(shapes_of, shapes))
    broadcast = [case for case in full[FEW:] if any(1 in shape for shape in case.shapes)]
    has_several = bool(full) and len(full[0].arrays) > 1
    for carrier in (*full[:FEW], *broadcast[:1]) if has_several else ():  # a size of 1 meets a size of 0
        base = shapes_of(carrier)
        yield from _taken(search, (resized(base, size, 0) for size in carrier.lengths), known)
        yield from _taken(search, _partly_empty(carrier), known)


def _partly_empty(case: Case) -> Iterator[Assignment]:
    """Yield shapes with the first part of a list, or an array of whole numbers, empty along each axis."""
    base = shapes_of(case)
    for index, value in enumerate(case.inputs.values()):
        shape: Any = base[index]
        if isinstance(value, list) and len(value) > 1:
            changed = (with_item(shape, 0, with_item(shape[0], axis, 0)) for axis in range(value[0].ndim))
        elif isinstance(value, np.ndarray) and value.dtype.kind != "f":
            changed = (with_item(shape, axis, 0) for axis in range(value.ndim))
        else:
            continue
        yield from (with_item(base, index, one) for one in changed)


# --- attributes
def settings(search: UsualShapes, shapes: Sequence[Case]) -> Iterator[Case]:
    """Yield cases with other values of each attribute, and with some of several at once.

    First those of known shapes: a search for shapes that a value takes may need all the time that is left.
    """
    base, attempt = search.attrs, search.trial.attempt
    choices: dict[str, list[Any]] = {}
    anew: list[tuple[str, Any, int, int]] = []
    for attr in search.checkable.attrs:
        name = attr.name
        if name in search.options.attrs or name == "device_sub_tag":
            continue
        known = alternatives(attr, search.checkable.constants)
        for number, value in enumerate([*known, *_offered(search, name, known, shapes[:1])]):
            if any(_breaks_pairs(base[name], value, case) for case in shapes[:1]):
                continue
            is_late = number >= FEW and type(value) is float
            limit = SOME if isinstance(value, (bool, str)) else 2 if is_late else FEW
            cases, is_refused = _cases_with(search, {**base, name: value}, shapes, limit, 100 + number, value)
            if not cases and not is_refused:
                anew.append((name, value, min(limit, 2), 100 + number))
            if value is True and 1 in choices.get(name, ()):  # which it is to forward, if nothing differs
                ones = [replace(case, attrs={**case.attrs, name: 1}) for case in cases]
                cases = [case for case, one in zip(cases, ones) if not attempt(case).gives_the_same(attempt(one))]
            if cases:
                choices.setdefault(name, []).append(value)
                yield from cases
    with search.trial.half(), search.trial.half():  # what was found is to be asked for, too
        found = [search.accepted({**base, key: one}, most, seed, MOST_SHAPES // 10) for key, one, most, seed in anew]
    for (name, value, *_), cases in zip(anew, found):
        if cases:
            choices.setdefault(name, []).append(value)
            yield from cases
    for number, mixed in enumerate(pairwise({name: [base[name], *values] for name, values in choices.items()})):
        attrs = {**base, **mixed}
        cases, is_refused = _cases_with(search, attrs, shapes, 2, 300 + number)
        yield from cases or (() if is_refused else search.accepted(attrs, 2, 300 + number, MOST_SHAPES // 10))


def _offered(search: SearchScope, name: str, known: Sequence[Any], shapes: Sequence[Case]) -> Iterator[str]:
    """Yield words that an option takes, from what forward raises at a strange one: a library names its choices."""
    base, probe = search.attrs, search.trial.probe
    for case in shapes if isinstance(base[name], str) else ():
        strange = probe(replace(case, attrs={**base, name: f"{base[name]}?"}))
        words = dict.fromkeys(re.findall(r"\w+", str(strange.error or "")))
        for word in islice((word for word in words if word not in (base[name], *known)), MANY):
            if probe(replace(case, attrs={**base, name: word})).is_accepted:
                yield word


def _cases_with(
    search: UsualShapes, attrs: Mapping[str, Any], shapes: Sequence[Case], limit: int, seed: int, value: Any = None
) -> tuple[list[Case], bool]:
    """Return up to ``limit`` of the known cases with other attributes, and whether other shapes would be refused too.

    ``value`` is the one attribute's that is not the default. Cases whose results it changes come first: a dilation
    says nothing to a kernel of size 1.
    """
    found: list[Case] = []
    idle: list[Case] = []
    broken: list[Case] = []
    attempt = search.trial.attempt
    refusals: list[bool] = []
    for case in _diverse(shapes):
        if len(found) >= limit:
            break
        changed = replace(case, attrs=dict(attrs), seed=seed)
        outcome = attempt(changed)
        refusals.append(isinstance(outcome.error, TypeError) and None not in shapes_of(case))
        if search.has_open_places and not refusals[-1]:  # what a place is may follow from an attribute
            again = search.attempt(shapes_of(case), attrs, seed)
            if again is None:
                continue
            changed, outcome = again, attempt(again)
        is_narrow = any(not role.is_integer and role.domain != "real" for role in search.held)
        for domain in ("real", "positive", "unit"):  # an option's values may have a domain of their own
            if is_narrow if domain == "real" else outcome.is_undefined:
                roles = [role if role.is_integer else Role(domain) for role in search.held]
                other = search.case(shapes_of(case), attrs, roles, seed=seed)
                tried = attempt(other)
                if outcome.is_undefined or tried.is_accepted:
                    changed, outcome = other, tried
        if not outcome.is_accepted:
            continue
        if outcome.keeps_promise():
            has_effect = value is None or not outcome.gives_the_same(attempt(case))
            (found if has_effect else idle).append(changed)
        elif outcome.is_definite():
            broken.append(changed)
    found += idle[: limit - len(found)]
    if value is not None:  # the contract check shows where a value that fits the shapes breaks the promise
        found += [case for case in broken if fits(value, case)][:1]
    # On the value's type, with other shapes too; None may stand for an array.
    return found, bool(refusals[1:]) and all(refusals)


def _breaks_pairs(old: Any, new: Any, case: Case) -> bool:
    """Return whether an option that held one value for each array of a list would hold more or fewer."""
    if not (isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) != len(new)):
        return False
    return any(isinstance(value, list) and len(value) == len(old) for value in case.inputs.values())


# --- values
def regimes(search: SearchScope, shapes: Sequence[Case]) -> list[Case]:
    """Other values of the inputs: large, small, tied, at and near the constants of the kernels."""
    return [case for case in _revalued(search, carriers(shapes)) if search.trial.attempt(case).is_accepted]


def _revalued(search: SearchScope, carriers: Sequence[Case]) -> Iterator[Case]:
    """Yield cases with other values in all inputs, then in one of several at a time, then around constants."""
    for number, carrier in enumerate(carriers):
        for index, regime in enumerate(_SWEEP):
            if search.dtype != "float32" or regime != "far offset":  # no step fits between its values
                yield _with_regime(search, carrier, regime, 1000 + 100 * number + index)
    for carrier in carriers[:1]:
        floats = [name for name, value in carrier.inputs.items() for one in present(value)[:1] if one.dtype.kind == "f"]
        for number, name in enumerate(floats[:FEW] if len(floats) > 1 else ()):
            for index, regime in enumerate(_ALONE):
                yield _with_regime(search, carrier, regime, 2000 + 100 * number + index, name)
    for number, carrier in enumerate(carriers if search.anchors else ()):
        for index, regime in enumerate(ANCHORED):
            yield _with_regime(search, carrier, regime, 3000 + 10 * number + index)


def _with_regime(search: SearchScope, carrier: Case, regime: str, seed: int, only: str = "") -> Case:
    """Return a case with values of a regime in all inputs, or in one; whole numbers stay, but for ties."""
    inputs = dict(search.case(shapes_of(carrier), carrier.attrs, search.held, regime, seed=seed).inputs)
    for name, role in zip(inputs, search.held):
        if role.is_integer or only not in ("", name):
            is_tied = regime == "ties" and not only and not (role.is_order or role.structure)
            inputs[name] = each(_tied, carrier.inputs[name]) if is_tied else carrier.inputs[name]
    return replace(carrier, inputs=inputs, regime=f"{regime} {only}".strip(), seed=seed)


def _tied(array: np.ndarray) -> np.ndarray:
    return np.full_like(array, array.flat[0]) if array.size else array


def wider(search: SearchScope, shapes: Sequence[Case]) -> list[Case]:
    """One input at a time with values of another domain, where forward takes them as well.

    The first domain that forward takes is seldom the whole one: log(1 + x) takes small negative numbers besides
    positive ones, and y in log(x) * y any.
    """
    carriers = [case for case in _one_per_rank(shapes) if len(case.arrays) == len(search.args)]
    found: list[Case] = []
    for index, role in enumerate(search.roles or () if carriers else ()):
        # Integers, and what has a structure, go together: no single one can be another.
        for domain in beyond(role.domain) if not role.dtype and not role.structure else ():
            others = with_item(search.held, index, Role(domain))
            made = (
                search.case(shapes_of(carriers[0]), carriers[0].attrs, others, regime, "wider", 7000 + number)
                for number, regime in enumerate(("normal",) * FEW + ("wide", "one zero"), 10 * index)
            )
            drawn = list(takewhile(lambda case: search.trial.attempt(case).is_accepted, made))
            found += drawn if len(drawn) >= FEW else []  # others are taken by chance alone
    return found[:MANY]
