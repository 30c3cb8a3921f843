"""Relations: shapes of inputs that forward takes although nothing says that they are meant.

Where neither infer nor cases tell what an op is for, numpy's broadcasting makes forward take almost anything. A
backward that raises there, or returns other shapes, cannot be silently wrong: whether such shapes are meant is its
author's to say. Shapes at which backward keeps up with forward are the op's domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from opkit.checker.model.case import Case, plain
from opkit.checker.model.thresholds import KIND_CASES
from opkit.checker.search.chances import ignores_ends
from opkit.checker.search.extents import ranks_of, shapes_of, sizes_of
from opkit.checker.search.holding import Holding, holds_whole
from opkit.checker.search.kinds import (
    Kind,
    has_ones,
    includes,
    is_alike,
    is_plain,
    is_same,
    is_vector,
    kind_of,
    rank_of,
)
from opkit.checker.search.look import Trouble, is_only_empty, spreads, stacks
from opkit.checker.search.meant import Doubt, Weight, weight_of
from opkit.checker.search.names import are_twins, is_broadcast_name, is_parameter_name, says_number
from opkit.checker.search.scope import SearchScope


@dataclass(slots=True)
class Relations:
    """Tells the relations of shapes that an op without infer function is meant for from those that it only takes.

    Args:
        scope: of the search.
        known: the relations at which backward keeps up with forward.
    """

    scope: SearchScope
    known: Holding

    def settle(self, cases: Sequence[Case]) -> tuple[list[Case], list[Doubt]]:
        """Return the cases to check, and those at whose relations backward does not keep up with forward.

        Where it never does, all are returned: that is a failure.
        """
        self.known.judge(case for case in cases if all(sizes_of(case)))
        held = self.known.held() or self.known.reprieve()
        if not held or self._lacks_parameter(held):
            return list(cases), []
        meant = held | self._broadcasts(held)
        if all(rank_of(kind) < 2 for kind in held):
            meant |= self._batches()
        example = next((case for case in cases if self.known.is_in(case, meant) and self.known.fits(case)), None)
        if example is None:
            return list(cases), []
        kept, aside = self._parted(cases, meant)
        small = [case for case in aside if self._is_size_of(case, meant)]
        if small and self.scope.is_pointwise(example):  # all sizes are meant there
            kept, aside = [*kept, *small], [case for case in aside if case not in small]
        doubts = list(self._told(aside, held, meant))
        further = [doubt.case for doubt in doubts if doubt.weight is Weight.MEANT]
        return [*kept, *further], [doubt for doubt in doubts if doubt.weight is not Weight.MEANT]

    def _told(self, aside: Sequence[Case], held: set[Kind], meant: set[Kind]) -> Iterator[Doubt]:
        """Yield what is worth a word of the cases set aside, the plainest first: a 0-d array is rarely thought of."""
        is_odd, vectors = self._odd_ones(held), self._vectors(held)
        for case in sorted(aside, key=lambda case: (not all(sizes_of(case)), not is_plain(case))):
            is_foreign = not all(sizes_of(case)) and not self.known.is_in(case, meant)
            trouble = self.known.trouble(case)
            if any(kind_of(case)[index] == () for index in vectors):  # a bias without axes is none
                continue
            if trouble is None and kind_of(case) in self.known.silent:
                trouble = Trouble("GC101", self.known.silent[kind_of(case)], is_silent=True)
            elif is_odd(case):
                continue
            if not any(ranks_of(case)) or is_foreign or self._is_rank_unseen(case) or is_only_empty(self.scope, case):
                continue
            if trouble is not None:
                yield Doubt(case, trouble.code, trouble.message, self._weight(case, trouble, held))

    def _weight(self, case: Case, trouble: Trouble, held: set[Kind]) -> Weight:
        """Weigh a case set aside; near a recording nothing is a failure, and a broadcast counts where one was seen."""
        checkable = self.scope.checkable
        told, is_equal = self.scope.told, is_alike(kind_of(case))
        if any(includes(kind, shapes_of(case)) for kind in told.kinds):
            return Weight.MEANT
        if told.is_equal and not is_equal and (told.is_same or not trouble.is_silent):
            return Weight.ASIDE
        if trouble.is_silent:
            called = [self.scope.args[index].name for index in self.known.numbers()]
            is_number = bool(called) and all(map(says_number, called))
            is_chance = kind_of(case) in self.known.by_chance
            return Weight.ASIDE if is_chance or is_number or self._are_twins(case) else Weight.OPEN
        if checkable.seen and all(is_alike(kind_of(one)) for one in checkable.seen):
            is_told = not is_equal or self._has_idle_ends(case)
            return Weight.ASIDE if is_told else Weight.OPEN
        known, numbers = self.known, self.known.numbers()
        weight = weight_of(self.scope, case, trouble, held, self.scope.speech, known.is_right, numbers)
        if checkable.seen and not numbers and (weight is Weight.MEANT or spreads(self.scope, case)):
            return Weight.ASIDE if self.known.is_stretched(case) else Weight.OPEN
        return weight

    def _has_idle_ends(self, case: Case) -> bool:
        """Say whether forward does not look at what a case has beyond the sizes that were seen."""
        seen = {shapes_of(one) for one in self.scope.checkable.seen if ranks_of(one) == ranks_of(case)}
        return any(ignores_ends(self.scope, case, one) for one in seen)

    def _are_twins(self, case: Case) -> bool:
        """Say whether inputs that have another shape than the first one are by their names of its shape."""
        kind, (first, *_) = kind_of(case), (arg.name for arg in self.scope.args)
        others = [arg.name for index, arg in enumerate(self.scope.args) if not is_same(kind, index)]
        return bool(others) and all(are_twins(first, name) for name in others)

    def _is_rank_unseen(self, case: Case) -> bool:
        """Say whether all arrays of a case near a recording are of one shape, of a rank that was not seen."""
        seen = self.scope.checkable.seen
        return bool(seen) and is_alike(kind_of(case)) and all(ranks_of(case) != ranks_of(one) for one in seen)

    def _parted(self, cases: Sequence[Case], meant: set[Kind]) -> tuple[list[Case], list[Case]]:
        """Return the cases of relations that are meant, with what fails there, and the others.

        Options for which backward never keeps up keep all their cases, too.
        """
        kept: list[Case] = []
        aside: list[Case] = []
        served: dict[object, bool] = {}
        first = _setting(cases[0])
        for case in cases:
            setting = _setting(case)
            if self._has_wrong_size(case) or self.known.is_stretched(case):
                is_kept = False
            elif not self.known.is_in(case, meant):
                if setting not in served:
                    served[setting] = self._is_served(setting, cases, meant)
                is_kept = not served[setting]
            else:
                is_kept = all(sizes_of(case)) or self.known.trouble(case) is None or self._has_empty_fault(case)
            (kept if is_kept and not self._is_accidental(case, meant, setting == first) else aside).append(case)
        return kept, aside

    def _has_empty_fault(self, case: Case) -> bool:
        """Say whether forward makes something of a case with an empty array, like a part of a concatenation.

        That backward itself raises there, as numpy does where it cannot tell a size of -1, is no fault.
        """
        trouble = self.known.trouble(case)
        return trouble is not None and not trouble.is_own and any(map(np.size, self.scope.trial.probe(case).outputs))

    def _has_wrong_size(self, case: Case) -> bool:
        """Say whether backward fails on a case of a relation that it keeps up with at other sizes, like 2 columns."""
        kind = kind_of(case)
        if not self.known.judged.get(kind) or not is_plain(case) or not all(sizes_of(case)):
            return False
        same = [one for one in self.known.examples[kind] if shapes_of(one) == shapes_of(case)]
        return any(self.known.trouble(one) is not None for one in same[:1])

    def _is_served(self, setting: object, cases: Sequence[Case], meant: set[Kind]) -> bool:
        """Say whether backward keeps up with forward on a relation that is meant, with these options."""
        own = [case for case in cases if _setting(case) == setting]
        if any(self.known.is_in(case, meant) and self.known.fits(case) for case in own):
            return True
        some = [
            replace(some[0], attrs=own[0].attrs)
            for some in self.known.examples.values()
            if self.known.is_in(some[0], meant)
        ]
        return any(self.scope.trial.probe(case).is_accepted and self.known.fits(case) for case in some)

    def is_settled(self, cases: Sequence[Case]) -> bool:
        """Say whether some relation holds, and one that the names of inputs speak of where they do."""
        self.known.judge(case for case in cases if all(sizes_of(case)))
        held = self.known.held()
        names = [arg.name for arg in self.scope.args]
        vectors = [index for index, name in enumerate(names) if index and is_parameter_name(name, names[0])]
        has_plain = any(not has_ones(kind) for kind in held)
        return has_plain and all(any(not is_same(kind, index) for kind in held) for index in vectors)

    def takes(self, case: Case | None) -> Case | None:
        """Return a case whose relation is one of those that backward keeps up with, None for another."""
        held = self.known.held()
        if case is None or not held:
            return case
        is_fixed = any(self.known.trouble(one) for one in self.known.examples.get(kind_of(case), ()))
        return case if self.known.is_in(case, held) and not (is_fixed and self.known.trouble(case)) else None

    def _is_size_of(self, case: Case, meant: set[Kind]) -> bool:
        """Say whether a case without axes or elements belongs to those meant; a bias without them is none."""
        trouble, (first, *others) = self.known.trouble(case), (arg.name for arg in self.scope.args)
        if trouble is not None and trouble.is_own and any(is_parameter_name(name, first) for name in others):
            return False
        is_empty = not all(sizes_of(case)) and self.known.is_in(case, meant) and kind_of(case) not in self.known.silent
        return is_empty or not any(ranks_of(case))

    def _is_accidental(self, case: Case, meant: set[Kind], is_first: bool) -> bool:
        """Say whether backward fails on a case of equal sizes, and on all that it may stand for.

        With other options than the first ones another relation may be meant, so that such a case says nothing.
        """
        if kind_of(case) in meant or not all(sizes_of(case)) or self.known.trouble(case) is None:
            return False
        is_other = not is_first and not is_alike(kind_of(case))
        others = self.known.widened(case)
        return is_other or (not any(map(self.known.fits, others)) if others else self.known.is_tied(case, meant))

    # --- which must hold
    def _batches(self) -> set[Kind]:
        """Return relations of matrices that forward takes row by row, where backward keeps up with one row."""
        return {
            kind
            for kind, fits in self.known.judged.items()
            if not fits
            and kind not in self.known.silent
            and rank_of(kind) == 2
            and any(stacks(self.scope, case, self.known.fits) for case in self.known.examples[kind][:KIND_CASES])
        }

    def _broadcasts(self, held: set[Kind]) -> set[Kind]:
        """Return relations that the names of inputs speak of, as long as backward keeps up with none of them."""
        found: set[Kind] = set()
        numbers = self.known.numbers()
        for index, arg in enumerate(self.scope.args):
            if not index or not is_broadcast_name(arg.name, self.scope.args[0].name) or index in numbers:
                continue
            small = {kind for kind in self.known.judged if is_vector(kind, index)}
            if not small & held:
                found |= small
        return found

    def _lacks_parameter(self, held: set[Kind]) -> bool:
        """Say whether an input that is by its name no array like the first one fits only where it is one."""
        first, *others = (arg.name for arg in self.scope.args)
        if not all(is_alike(kind) for kind in held) or not any(is_parameter_name(name, first) for name in others):
            return False
        if any(is_broadcast_name(name, first) for name in others):
            return True
        return any(spreads(self.scope, self.known.examples[kind][0]) for kind in held)  # weights of a sum may be like x

    def _vectors(self, held: set[Kind]) -> list[int]:
        """Return the inputs that are by their names parameters, and vectors in a relation that holds."""
        first = self.scope.args[0].name
        return [
            index
            for index, arg in enumerate(self.scope.args)
            if index and is_parameter_name(arg.name, first) and any(is_vector(kind, index) for kind in held)
        ]

    def _odd_ones(self, held: set[Kind]) -> Callable[[Case], bool]:
        """Return what says of a case set aside that nobody would mean it, so that it is not worth a word.

        A parameter where it is no vector, though it is one in a relation that holds; constants and
        whole numbers of a shape that is in none.
        """
        vectors = self._vectors(held)
        example = self.known.examples[next(kind for kind in self.known.examples if kind in held)][0]
        bound = self.scope.checkable.bound(example.inputs, example.attrs)
        constants = [index for index, arg in enumerate(self.scope.args) if bound is not None and arg.name not in bound]

        def is_odd(case: Case) -> bool:
            kind = kind_of(case)
            whole = [index for index, arg in enumerate(self.scope.args) if holds_whole(case, arg.name)]
            is_foreign = any(
                all((kind[0], kind[index]) != (other[0], other[index]) for other in held)
                for index in (*constants, *whole)
            )
            return is_foreign or not all(is_vector(kind, index) for index in vectors)

        return is_odd


def _setting(case: Case) -> tuple[tuple[str, str], ...]:
    """Return a case's options, in a form that can be compared."""
    return tuple((name, repr(plain(value))) for name, value in case.attrs.items())
