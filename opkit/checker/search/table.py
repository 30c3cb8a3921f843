"""Table: what backward answers on each kind of inputs that forward takes, where nothing declares which are meant.

A kind is answered where backward gives gradients of its inputs' shapes; what backward answers in silence, it answers
for. Looks and keeps; statuses are made in verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import reduce
from itertools import chain, islice
from time import perf_counter
from typing import TypeAlias

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import frozen, is_float
from opkit.checker.model.thresholds import FEW, MANY, MOST_LARGE, OWN_SIZE, SLOW_FIRST
from opkit.checker.search.answers import Answer, Seen, Standing, answer_of, has_labels
from opkit.checker.search.attributes import unlike
from opkit.checker.search.kinds import (
    Kind,
    Setting,
    elements,
    every_shape,
    generalised,
    includes,
    is_list,
    is_plain,
    is_special,
    kind_between,
    kind_of,
    resized,
    setting_of,
    shapes_of,
)
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.shapes import Assignment
from opkit.checker.search.unserved import Unserved
from opkit.record import mutable

#: A kind of shapes with a setting of the options.
Key: TypeAlias = "tuple[Kind, Setting]"


@mutable
class Table:
    """Keeps what backward answers: of each kind of shapes and setting of the options whether it is right.

    Args:
        scope: of the search.
        unserved: the kinds that are left out.
    """

    scope: SearchScope
    unserved: dict[Key, Unserved] = field(default_factory=dict)
    _asked: dict[tuple[Assignment, Setting], Answer] = field(default_factory=dict)
    _compared: dict[Key, Answer] = field(default_factory=dict)
    _seen: dict[Key, Seen] = field(default_factory=dict)
    _widened: set[tuple[Assignment, Setting]] = field(default_factory=set)
    _slowest: float = 0.0

    def answer(self, case: Case) -> Answer:
        """Return how backward stands on a case: where it answers, as on the first such case of its kind."""
        setting = setting_of(case)
        place, key = (shapes_of(case), setting), (kind_of(case), setting)
        if place not in self._asked:
            trial = self.scope.trial
            compares = key not in self._compared and not trial.is_late
            told = self._telling(case) if compares else case
            self._asked[place] = answer_of(self.scope.checkable, told, compares, trial.is_slow)
            self._note(key, self._asked[place], case)
        asked = self._asked[place]
        return self._compared[key] if asked.standing.is_answered else asked

    def _telling(self, case: Case) -> Case:
        """Return a case, or one of its shapes whose whole numbers repeat, not all alike: by chance, few places meet."""
        if not any(array.size > 1 and array.dtype.kind in "iu" for array in case.arrays):
            return case
        roles = [
            replace(role, limit=min(role.limit, role.least + 2))
            if role.is_integer and not (role.is_order or role.structure)
            else role
            for role in self.scope.held
        ]
        shapes = shapes_of(case)
        draws = (self.scope.case(shapes, case.attrs, roles, seed=case.seed + number) for number in range(FEW))
        return next((one for one in draws if not _is_tied(one) and self.scope.trial.probe(one).is_accepted), case)

    def _note(self, key: Key, answer: Answer, case: Case) -> None:
        """Keep an answer for its kind."""
        if answer.standing.is_answered:
            answer = self._compared.setdefault(key, answer)
        self._seen.setdefault(key, Seen(case)).add(answer)

    def _look_wider(self, shapes: Assignment, case: Case, setting: Setting) -> None:
        """Look at kinds with fewer coincidences than shapes have, with the case's options: they alone excuse these.

        No more of them once one took long.
        """
        roles, place = self.scope.roles, (shapes, setting)
        if roles is None or place in self._widened:
            return
        self._widened.add(place)
        size = max([OWN_SIZE, *(one + 1 for one in chain(*every_shape(shapes)))])
        for wider in islice(generalised(shapes, size), MANY):
            if elements(wider) > MOST_LARGE or self._slowest > SLOW_FIRST:
                continue
            one, begun = self.scope.case(wider, case.attrs, roles, seed=case.seed), perf_counter()
            if (kind_between(wider), setting) not in self._seen and self.scope.trial.probe(one).is_accepted:
                self.answer(one)
            self._slowest = max(self._slowest, perf_counter() - begun)

    def served(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases to check; the kinds that are left out are kept in ``unserved``.

        Where backward answers nothing all are to be checked: that is a failure, and the checks say what was raised.
        """
        asked: list[Case] = []
        for case in cases:
            if asked and self.scope.trial.is_late and (shapes_of(case), setting_of(case)) not in self._asked:
                continue  # no time is left to ask
            self.answer(case)
            asked.append(case)
        asked += self._coinciding(asked)
        kept: list[Case] = []
        for case in asked:
            if self.leaves_out(case):
                self._leave(case, self.answer(case))
            elif not self._is_one_of_labels(case):
                kept.append(case)
        if self.unserved and not self.has_answers(kept):
            self.unserved.clear()
            return list(cases)
        return kept

    def _coinciding(self, cases: Sequence[Case]) -> list[Case]:
        """Return a case of equal sizes for each setting of options that is a misfit, where others are right.

        An axis that is taken for another one raises, but where their sizes agree.
        """
        found: dict[str, Case] = {}
        for case in cases:
            options, shapes = setting_of(case)[0], shapes_of(case)
            is_open = options in found or self.answer(case).standing.is_answered
            if is_open or (other := next(self._right_otherwise(case), None)) is None:
                continue
            even = reduce(lambda made, size: resized(made, size, case.lengths[-1]), case.lengths, shapes)
            one = self.scope.case(even, case.attrs, self.scope.held, seed=case.seed)
            right = replace(one, attrs=other.case.attrs)
            if even != shapes and all(self.scope.trial.probe(item).is_accepted for item in (right, one)):
                self.answer(right)
                found[options] = one
        return list(found.values())

    def leaves_out(self, case: Case) -> bool:
        """Return whether a case is not to be checked: backward does not answer it, or is wrong and excused."""
        standing = self.answer(case).standing
        return not standing.is_answered or (standing in (Standing.WRONG, Standing.BEYOND) and self.is_excused(case))

    def _leave(self, case: Case, answer: Answer) -> None:
        """Leave out a case's kind."""
        key = kind_of(case), setting_of(case)
        if key not in self.unserved:
            is_special = answer.standing is Standing.WRONG and not self._has_other_ranks(case) and self.is_open(case)
            said = "".join(islice(self._right_below(answer), 1))
            self.unserved[key] = Unserved(replace(answer, said=answer.said + said), is_special)

    def _right_below(self, answer: Answer) -> Iterator[str]:
        """Yield the size of an axis below which the numbers of an input lie where backward is right, for a sentence."""
        case, scope = answer.case, self.scope
        for name, array in case.inputs.items() if answer.standing is Standing.WRONG else ():
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
                continue
            for size in reversed([size for size in case.lengths if 0 < size <= array.max(initial=0)]):
                one = replace(case, inputs={**case.inputs, name: frozen(array % size)})
                if scope.trial.is_late or not scope.trial.probe(one).is_accepted:
                    continue
                if answer_of(scope.checkable, one, is_slow=scope.trial.is_slow).standing is Standing.RIGHT:
                    yield f"; right where {name} lies in [0, {size})"

    def has_answers(self, cases: Iterable[Case]) -> bool:
        """Return whether backward answers a case, and not for its sizes of 0 and 1 alone."""
        return any(
            not case.is_empty and self.answer(case).standing.is_answered and not self._is_one_of_misfits(case)
            for case in cases
        )

    def has_slopes(self, cases: Sequence[Case]) -> bool:
        """Return whether it answers with a gradient other than 0, or with such alone and nothing is a misfit."""
        standings = {self.answer(case).standing for case in cases}
        is_flat = standings <= {Standing.OPEN, Standing.RAISED, Standing.MISFIT} and len(standings) > 1
        return self.has_answers(cases) and not is_flat

    def _is_one_of_misfits(self, case: Case) -> bool:
        """Return whether backward answers a case for its sizes of 1 alone: without them there is a misfit."""
        if max(case.sizes, default=0) < 2:
            return True
        if 1 not in case.lengths:
            return False
        general = self._general(shapes_of(case), setting_of(case))
        return bool(general) and all(not one.is_answered for seen in general for one in seen.standings)

    def _general(self, shapes: Assignment, setting: Setting) -> list[Seen]:
        """Return what was seen of the kinds beside which shapes are special."""
        return [seen for (kind, of), seen in self._seen.items() if of == setting and is_special(shapes, kind)]

    def _is_right(self, seen: Seen, name: str = "") -> bool:
        """Return whether backward is right on a kind whatever is drawn: a permutation may be its own inverse.

        Of an input with a name that is so only where its slope is not nothing on all of them.
        """
        if Standing.RIGHT in seen.standings and not seen.is_sure and not self.scope.trial.is_late:
            seen.is_sure, case = True, seen.case
            for number in range(FEW):
                one = self.scope.case(seen.shapes, case.attrs, self.scope.held, seed=case.seed + 1 + number)
                if self.scope.trial.probe(one).is_accepted:
                    seen.add(answer_of(self.scope.checkable, one, True, self.scope.trial.is_slow))
        return seen.is_right and name not in seen.flat

    def is_excused(self, case: Case) -> bool:
        """Return whether a case is special beside kinds on which backward is not wrong, and it is right on some.

        That it is right on a special kind of the case's own, or of another that is wrong, or without one of the case's
        arrays, excuses nothing (rule 3), nor does a misfit where backward is right on the same shapes with other
        options. Excused too is a case with labels, where backward is right on other ranks, or where there are as many
        labels as what forward reads.
        """
        if self._has_other_ranks(case) or self._has_too_few(case) or self._has_single_labels(case):
            return True
        kind, setting, name = kind_of(case), setting_of(case), self.answer(case).wrong
        self._look_wider(shapes_of(case), case, setting)
        wrong = [kind, *(one for (one, _), seen in self._seen.items() if Standing.WRONG in seen.standings)]
        given = _given(shapes_of(case))
        right = [
            seen for seen in self._seen.values() if Standing.RIGHT in seen.standings and _given(seen.shapes) == given
        ]
        is_right = any(
            not any(is_special(seen.shapes, one) for one in wrong) and self._is_right(seen, name) for seen in right
        )
        is_misfit = not self.is_open(case)
        return is_right and self._is_coincidence(case, setting) and not (is_misfit and any(self._right_otherwise(case)))

    def _right_otherwise(self, case: Case) -> Iterator[Seen]:
        """Yield what was seen of a case's kind with other options alone, where backward is right."""
        kind, (options, arrays), name = kind_of(case), setting_of(case), self.answer(case).wrong
        for (one, of), seen in list(self._seen.items()):
            if one == kind and of[0] != options and of[1] == arrays and self._is_right(seen, name):
                yield seen

    def _has_other_ranks(self, case: Case) -> bool:
        """Return whether a case has whole numbers, and backward is right on arrays of other ranks, of whatever sizes.

        Forward that picks by labels takes them, and what it picks from, of any rank: which are meant, nothing says.
        """
        if not has_labels(case):
            return False
        ranks, setting, name = _ranks(shapes_of(case)), setting_of(case), self.answer(case).wrong
        for (_, of), seen in list(self._seen.items()):
            if of == setting and is_plain(seen.shapes) and _ranks(seen.shapes) != ranks and self._is_right(seen, name):
                self._look_wider(seen.shapes, case, setting)
                if not any(Standing.WRONG in one.standings for one in self._general(seen.shapes, setting)):
                    return True
        return False

    def _has_too_few(self, case: Case) -> bool:
        """Return whether backward is wrong only for what labels do not reach, and right where there are enough."""
        kind, setting, answer = kind_of(case), setting_of(case), self.answer(case)
        whole = case.inputs.get(answer.wrong) if answer.standing is Standing.BEYOND else None
        if not isinstance(whole, np.ndarray):
            return False
        shapes = [one.shape if is_float(one) else whole.shape[: one.ndim] for one in case.arrays]
        full = self.scope.case(tuple(shapes), case.attrs, self.scope.held, seed=case.seed)
        if len(shapes) == len(case.inputs) and self.scope.trial.probe(full).is_accepted:
            self.answer(full)
        return any(
            of == setting and is_plain(seen.shapes) and self._is_right(seen, answer.wrong)
            for (one, of), seen in list(self._seen.items())
            if one == kind_of(full) or is_special(seen.shapes, kind)
        )

    def _has_single_labels(self, case: Case) -> bool:
        """Return whether labels are repeated along an axis of size 1, and backward is right where there are enough."""
        shapes, setting, inputs = shapes_of(case), setting_of(case), enumerate(case.inputs.values())
        labels = {place for place, value in inputs if isinstance(value, np.ndarray) and value.dtype.kind in "iu"}
        name = self.answer(case).wrong
        return any(
            of == setting and is_plain(seen.shapes) and includes(kind, shapes, labels) and self._is_right(seen, name)
            for (kind, of), seen in list(self._seen.items())
            if not includes(kind, shapes)
        )

    def _is_one_of_labels(self, case: Case) -> bool:
        """Return whether a case is special beside a kind that is wrong, and excused for its labels."""
        general = self._general(shapes_of(case), setting_of(case)) if self._has_other_ranks(case) else ()
        return any(Standing.WRONG in seen.standings for seen in general)

    def excuses(self, case: Case) -> bool:
        """Return whether a case found wrong is excused, by its shapes and not by its values, and keep it then."""
        seen = self._seen.get((kind_of(case), setting_of(case)))
        if (seen is not None and self._is_right(seen)) or not self.is_excused(case):
            return False
        self._leave(case, Answer(case, Standing.WRONG, "backward gives wrong gradients"))
        return True

    def _is_coincidence(self, case: Case, setting: Setting) -> bool:
        """Return whether a case is special beside others, of which all that are wrong are special themselves.

        What is special beside a special kind is special beside all that this one is, once these were looked at.
        """
        known = -1
        while known != len(self._seen) and (known < 0 or not has_labels(case)):
            # What is wider than the wrong ones may be wrong, too; labels have rules of their own.
            known, general = len(self._seen), self._general(shapes_of(case), setting)
            wrong = [seen.shapes for seen in general if Standing.WRONG in seen.standings]
            for shapes in wrong:
                self._look_wider(shapes, case, setting)
        if has_labels(case):  # that backward refuses other labels beside the same floats makes no coincidence of these
            general = [seen for seen in general if seen.is_answered or _floats(seen.case) != _floats(case)]
        return bool(general) and all(self._general(shapes, setting) for shapes in wrong)

    def is_open(self, case: Case) -> bool:
        """Return whether backward is right on a kind beside which a case is special: else it belongs to a misfit."""
        name = self.answer(case).wrong
        return any(self._is_right(seen, name) for seen in self._general(shapes_of(case), setting_of(case)))


def signs(search: SearchScope, shapes: Sequence[Case]) -> Iterator[Unserved]:
    """Yield each option of another sign than its default's, or 0, that forward takes and backward gets wrong."""
    trial, attrs = search.trial, search.attrs

    def asked(case: Case) -> Answer:
        return answer_of(search.checkable, case, is_slow=trial.is_slow)

    for attr in search.checkable.attrs if search.checkable.has_gradient else ():
        for value in unlike(attr) if attr.name not in search.options.attrs else ():
            cases = (replace(case, attrs={**attrs, attr.name: value}) for case in shapes[:FEW])
            taken = (case for case in cases if not trial.is_late and trial.probe(case).is_accepted)
            for case in islice(taken, 1):
                answer, usual = asked(case), replace(case, attrs=attrs)
                if answer.standing is Standing.WRONG and asked(usual).standing is Standing.RIGHT:
                    yield Unserved(answer, others=f"where {attr.name} is {attrs[attr.name]!r}")


def _is_tied(case: Case) -> bool:
    """Return whether an array of whole numbers holds one number alone."""
    return any(array.size > 1 and array.dtype.kind in "iu" and not np.ptp(array) for array in case.arrays)


def _floats(case: Case) -> Kind:
    """Return how the shapes of a case's floats relate."""
    return kind_between(tuple(array.shape for array in case.floats))


def _given(shapes: Assignment) -> list[bool]:
    """Return of each input whether it is given."""
    return [shape is not None for shape in shapes]


def _ranks(shapes: Assignment) -> list[int | None]:
    """Return how many axes each input has, None for a list and for one left out."""
    return [None if shape is None or is_list(shape) else len(shape) for shape in shapes]
