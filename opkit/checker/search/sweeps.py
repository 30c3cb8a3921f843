"""Sweeps: cases made of natural ones by changing sizes, attributes and the regime of the values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
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
from opkit.checker.search.attributes import alternatives, fits, pairwise
from opkit.checker.search.empty import cut, partly_cut
from opkit.checker.search.extents import elements, resized, shapes_of
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.selection import diverse, one_per_rank
from opkit.checker.search.shapes import Assignment
from opkit.checker.search.table import answer_of
from opkit.checker.search.usual_shapes import UsualShapes
from opkit.checker.search.values import REGIMES, is_anchor, near_constants
from opkit.record import mutable

#: Regimes beyond "normal", for the shapes that carry the sweep.
_SWEEP = tuple(name for name in REGIMES if name != "normal")


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
        sizes = {size for case in shapes for array in case.arrays for size in array.shape}
        hinted = [size + more for size in sorted(set(self.scope.hinted_sizes()), reverse=True)[:3] for more in (1, 3)]
        found: list[Case] = []
        for carrier in one_per_rank(shapes):
            base = shapes_of(carrier)
            for size in sorted({size for array in carrier.arrays for size in array.shape}):
                others = (*hinted, 2 * size, 9, size + 1, 23, 1, 2, 3)  # longer ones, those that kernels mention, and 1
                changed = (resized(base, size, other) for other in others if other > 3 or other not in sizes)
                found += islice(self._taken(changed, known), max(min(FEW, 3 * FEW - len(found)), 0))
            narrowed = list(islice(self._taken(_with_one_changed(base), known), FEW))
            found += narrowed
            for case in narrowed[:3]:  # a window may lie in many places: each size that the first input alone has, long
                first, *rest = [array.shape for array in case.arrays]
                longer = (resized(shapes_of(case), size, 9) for size in sorted(set(first).difference(*rest)))
                found += self._taken(longer, known)
        return found

    def _taken(self, assignments: Iterable[Assignment], known: set[Assignment]) -> Iterator[Case]:
        """Yield cases of the shapes that are not known yet, not large, and that forward takes as infer promises."""
        attrs = {**self.scope.checkable.default_attrs, **self.scope.options.attrs}
        for assignment in assignments:
            if assignment not in known and elements(assignment) <= SMALL_ARRAY:
                known.add(assignment)
                case = self.natural.attempt(assignment, attrs, 9000 + len(known))
                if case is not None and self.scope.trial.attempt(case).keeps_promise():
                    yield case

    def large(self, shapes: Sequence[Case]) -> Case | None:
        """Take the most natural case and make its sizes large: kernels may work in blocks, or keep buffers."""
        attrs = {**self.scope.checkable.default_attrs, **self.scope.options.attrs}
        for carrier in one_per_rank(shapes) if not self.scope.options.shapes else ():
            sizes = sorted({size for array in carrier.arrays for size in array.shape if size > 1}, reverse=True)
            for changed in (sizes, sizes[:1]):
                quarter, half, assignment = (_enlarged(shapes_of(carrier), changed, part) for part in (4, 2, 1))
                if not LEAST_LARGE < elements(assignment) < MOST_LARGE or self._takes_long(attrs, quarter, half):
                    continue
                case = self.natural.attempt(assignment, attrs, 9900)
                if case is None:
                    continue
                outcome = self.scope.trial.attempt(case)
                if outcome.keeps_promise() and sum(np.size(item) for item in outcome.outputs) < 2 * MOST_LARGE:
                    return replace(case, regime="many elements")
        return None

    def _takes_long(self, attrs: Mapping[str, Any], quarter: Assignment, half: Assignment) -> bool:
        """Return whether forward would take longer than is worth it with sizes of which these are a half and a quarter.

        By how its time grows from one to the other; each of a few times, since others may have kept the machine busy.
        """
        if self.scope.trial.is_late:
            return True
        roles = self.scope.roles or (Role(),) * len(self.scope.args)
        smaller, larger = (self.scope.case(one, attrs, roles, seed=9900) for one in (quarter, half))
        for _ in range(FEW):
            seconds = self._seconds(smaller)
            if seconds <= SLOW_GRADIENT and self._seconds(larger) ** 2 <= SLOW_GRADIENT * seconds:
                return False
        return True

    def _seconds(self, case: Case) -> float:
        begun = perf_counter()
        self.scope.trial.probe(case)
        return perf_counter() - begun

    def emptied(self, shapes: Sequence[Case]) -> list[Case]:
        """Take a natural case of several arrays and make each of its sizes 0 in turn, and each part of a list empty."""
        full = [case for case in shapes if not case.is_empty]
        found: list[Case] = []
        if not full or self.scope.options.shapes or sum(1 for _ in full[0].arrays) < 2:
            return found
        known = {tuple(array.shape for array in case.arrays) for case in shapes}
        broadcast = [case for case in full[FEW:] if any(1 in array.shape for array in case.arrays)]
        for carrier in (*full[:FEW], *broadcast[:1]):  # a size of 1 meets a size of 0
            sizes = sorted({size for array in carrier.arrays for size in array.shape})
            changes = [{name: cut(value, size) for name, value in carrier.inputs.items()} for size in sizes]
            changes += partly_cut(carrier)
            for inputs in changes:
                case = replace(carrier, inputs=inputs)
                kind = tuple(array.shape for array in case.arrays)
                if kind in known:
                    continue
                known.add(kind)
                outcome = self.scope.trial.attempt(case)
                if outcome.is_accepted and outcome.keeps_promise():
                    found.append(case)
        return found

    def attribute(self, shapes: Sequence[Case]) -> list[Case]:
        """Other values of each attribute, and some of several at once."""
        found: list[Case] = []
        base = {**self.scope.checkable.default_attrs, **self.scope.options.attrs}
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

    def marked(self, shapes: Sequence[Case]) -> list[Case]:
        """Numbers that an attribute gives a meaning of its own, like a label to ignore, at some places and at all."""
        found: list[Case] = []
        attrs = {**self.scope.checkable.default_attrs, **self.scope.options.attrs}
        marks = sorted({value for value in attrs.values() if type(value) is int})
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
        found: list[Case] = []
        carriers = self._carriers(shapes)
        for number, carrier in enumerate(carriers):
            for index, regime in enumerate(_SWEEP):
                if self.scope.dtype == "float32" and regime == "far offset":
                    continue  # its values are a few float32 steps apart: no step fits between them
                found.extend(self._regime(carrier, regime, None, 1000 + 100 * number + index))
        floats = (
            [arg.name for arg in self.scope.args if _holds_floats(carriers[0].inputs[arg.name])] if carriers else []
        )
        if len(floats) > 1:
            for number, name in enumerate(floats[:FEW]):
                for index, regime in enumerate(
                    ("large", "saturated", "small", "negative", "positive", "zeros", "ties")
                ):
                    found.extend(self._regime(carriers[0], regime, name, 2000 + 100 * number + index))
        constants = sorted({abs(float(c)) for c in self.scope.checkable.constants if is_anchor(c)})[:MANY]
        if constants:
            for number, carrier in enumerate(carriers):
                for exact in (False, True):
                    found.extend(self._anchored(carrier, constants, exact, 3000 + 10 * number + exact))
        return found

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

    def _regime(self, carrier: Case, regime: str, only: str | None, seed: int) -> Iterable[Case]:
        roles = self.scope.roles or (Role(),) * len(self.scope.args)
        rng = self.scope.rng(seed)
        inputs = dict(carrier.inputs)
        for arg, role in zip(self.scope.args, roles):
            if only is not None and arg.name != only:
                continue
            inputs[arg.name] = self._refill(inputs[arg.name], role, regime, rng)
        label = regime if only is None else f"{regime} {only}"
        case = replace(carrier, inputs=inputs, regime=label, seed=seed)
        if self.scope.trial.attempt(case).is_accepted:
            yield case

    def _anchored(self, carrier: Case, constants: Sequence[float], exact: bool, seed: int) -> Iterable[Case]:
        roles = self.scope.roles or (Role(),) * len(self.scope.args)
        rng = self.scope.rng(seed)
        inputs = dict(carrier.inputs)
        for arg, role in zip(self.scope.args, roles):
            value = inputs[arg.name]
            if _holds_floats(value) and isinstance(value, np.ndarray) and not role.is_bound:
                inputs[arg.name] = near_constants(constants, value.shape, exact, role.domain, rng, value.dtype.name)
        label = "at constants" if exact else "near constants"
        case = replace(carrier, inputs=inputs, regime=label, seed=seed)
        if self.scope.trial.attempt(case).is_accepted:
            yield case

    def _refill(self, value: Any, role: Role, regime: str, rng: np.random.Generator) -> Any:
        if isinstance(value, list):
            return [self._refill(item, role, regime, rng) for item in value]
        if not isinstance(value, np.ndarray):
            return value
        if role.is_integer:
            is_tied = regime == "ties" and not role.is_order and value.size
            return np.full_like(value, rng.choice(value.reshape(-1))) if is_tied else value
        return self.scope.array(value.shape, role, regime, rng, value.dtype.name)


def _enlarged(shapes: Assignment, sizes: Sequence[int], part: int) -> Assignment:
    """Return shapes with sizes made as large as kernels work in blocks of, or that part of it."""
    for number, size in enumerate(sizes):
        shapes = resized(shapes, size, (LONG if len(sizes) < 3 else MIDDLE) // part + number)
    return shapes


def _with_one_changed(shapes: Assignment) -> Iterator[Assignment]:
    """Yield shapes with one size of one input changed: a size of its own may be smaller, larger, or a multiple."""
    for index in (*range(1, len(shapes)), *range(len(shapes) > 1)):
        shape: Any = shapes[index]
        if shape and not isinstance(shape[0], tuple):
            for axis, size in enumerate(shape):
                for other in (2, size + 2) if index else (2 * size, 3 * size):  # of heads in groups, tiles, parts
                    yield (*shapes[:index], (*shape[:axis], other, *shape[axis + 1 :]), *shapes[index + 1 :])


def _breaks_pairs(old: Any, new: Any, case: Case) -> bool:
    """Return whether an option that held one value for each array of a list would hold more or fewer."""
    if not (isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) != len(new)):
        return False
    return any(isinstance(value, list) and len(value) == len(old) for value in case.inputs.values())


def _holds_floats(value: Any) -> bool:
    """Return whether an input, an array or a list of arrays, holds floats."""
    if isinstance(value, list):
        return bool(value) and value[0].dtype.kind == "f"
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
