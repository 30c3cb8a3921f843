"""Sweeps: cases made of natural ones by changing sizes, attributes and the regime of the values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile
from time import perf_counter
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import (
    FEW,
    LEAST_LARGE,
    LONG,
    LONG_CARRIER,
    MANY,
    MIDDLE,
    MOST_LARGE,
    SLOW_GRADIENT,
    SMALL_ARRAY,
    SOME,
)
from opkit.checker.search.attributes import alternatives, fits, pairwise, unlike
from opkit.checker.search.extents import elements, resized, shapes_of
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.selection import diverse, one_per_rank
from opkit.checker.search.shapes import Assignment, with_item
from opkit.checker.search.table import Answer, Standing, Unserved, answer_of
from opkit.checker.search.usual_shapes import UsualShapes
from opkit.checker.search.values import ANCHORED, REGIMES, beyond
from opkit.listed import each
from opkit.record import mutable

#: Regimes beyond "normal", for the shapes that carry the sweep.
_SWEEP = tuple(name for name in REGIMES if name != "normal")
#: Those that one of several inputs has alone.
_ALONE = ("large", "saturated", "small", "negative", "positive", "zeros", "ties")


@mutable
class Sweeps:
    """Varies cases that are known to work.

    Args:
        scope: of the search.
        natural: searches anew where no known shape goes with an attribute.
    """

    scope: SearchScope
    natural: UsualShapes

    def grown(self, shapes: Sequence[Case]) -> list[Case]:
        """Take natural cases and change sizes: one size everywhere, then one size of one input."""
        if self.scope.options.shapes:
            return []
        known = {shapes_of(case) for case in shapes}
        sizes = {*chain(*(shape for case in shapes for shape in case.shapes))}
        hinted = [size + more for size in sorted(set(self.scope.hinted_sizes()), reverse=True)[:3] for more in (1, 3)]
        found: list[Case] = []
        for carrier in one_per_rank(shapes):
            base = shapes_of(carrier)
            for size in sorted({*chain(*carrier.shapes)}):
                others = (*hinted, 2 * size, 9, size + 1, 23, 1, 2, 3)  # longer ones, those that kernels mention, and 1
                changed = (resized(base, size, other) for other in others if other > 3 or other not in sizes)
                found += islice(self._taken(changed, known), max(min(FEW, 3 * FEW - len(found)), 0))
            narrowed = list(islice(self._taken(_with_one_changed(base), known), FEW))
            found += narrowed
            for case in narrowed[:3]:  # a window may lie in many places: each size that the first input alone has, long
                first, *rest = case.shapes
                longer = (resized(shapes_of(case), size, 9) for size in sorted(set(first).difference(*rest)))
                found += self._taken(longer, known)
        return found

    def _taken(self, assignments: Iterable[Assignment], known: set[Assignment]) -> Iterator[Case]:
        """Yield cases of the shapes that are not known yet, not large, and that forward takes."""
        for assignment in assignments:
            if assignment not in known and elements(assignment) <= SMALL_ARRAY:
                known.add(assignment)
                case = self.natural.attempt(assignment, self.scope.attrs, 9000 + len(known))
                if case is not None:
                    yield case

    def large(self, shapes: Sequence[Case]) -> Case | None:
        """Take the most natural case and make its sizes large: kernels may work in blocks, or keep buffers."""
        for carrier in one_per_rank(shapes) if not self.scope.options.shapes else ():
            sizes = sorted({*chain(*carrier.shapes)} - {0, 1}, reverse=True)
            for changed in (sizes, sizes[:1]):
                *smaller, assignment = (_enlarged(shapes_of(carrier), changed, part) for part in (16, 8, 4, 2, 1))
                if not LEAST_LARGE < elements(assignment) < MOST_LARGE or self._takes_long(smaller):
                    continue
                case = self.natural.attempt(assignment, self.scope.attrs, 9900)
                if case is None or all(self._seconds(case) > SLOW_GRADIENT for _ in range(FEW)):
                    continue
                outcome = self.scope.trial.attempt(case)
                if outcome.keeps_promise() and sum(np.size(item) for item in outcome.outputs) < 2 * MOST_LARGE:
                    return replace(case, regime="many elements")
        return None

    def _takes_long(self, smaller: Sequence[Assignment]) -> bool:
        """Return whether forward would take longer than is worth it with sizes twice as large as the last of these.

        By how its time grows from each to the next; a few times, since others may have kept the machine busy.
        """
        cases = [self.scope.case(one, self.scope.attrs, self.scope.held, seed=9900) for one in smaller]
        return self.scope.trial.is_late or not any(self._stays_short(cases) for _ in range(FEW))

    def _stays_short(self, cases: Sequence[Case]) -> bool:
        before = SLOW_GRADIENT
        for case in cases:
            seconds = self._seconds(case)
            if max(seconds, seconds * seconds / before) > SLOW_GRADIENT:
                return False
            before = seconds
        return True

    def _seconds(self, case: Case) -> float:
        begun = perf_counter()
        self.scope.trial.probe(case)
        return perf_counter() - begun

    def emptied(self, shapes: Sequence[Case]) -> list[Case]:
        """Take natural cases of several arrays and make each size 0 in turn, and each part of a list or of places."""
        full = [case for case in shapes if not case.is_empty]
        if not full or self.scope.options.shapes or len(full[0].arrays) < 2:
            return []
        known = {shapes_of(case) for case in shapes}
        broadcast = [case for case in full[FEW:] if any(1 in shape for shape in case.shapes)]
        found: list[Case] = []
        for carrier in (*full[:FEW], *broadcast[:1]):  # a size of 1 meets a size of 0
            base = shapes_of(carrier)
            found += self._taken((resized(base, size, 0) for size in sorted({*chain(*carrier.shapes)})), known)
            found += self._taken(_partly_empty(carrier), known)
        return found

    def attribute(self, shapes: Sequence[Case]) -> list[Case]:
        """Other values of each attribute, and some of several at once."""
        found: list[Case] = []
        base = self.scope.attrs
        choices: dict[str, list[Any]] = {}
        attempt = self.scope.trial.attempt
        for attr in self.scope.checkable.attrs:
            if attr.name in self.scope.options.attrs or attr.name == "device_sub_tag":
                continue
            known = alternatives(attr, self.scope.checkable.constants)
            for number, value in enumerate([*known, *self._offered(attr.name, base, known, shapes[:1])]):
                if any(_breaks_pairs(base[attr.name], value, case) for case in shapes[:1]):
                    continue
                is_late = number >= FEW and type(value) is float
                limit = SOME if isinstance(value, (bool, str)) else 2 if is_late else FEW
                cases = self._cases_with({**base, attr.name: value}, shapes, limit, 100 + number, value)
                if value is True and 1 in choices.get(attr.name, ()):  # which it is to forward, if nothing differs
                    one = {attr.name: 1}
                    cases = [
                        case
                        for case in cases
                        if not attempt(case).gives_the_same(attempt(replace(case, attrs={**case.attrs, **one})))
                    ]
                if cases:
                    choices.setdefault(attr.name, []).append(value)
                    found.extend(cases)
        for number, mixed in enumerate(pairwise({name: [base[name], *values] for name, values in choices.items()})):
            found.extend(self._cases_with({**base, **mixed}, shapes, 2, 300 + number))
        return found

    def unlike(self, shapes: Sequence[Case]) -> Iterator[Unserved]:
        """Yield each option of another sign than its default's, or 0, that forward takes and backward gets wrong."""
        scope = self.scope
        for attr in scope.checkable.attrs if scope.checkable.has_gradient else ():
            for value in unlike(attr) if attr.name not in scope.options.attrs else ():
                cases = (replace(case, attrs={**scope.attrs, attr.name: value}) for case in shapes[:FEW])
                taken = (case for case in cases if not scope.trial.is_late and scope.trial.probe(case).is_accepted)
                for case in islice(taken, 1):
                    answer = self._answered(case)
                    usual = replace(case, attrs=scope.attrs)
                    if answer.standing is Standing.WRONG and self._answered(usual).standing is Standing.RIGHT:
                        yield Unserved(answer)

    def _answered(self, case: Case) -> Answer:
        return answer_of(self.scope.checkable, case, is_slow=self.scope.trial.is_slow)

    def _offered(
        self, name: str, base: Mapping[str, Any], known: Sequence[Any], shapes: Sequence[Case]
    ) -> Iterator[str]:
        """Yield words that an option takes, from what forward raises at a strange one: a library names its choices."""
        for case in shapes if isinstance(base[name], str) else ():
            strange = self.scope.trial.probe(replace(case, attrs={**base, name: f"{base[name]}?"}))
            words = dict.fromkeys(re.findall(r"\w+", str(strange.error or "")))
            for word in islice((word for word in words if word not in (base[name], *known)), MANY):
                if self.scope.trial.probe(replace(case, attrs={**base, name: word})).is_accepted:
                    yield word

    def _cases_with(
        self, attrs: Mapping[str, Any], shapes: Sequence[Case], limit: int, seed: int, value: Any = None
    ) -> list[Case]:
        """Return up to ``limit`` of the known cases with other attributes, searching anew where none works.

        ``value`` is the one attribute's that is not the default. Cases whose results it changes come first: a dilation
        says nothing to a kernel of size 1.
        """
        found: list[Case] = []
        idle: list[Case] = []
        broken: list[Case] = []
        for case in diverse(shapes):
            if len(found) >= limit:
                break
            changed: Case | None = replace(case, attrs=dict(attrs), seed=seed)
            if self.scope.has_open_places:  # what a place is may follow from an attribute
                changed = self.natural.attempt(shapes_of(case), attrs, seed)
            if changed is None:
                continue
            outcome = self.scope.trial.attempt(changed)
            if outcome.is_accepted and outcome.keeps_promise():
                has_effect = value is None or not outcome.gives_the_same(self.scope.trial.attempt(case))
                (found if has_effect else idle).append(changed)
            elif outcome.is_accepted and outcome.is_definite():
                broken.append(changed)
        found += idle[: limit - len(found)]
        if value is not None:  # the contract check shows where a value that fits the shapes breaks the promise
            found += [case for case in broken if fits(value, case)][:1]
        return found or self.natural.accepted(attrs, min(limit, 2), seed, 600)

    def wider(self, shapes: Sequence[Case]) -> list[Case]:
        """One input at a time with values of another domain, where forward takes them as well.

        The first domain that forward takes is seldom the whole one: log(1 + x) takes small negative numbers besides
        positive ones, and y in log(x) * y any.
        """
        scope, roles = self.scope, self.scope.roles
        carrier = next((case for case in one_per_rank(shapes) if len(case.arrays) == len(scope.args)), None)
        found: list[Case] = []
        if carrier is None or roles is None or scope.checkable.seen or scope.options.shapes:
            return found
        for index, role in enumerate(roles):
            for domain in beyond(role.domain) if not role.is_bound else ():
                others = with_item(roles, index, Role(domain))
                made = (
                    scope.case(shapes_of(carrier), carrier.attrs, others, [regime] * len(roles), "wider", 7000 + number)
                    for number, regime in enumerate(("normal",) * FEW + ("wide",), 10 * index)
                )
                drawn = list(takewhile(lambda case: scope.trial.attempt(case).is_accepted, made))
                found += drawn if len(drawn) >= FEW else []  # others are taken by chance alone
        return found[:MANY]

    def marked(self, shapes: Sequence[Case]) -> list[Case]:
        """Numbers that an attribute gives a meaning of its own, like a label to ignore, at some places and at all."""
        found: list[Case] = []
        marks = sorted({value for value in self.scope.attrs.values() if type(value) is int})
        for number, carrier in enumerate(self._carriers(shapes)[:2]):
            constants = [name for name, value in carrier.inputs.items() if self._is_constant(name, value)]
            for mark in marks if constants else ():
                for share in (0.5, 1.0):
                    marked, beside = (
                        self._with_mark(carrier, constants, one, share, 4000 + number) for one in (mark, mark + 1)
                    )
                    outcome = self.scope.trial.attempt(marked)
                    # A number beyond an array may be taken in silence, and says nothing.
                    if outcome.is_accepted and not (
                        self.scope.has_open_places and outcome.gives_the_same(self.scope.trial.attempt(beside))
                    ):
                        found.append(marked)
        return found

    def masks(self, shapes: Sequence[Case]) -> list[Case]:
        """Truth values for floats that take no gradient, where nothing but forward says what is meant: conditions."""
        found: list[Case] = []
        for carrier in self._carriers(shapes)[:1] if self.scope.checkable.infer is None else ():
            for number, (name, value) in enumerate(carrier.inputs.items()):
                if self._is_constant(name, value) and value.dtype.kind == "f" and value.ndim and value.shape[-1] > 1:
                    mask = np.indices(value.shape).sum(axis=0) % 2 == number % 2  # each row has both
                    case = replace(carrier, inputs={**carrier.inputs, name: mask}, regime="mask", seed=5000 + number)
                    is_taken = self.scope.trial.attempt(case).is_accepted
                    if is_taken and answer_of(self.scope.checkable, case, compares=False).standing.is_answered:
                        found.append(case)
        return found

    def _with_mark(self, carrier: Case, names: Sequence[str], mark: int, share: float, seed: int) -> Case:
        """Return a case with a number at a share of the places of some inputs."""
        rng = self.scope.rng(seed)
        inputs = dict(carrier.inputs)
        for name in names:
            values = inputs[name]
            if np.can_cast(np.min_scalar_type(mark), values.dtype):
                inputs[name] = np.where(rng.random(values.shape) < share, values.dtype.type(mark), values)
        return replace(carrier, inputs=inputs, regime="marked", seed=seed)

    def _is_constant(self, name: str, value: Any) -> bool:
        """Return whether an input holds integers, or floats that take no gradient."""
        gradients = self.scope.checkable.gradients
        is_without = gradients is not None and name not in gradients
        return isinstance(value, np.ndarray) and value.dtype.kind in ("iuf" if is_without else "iu")

    def regime(self, shapes: Sequence[Case]) -> list[Case]:
        """Other values of the inputs: large, small, tied, at and near the constants of the kernels."""
        return [case for case in self._revalued(self._carriers(shapes)) if self.scope.trial.attempt(case).is_accepted]

    def _revalued(self, carriers: Sequence[Case]) -> Iterator[Case]:
        """Yield cases with other values in all inputs, then in one of several at a time, then around constants."""
        for number, carrier in enumerate(carriers):
            for index, regime in enumerate(_SWEEP):
                if self.scope.dtype != "float32" or regime != "far offset":  # no step fits between its values
                    yield self._with_regime(carrier, regime, 1000 + 100 * number + index)
        floats = [name for name, value in carriers[0].inputs.items() if _holds_floats(value)] if carriers else []
        for number, name in enumerate(floats[:FEW] if len(floats) > 1 else ()):
            for index, regime in enumerate(_ALONE):
                yield self._with_regime(carriers[0], regime, 2000 + 100 * number + index, name)
        for number, carrier in enumerate(carriers if self.scope.anchors else ()):
            for index, regime in enumerate(ANCHORED):
                yield self._with_regime(carrier, regime, 3000 + 10 * number + index)

    def _carriers(self, shapes: Sequence[Case]) -> list[Case]:
        """Pick the cases that carry the sweep: the most natural one, a long one and one of another rank."""
        full = [case for case in shapes if not case.is_empty]
        if not full:
            return []
        chosen = [full[0]]
        longer = [case for case in full if LONG_CARRIER[0] < max(case.sizes, default=0) <= LONG_CARRIER[1]]
        other = [case for case in full if case.ranks != full[0].ranks and max(case.sizes, default=0) > 2]
        for pool in (longer, other):
            if pool and pool[0] not in chosen:
                chosen.append(pool[0])
        return chosen

    def _with_regime(self, carrier: Case, regime: str, seed: int, only: str = "") -> Case:
        """Return a case with values of a regime in all inputs, or in one; whole numbers stay, but for ties."""
        regimes = [regime] * len(self.scope.args)
        inputs = dict(self.scope.case(shapes_of(carrier), carrier.attrs, self.scope.held, regimes, seed=seed).inputs)
        for name, role in zip(inputs, self.scope.held):
            if role.is_integer or only not in ("", name):
                is_tied = regime == "ties" and not only and not role.is_order
                inputs[name] = each(_tied, carrier.inputs[name]) if is_tied else carrier.inputs[name]
        return replace(carrier, inputs=inputs, regime=f"{regime} {only}".strip(), seed=seed)


def _tied(array: np.ndarray) -> np.ndarray:
    return np.full_like(array, array.flat[0]) if array.size else array


def _enlarged(shapes: Assignment, sizes: Sequence[int], part: int) -> Assignment:
    """Return shapes with sizes made as large as kernels work in blocks of, or that part of it."""
    for number, size in enumerate(sizes):
        shapes = resized(shapes, size, (LONG if len(sizes) < 3 else MIDDLE) // part + number)
    return shapes


def _with_one_changed(shapes: Assignment) -> Iterator[Assignment]:
    """Yield shapes with one size of one input changed: a size of its own may be smaller, larger, or a multiple.

    An only input has sizes of their own where two are equal, as in two points of two coordinates.
    """
    first: Any = shapes[0] or ()
    has_others = len(shapes) > 1
    for index in (*range(1, len(shapes)), *range(has_others or len({*first}) < len(first))):
        shape: Any = shapes[index]
        if shape and not isinstance(shape[0], tuple):
            for axis, size in enumerate(shape):
                for other in (2 * size, 3 * size) if has_others and not index else (2, size + 2):  # tiles, parts
                    yield with_item(shapes, index, with_item(shape, axis, other))


def _breaks_pairs(old: Any, new: Any, case: Case) -> bool:
    """Return whether an option that held one value for each array of a list would hold more or fewer."""
    if not (isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) != len(new)):
        return False
    return any(isinstance(value, list) and len(value) == len(old) for value in case.inputs.values())


def _partly_empty(case: Case) -> Iterator[Assignment]:
    """Yield shapes with the first part of a list, or an array of whole numbers, empty along each axis."""
    base = shapes_of(case)
    for index, value in enumerate(case.inputs.values()):
        is_list = isinstance(value, list) and len(value) > 1
        if is_list or (isinstance(value, np.ndarray) and value.dtype.kind != "f"):
            shape: Any = base[index]
            for axis in range(value[0].ndim if is_list else value.ndim):
                changed = with_item(shape[0], axis, 0) if is_list else with_item(shape, axis, 0)
                yield with_item(base, index, (changed, *shape[1:]) if is_list else changed)


def _holds_floats(value: Any) -> bool:
    """Return whether an input, an array or a list of arrays, holds floats."""
    if isinstance(value, list):
        return bool(value) and value[0].dtype.kind == "f"
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
