"""Pipeline: the steps of a search for cases, which asks an op's infer function and its forward what they take.

Shapes first, then attributes, then regimes of values; everything follows from the seed.

Near: cases like those that a run was seen with: their shapes and neighbours of these, values of the same kind.

What was seen itself is checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from typing import Any

import numpy as np

from opkit.checker.model.budget import Spent
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import narrows
from opkit.checker.model.numbers import is_square, resolution_of
from opkit.checker.model.options import Options
from opkit.checker.model.raised import is_write
from opkit.checker.model.report import CheckResult
from opkit.checker.model.thresholds import (
    COARSE_ULPS,
    FEW,
    FIRST_SECONDS,
    LEAST_EFFORT,
    MANY,
    MOST_SHAPES,
    PATIENCE,
    ROW_SUM,
    SEED,
    SLOW_FIRST,
)
from opkit.checker.model.trial import Trial
from opkit.checker.search import marks, sweeps
from opkit.checker.search.attributes import alternatives
from opkit.checker.search.kinds import is_plain, shapes_of
from opkit.checker.search.scope import Role, SearchScope
from opkit.checker.search.shapes import Assignment, Shape, with_item
from opkit.checker.search.table import Table, signs
from opkit.checker.search.unserved import Unserved
from opkit.checker.search.usual_shapes import UsualShapes
from opkit.checker.search.values import LIMITS
from opkit.errors import KernelError
from opkit.listed import present
from opkit.record import mutable

#: Shapes of an op whose arrays were all alike.
_ALIKE: tuple[Shape, ...] = ((3, 4), (5,), (2, 3, 4), (1, 4), (4, 1), (), (0, 3), (2, 2, 4, 3), (4, 4), (1,))


@mutable
class Near(UsualShapes):
    """Finds neighbours of the cases that a checkable was seen with."""

    def cases(self) -> list[Case]:
        """Return cases of the shapes seen, then of their neighbours; none where forward takes no other values."""
        seen = self.checkable.seen
        is_single = any(array.dtype == np.float32 for case in seen for array in case.arrays)
        known = dict.fromkeys(shapes_of(case) for case in seen)
        for dtype in ("float64", "float32")[: 1 + is_single]:
            self.dtype, self.precision = dtype, "float32" if is_single and dtype == "float64" else ""
            for roles in self._readings():
                self.roles = roles
                found = self._taken(known, 50)
                if found and not (self.precision and narrows(self.checkable, found[0])):
                    return found + self._neighbours(known)
        return []

    def accepted(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int = 0) -> list[Case]:
        """Return nothing: where no known shape goes with an option, the run says nothing of others."""
        return []

    def _taken(self, shapes: Iterable[Assignment], seed: int) -> list[Case]:
        made = (self.attempt(one, self.attrs, seed + number) for number, one in enumerate(shapes))
        return [case for case in made if case is not None]

    def _readings(self) -> Iterator[tuple[Role, ...]]:
        """Yield what the inputs may hold: the wider reading of the values seen first."""
        kinds = [
            _roles_of([array for case in self.checkable.seen for array in present(case.inputs[arg.name])])
            for arg in self.args
        ]
        yield tuple(kind[0] for kind in kinds)
        if any(len(kind) > 1 for kind in kinds):
            yield tuple(kind[-1] for kind in kinds)

    def _neighbours(self, known: Iterable[Assignment]) -> list[Case]:
        found: list[Case] = []
        if any(isinstance(value, np.ndarray) for value in self.attrs.values()):
            return found  # which go with the sizes that were seen
        tried = set(known)
        for case in self.checkable.seen:
            results = [np.shape(item) for item in self.trial.probe(case).outputs]
            for assignment in _around(case, results):
                if assignment not in tried and len(found) < MANY:
                    tried.add(assignment)
                    found += present(self.attempt(assignment, self.attrs, 500 + len(tried)))
        return found


def _roles_of(arrays: Sequence[np.ndarray]) -> list[Role]:
    """Return the readings of an input's values, the widest first."""
    values = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
    if values.dtype.kind != "f":
        if values.dtype == bool or not values.size:
            return [Role("real", arrays[0].dtype.name, 2, is_fixed=True)]
        limit, is_order = int(values.max()) + 1, all(map(_is_order, arrays))
        return [Role("real", arrays[0].dtype.name, limit, int(values.min()), is_fixed=True, is_order=is_order)]
    if not values.size:
        return [Role()]
    low, high, is_some = float(values.min()), float(values.max()), values.size >= FEW
    if all(map(_is_mirrored, arrays)):
        return [Role(structure="symmetric")]
    if is_some and set(np.unique(values)) == {0.0, 1.0}:
        return [Role("real", arrays[0].dtype.name, 2, is_fixed=True)]
    if low >= 0 and all(map(_is_rows, arrays)):
        return [Role("unit", structure="shares")]
    held = {name: limits for name, limits in LIMITS.items() if limits[0] < low and high <= limits[1]}
    signed = [name for name, (least, most) in held.items() if least >= 0 or most <= 0]
    return [Role("unit")] if "unit" in held and is_some else [Role(name) for name in signed or held]


def _is_order(array: np.ndarray) -> bool:
    """Return whether an array holds each place along its last axis once: repeated places were not seen."""
    count = array.shape[-1] if array.ndim else 0
    return count > 1 and bool((np.sort(array, axis=-1) == np.arange(count)).all())


def _is_mirrored(array: np.ndarray) -> bool:
    """Return whether an array holds matrices that equal their transposes, and are not told by their diagonals alone."""
    if not is_square(array) or array.shape[-1] < 2:
        return False
    slack = COARSE_ULPS * resolution_of(array) * np.abs(array).max(initial=0.0)
    near = np.abs(array - np.swapaxes(array, -1, -2)) <= slack
    return bool(near.all()) and bool(np.tril(array, -1).any())


def _is_rows(array: np.ndarray) -> bool:
    """Return whether all rows of several numbers sum to 1."""
    is_long = array.ndim > 0 and array.shape[-1] > 1 and array.size > 0
    return is_long and bool((np.abs(array.sum(axis=-1, dtype=np.float64) - 1) < ROW_SUM).all())


def _around(case: Case, results: Sequence[Shape]) -> Iterator[Assignment]:
    """Yield shapes that an op seen with a case, and giving such results, may take as well."""
    if any(isinstance(value, list) for value in case.inputs.values()):
        return
    shapes = {*case.shapes}
    if len(shapes) == 1:
        for shape in _ALIKE:
            if 0 not in shape or shapes.issuperset(results):
                yield tuple(None if one is None else shape for one in shapes_of(case))
    elif len(shapes) == len(case.inputs) == 2 and _are_broadcast(shapes, results):
        first, second = case.shapes
        yield from ((first, with_item(second, axis, 1)) for axis in range(len(second)))
        if second:
            yield first, second[1:]
        yield from (((2, *first), second), (first[1:], second))


def _left_out(search: SearchScope, shapes: Sequence[Case]) -> list[Case]:
    """Return cases without each array that may be left out and that all usual cases have: this default is declared."""
    found: list[Case] = []
    for name in (arg.name for arg in search.checkable.inputs if arg.is_optional):
        if not any(case.inputs[name] is None and is_plain(shapes_of(case)) for case in shapes):
            usual = sorted(shapes, key=lambda case: not is_plain(shapes_of(case)))
            others = (replace(case, inputs={**case.inputs, name: None}) for case in usual)
            found += islice((case for case in others if search.trial.attempt(case).is_accepted), FEW)
    return found


def _with_other_options(search: SearchScope, cases: Sequence[Case]) -> Iterator[Case]:
    """Yield a case with another value, which changes what forward gives, of each option that has one value in all.

    However little time is left: what is right at the defaults of its options alone is wrong soon.
    """
    probe = search.trial.probe
    for case in cases[:1]:
        usual = probe(case)
        for attr in search.checkable.attrs:
            if attr.name in search.options.attrs or len({repr(one.attrs.get(attr.name)) for one in cases}) > 1:
                continue
            values = alternatives(attr, search.checkable.constants)[:FEW]
            others = (replace(case, attrs={**case.attrs, attr.name: value}) for value in values)
            asked = ((one, probe(one)) for one in others)
            told = (one for one, outcome in asked if outcome.is_accepted and not outcome.gives_the_same(usual))
            yield from islice(told, 1)


def _are_broadcast(shapes: Iterable[Shape], results: Sequence[Shape]) -> bool:
    """Return whether every result has the shape that inputs broadcast to."""
    with suppress(ValueError):
        return {np.broadcast_shapes(*shapes)}.issuperset(results)
    return False


@mutable
class Collected:
    """Cases of one op, and what went wrong in finding them.

    Args:
        cases: accepted by forward; of those that were searched the most natural first.
        findings: results to report at once (forward raises, the cases file is wrong).
        notes: for the report.
        dtype: what most is checked in.
        claims_float64: whether float64 is promised (by the spec or by a float64 case), or merely possible.
        domain: which numbers all inputs hold, where search found it out and they hold the same.
        large: one case with many elements.
        table: what backward answers on each kind, None where that is declared.
        unlike: options of another sign than their defaults' for which backward is wrong.
    """

    cases: list[Case] = field(default_factory=list)
    findings: list[CheckResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dtype: str = "float64"
    claims_float64: bool = True
    domain: str | None = None
    large: Case | None = None
    table: Table | None = None
    unlike: Sequence[Unserved] = ()


def first_cases(
    checkable: Checkable, options: Options, most: int, seconds: float = FIRST_SECONDS, trials: int = MOST_SHAPES
) -> list[Case]:
    """Return some cases of usual shapes that forward takes, none where it takes none of them: a short search.

    A forward that breaks a rule of its own (``KernelError``), or writes to its inputs, has taken them. Nothing is tried
    after these seconds (see ``Spent``), nor after FIRST_SECONDS; where calls take long and something was taken, nor
    after SLOW_FIRST.
    """
    end = min(seconds, FIRST_SECONDS)
    trial = Trial(checkable, min(end, SLOW_FIRST), end, most=trials, give_up=end, clock=Spent())
    attrs = {**checkable.default_attrs, **options.attrs}
    found = UsualShapes(checkable, options, trial, checkable.starts_in).accepted(attrs, most, 0, PATIENCE)
    broken = [case for case, error in trial.errors if isinstance(error, KernelError) or is_write(error)]
    return [*found, *broken][:most]


def answered_cases(checkable: Checkable, options: Options, taken: Case, seconds: float) -> list[Case]:
    """Return cases that backward answers, found from one that forward takes and backward does not."""
    end = min(seconds, FIRST_SECONDS)
    natural = UsualShapes(checkable, options, Trial(checkable, end, end, clock=Spent()), checkable.starts_in)
    known = natural.attempt(shapes_of(taken), taken.attrs, 0)
    return natural.answered([taken]) if known is not None and checkable.has_gradient else []


def search(checkable: Checkable, options: Options, trial: Trial) -> Collected:
    """Search cases for an op: in proportion to the effort.

    With more effort the search is repeated with other values; with less, fewer shapes are searched, and with less than
    LEAST_EFFORT a share of the cases is kept, of all kinds.

    Args:
        checkable: the op.
        options: seed, effort, and what the user fixed.
        trial: counts what is tried.
    """
    found = _round(checkable, options, trial)
    if options.effort < LEAST_EFFORT:
        every = len(found.cases)
        count = min(max(FEW, round(options.effort / LEAST_EFFORT * every)), every)
        kept = [found.cases[place * every // count] for place in range(count)]  # they are sorted by kind
        found.notes.append(f"effort {options.effort:g}: {count} of {every} cases were kept")
        found.cases, found.large = kept, None
        return found
    for number in range(1, round(options.effort) if found.cases else 1):
        again = _round(checkable, replace(options, seed=options.seed + SEED * number), trial)
        found.cases.extend(again.cases)
    return found


def _round(checkable: Checkable, options: Options, trial: Trial) -> Collected:
    natural = (Near if checkable.seen else UsualShapes)(checkable, options, trial, checkable.starts_in)
    table = Table(natural)
    with trial.half():  # values and attributes are as much of the domain as shapes
        shapes = natural.cases()
    if not shapes:
        return Collected(dtype=natural.dtype)
    is_open = natural.is_open(shapes[0])
    if is_open:
        if checkable.infer is None and not table.has_slopes(shapes):
            answered = natural.answered(shapes)
            if answered:
                table = Table(natural)  # these shapes were asked with other values
            known = {shapes_of(case) for case in answered}
            shapes = answered + [case for case in shapes if shapes_of(case) not in known]
        shapes = table.served(shapes)
    shapes += _left_out(natural, shapes)
    # An array among the options goes with the sizes that were seen.
    is_held = bool(options.shapes) or any(isinstance(attr.default, np.ndarray) for attr in checkable.attrs)
    shapes += [] if is_held else sweeps.grown(natural, shapes)
    large = None if is_held else sweeps.enlarged(natural, shapes)
    cases = [*shapes, *(() if natural.is_near else sweeps.emptied(natural, shapes))]
    for sweep in (sweeps.settings, sweeps.regimes, marks.marked, marks.masks):
        cases += sweep(natural, shapes)
    cases += [] if natural.is_near else sweeps.wider(natural, shapes)
    if is_open:
        cases = table.served(cases)
        large = None if large is None or table.leaves_out(large) else large
    cases += _with_other_options(natural, cases) if trial.is_late else ()
    found = Collected(cases, dtype=natural.dtype, domain=natural.domain, large=large)
    found.table = table if is_open else None
    found.unlike = [*signs(natural, shapes)]
    return found
