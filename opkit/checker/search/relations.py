"""Relations: shapes of inputs that forward takes although nothing says that they are meant.

Where neither infer nor cases tell what an op is for, numpy's broadcasting makes forward take almost anything. A
backward that raises there, or returns other shapes, cannot be silently wrong: whether such shapes are meant is its
author's to say. Shapes at which backward keeps up with forward are the op's domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from opkit.checker.model.case import Case, plain
from opkit.checker.model.thresholds import KIND_CASES, MOST_EXAMPLES, MOST_WIDENED, WIDE
from opkit.checker.search.extents import arrays_of, ranks_of, shapes_of, sizes_of
from opkit.checker.search.kinds import (
    Kind,
    has_ones,
    includes,
    is_alike,
    is_plain,
    is_same,
    is_vector,
    kind_of,
    labels_in,
    leads,
    rank_of,
    wider,
)
from opkit.checker.search.look import Trouble, has_slope, is_only_empty, spreads, stacks, trouble_of
from opkit.checker.search.meant import Doubt, Weight, weight_of
from opkit.checker.search.names import is_broadcast_name, is_label_name, is_parameter_name, is_table_name
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.shapes import Assignment
from opkit.checker.search.speech import Speech, speech_of

__all__ = ["Relations"]


@dataclass(slots=True)
class Relations:
    """Tells the relations of shapes that an op without infer function is meant for from those that it only takes.

    Args:
        scope: of the search.
    """

    scope: SearchScope
    _troubles: dict[int, tuple[Case, Trouble | None]] = field(default_factory=dict)
    _judged: dict[Kind, bool] = field(default_factory=dict)
    _examples: dict[Kind, list[Case]] = field(default_factory=dict)
    _silent: dict[Kind, str] = field(default_factory=dict)
    _slopes: dict[Kind, bool] = field(default_factory=dict)
    _speech: Speech | None = None

    def fits(self, case: Case) -> bool:
        """Say whether backward gives every input of a case with elements a gradient of its shape."""
        return all(sizes_of(case)) and max(sizes_of(case), default=0) > 1 and self._trouble(case) is None

    def settle(self, cases: Sequence[Case]) -> tuple[list[Case], list[Doubt]]:
        """Return the cases to check, and those at whose relations backward does not keep up with forward.

        Where it never does, all are returned: that is a failure.
        """
        self._judge(case for case in cases if all(sizes_of(case)))
        held = self._held()
        if not held or self._lacks_parameter(held):
            return list(cases), []
        meant = held | self._broadcasts(held)
        if all(rank_of(kind) < 2 for kind in held):
            meant |= self._batches()
        example = next((case for case in cases if self._is_in(case, meant) and self.fits(case)), None)
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
        is_odd = self._odd_ones(held)
        for case in sorted(aside, key=lambda case: (not all(sizes_of(case)), not is_plain(case))):
            is_foreign = not all(sizes_of(case)) and not self._is_in(case, meant)
            trouble = self._trouble(case)
            if trouble is None and kind_of(case) in self._silent:
                trouble = Trouble("GC101", self._silent[kind_of(case)], is_silent=True)
            elif is_odd(case):
                continue
            if not any(ranks_of(case)) or is_foreign or self._is_rank_unseen(case) or is_only_empty(self.scope, case):
                continue
            if trouble is not None:
                yield Doubt(case, trouble.code, trouble.message, self._weight(case, trouble, held))

    def _weight(self, case: Case, trouble: Trouble, held: set[Kind]) -> Weight:
        """Weigh a case set aside; near a recording it stays open, but for broadcasts where none was seen."""
        checkable = self.scope.checkable
        if trouble.is_silent or any(not is_alike(kind_of(one)) for one in checkable.seen):
            return Weight.OPEN
        if checkable.seen:  # of one shape
            return Weight.OPEN if is_alike(kind_of(case)) else Weight.ASIDE
        if self._speech is None:
            self._speech = speech_of(checkable.sources)
        return weight_of(self.scope, case, trouble, held, self._speech, self._is_right)

    def _is_right(self, kind: Kind) -> bool:
        """Say whether the gradient agrees with a difference on the first example of a relation."""
        if kind not in self._slopes:
            self._slopes[kind] = has_slope(self.scope, self._examples[kind][0])
        return self._slopes[kind]

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
            if self._has_wrong_size(case):
                is_kept = False
            elif not self._is_in(case, meant):
                if setting not in served:
                    served[setting] = self._is_served(setting, cases, meant)
                is_kept = not served[setting]
            else:
                is_kept = all(sizes_of(case)) or self._trouble(case) is None or self._has_empty_fault(case)
            (kept if is_kept and not self._is_accidental(case, meant, setting == first) else aside).append(case)
        return kept, aside

    def _has_empty_fault(self, case: Case) -> bool:
        """Say whether forward makes something of a case with an empty array, like a part of a concatenation.

        That backward itself raises there, as numpy does where it cannot tell a size of -1, is no fault.
        """
        trouble = self._trouble(case)
        return trouble is not None and not trouble.is_own and any(map(np.size, self.scope.trial.probe(case).outputs))

    def _has_wrong_size(self, case: Case) -> bool:
        """Say whether backward fails on a case of a relation that it keeps up with at other sizes, like 2 columns."""
        kind = kind_of(case)
        if not self._judged.get(kind) or not is_plain(case) or not all(sizes_of(case)):
            return False
        same = [one for one in self._examples[kind] if shapes_of(one) == shapes_of(case)]
        return any(self._trouble(one) is not None for one in same[:1])

    def _is_served(self, setting: object, cases: Sequence[Case], meant: set[Kind]) -> bool:
        """Say whether backward keeps up with forward on a relation that is meant, with these options."""
        own = [case for case in cases if _setting(case) == setting]
        if any(self._is_in(case, meant) and self.fits(case) for case in own):
            return True
        some = [replace(some[0], attrs=own[0].attrs) for some in self._examples.values() if self._is_in(some[0], meant)]
        return any(self.scope.trial.probe(case).is_accepted and self.fits(case) for case in some)

    def _held(self) -> set[Kind]:
        return {kind for kind, fits in self._judged.items() if fits}

    def is_settled(self, cases: Sequence[Case]) -> bool:
        """Say whether some relation holds, and one that the names of inputs speak of where they do."""
        self._judge(case for case in cases if all(sizes_of(case)))
        held = self._held()
        names = [arg.name for arg in self.scope.args]
        vectors = [index for index, name in enumerate(names) if index and is_parameter_name(name, names[0])]
        has_plain = any(not has_ones(kind) for kind in held)
        return has_plain and all(any(not is_same(kind, index) for kind in held) for index in vectors)

    def takes(self, case: Case | None) -> Case | None:
        """Return a case whose relation is one of those that backward keeps up with, None for another."""
        held = self._held()
        if case is None or not held:
            return case
        is_fixed = any(self._trouble(one) for one in self._examples.get(kind_of(case), ()))
        return case if self._is_in(case, held) and not (is_fixed and self._trouble(case)) else None

    # --- which relations hold
    def _judge(self, cases: Iterable[Case]) -> None:
        """Judge the relations of some cases, and of those that their equal sizes may stand for."""
        new: dict[Kind, list[Case]] = {}
        for case in cases:
            kind = kind_of(case)
            known = [shapes_of(one) for one in self._examples.get(kind, ())]
            if shapes_of(case) not in known and len(known) < MOST_EXAMPLES:
                new.setdefault(kind, []).append(case)
                self._examples.setdefault(kind, []).append(case)
        for kind in list(new):
            some = self._examples[kind]
            if not any(map(is_plain, some)) and not self._is_special(kind):
                for case in self._widened(some[0]):
                    new.setdefault(kind_of(case), []).append(case)
                    self._examples.setdefault(kind_of(case), []).append(case)
        for kind, some in new.items():
            telling = [case for case in some if is_plain(case)] or some
            is_held = self._judged.get(kind, False) or any(self.fits(case) for case in telling)
            self._judged[kind] = is_held and not self._is_special(kind)
        self._forget_misplaced()
        self._forget_unsummed(new)
        self._forget_misnamed()

    def _widened(self, case: Case) -> list[Case]:
        """Return cases that forward takes though sizes differ that are equal in this one."""
        roles = self.scope.roles
        if roles is None:
            return []
        found: list[Case] = []
        tried: set[Assignment] = set()
        queue = [shapes_of(case)]
        while queue:
            base = queue.pop()
            for shapes in wider(base, WIDE + len(tried)):
                if len(tried) == MOST_WIDENED:
                    return found
                tried.add(shapes)
                one = self.scope.case(shapes, case.attrs, roles, seed=case.seed)
                if self.scope.trial.probe(one).is_accepted:
                    found.append(one)
                    queue.append(shapes)
                    break
        return found

    def _is_special(self, kind: Kind) -> bool:
        """Say whether a kind is another one with sizes equal that need not be."""
        shapes = shapes_of(self._examples[kind][0])
        return any(
            other != kind
            and includes(other, shapes)
            and labels_in(other) > labels_in(kind)
            and not all(map(_has_one, some))
            for other, some in self._examples.items()
        )

    def _is_accidental(self, case: Case, meant: set[Kind], is_first: bool) -> bool:
        """Say whether backward fails on a case of equal sizes, and on all that it may stand for.

        Where forward takes no other sizes it stands for none: it is not of the relation whose sizes differ. With other
        options than the first ones another relation may be meant, so that such a case says nothing.
        """
        if kind_of(case) in meant or not all(sizes_of(case)) or self._trouble(case) is None:
            return False
        is_other = not is_first and not is_alike(kind_of(case))
        return is_other or (self.scope.roles is not None and not any(map(self.fits, self._widened(case))))

    def _forget_unsummed(self, kinds: Iterable[Kind]) -> None:
        """Take broadcasts for not meant that a sum over results hides, where equal shapes alone were thought of."""
        is_equal = any(fits and is_alike(kind) and rank_of(kind) for kind, fits in self._judged.items())
        for kind in kinds:
            case = self._examples[kind][0]
            if not self._judged[kind] or is_alike(kind) or "list" in kind:
                continue
            is_doubtful = (is_equal and not spreads(self.scope, case)) or _has_one(case)
            if is_doubtful and not any(has_slope(self.scope, one) for one in self._examples[kind][:KIND_CASES]):
                self._judged[kind] = False
                self._silent[kind] = "the gradient of an input that is broadcast lacks a sum"

    def _forget_misnamed(self) -> None:
        """Take arrays of one shape for not meant where a name says otherwise, and only other relations are right.

        A table has rows of its own, a label one entry for each row.
        """
        for index, arg in enumerate(self.scope.args):
            if not index or not (is_table_name(arg.name) or is_label_name(arg.name)):
                continue
            fits = _fits_table if is_table_name(arg.name) else _fits_labels
            others = [kind for kind in self._held() if not fits(kind, index)]
            if not others or not any(self._is_right(kind) for kind in self._held() if fits(kind, index)):
                continue
            for kind in others:
                if not all(has_slope(self.scope, case) for case in self._examples[kind][:KIND_CASES]):
                    self._judged[kind] = False
                    self._silent[kind] = f"the gradient is wrong; by its name, {arg.name} has another shape"

    def _forget_misplaced(self) -> None:
        """Where an input may hold one whole number for each row (or other leading part), take no other shapes of it.

        They broadcast, which indexing takes by accident. An index of any shape (of rows to gather) is not one of them.
        """
        bound = self.scope.checkable.gradients
        held = self._held()
        for index, arg in enumerate(self.scope.args):
            leading = [kind for kind in held if leads(kind, index)]
            is_whole = bound is not None and arg.name not in bound
            is_whole |= any(_is_whole(case, arg.name) for kind in leading for case in self._examples[kind][:1])
            if is_whole and leading:
                self._judged.update((kind, False) for kind in held if not leads(kind, index))

    def _is_in(self, case: Case, kinds: set[Kind]) -> bool:
        shapes = shapes_of(case)
        return kind_of(case) in kinds or any(includes(kind, shapes) for kind in kinds)

    def _is_size_of(self, case: Case, meant: set[Kind]) -> bool:
        """Say whether a case without axes or elements belongs to those meant; a bias without them is none."""
        trouble, (first, *others) = self._trouble(case), (arg.name for arg in self.scope.args)
        if trouble is not None and trouble.is_own and any(is_parameter_name(name, first) for name in others):
            return False
        is_empty = not all(sizes_of(case)) and self._is_in(case, meant) and kind_of(case) not in self._silent
        return is_empty or not any(ranks_of(case))

    # --- which must hold
    def _batches(self) -> set[Kind]:
        """Return relations of matrices that forward takes row by row, where backward keeps up with one row."""
        return {
            kind
            for kind, fits in self._judged.items()
            if not fits
            and kind not in self._silent
            and rank_of(kind) == 2
            and any(stacks(self.scope, case, self.fits) for case in self._examples[kind][:KIND_CASES])
        }

    def _broadcasts(self, held: set[Kind]) -> set[Kind]:
        """Return relations that the names of inputs speak of, as long as backward keeps up with none of them."""
        found: set[Kind] = set()
        for index, arg in enumerate(self.scope.args):
            if not index or not is_broadcast_name(arg.name, self.scope.args[0].name):
                continue
            small = {kind for kind in self._judged if is_vector(kind, index)}
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
        return any(spreads(self.scope, self._examples[kind][0]) for kind in held)  # weights of a sum may be like x

    def _odd_ones(self, held: set[Kind]) -> Callable[[Case], bool]:
        """Return what says of a case set aside that nobody would mean it, so that it is not worth a word.

        A parameter where it is no vector, though it is one in a relation that holds; constants and
        whole numbers of a shape that is in none.
        """
        first = self.scope.args[0].name
        vectors = [
            index
            for index, arg in enumerate(self.scope.args)
            if index and is_parameter_name(arg.name, first) and any(is_vector(kind, index) for kind in held)
        ]
        example = self._examples[next(kind for kind in self._examples if kind in held)][0]
        bound = self.scope.checkable.bound(example.inputs, example.attrs)
        constants = [index for index, arg in enumerate(self.scope.args) if bound is not None and arg.name not in bound]

        def is_odd(case: Case) -> bool:
            kind = kind_of(case)
            whole = [index for index, arg in enumerate(self.scope.args) if _is_whole(case, arg.name)]
            is_foreign = any(
                all((kind[0], kind[index]) != (other[0], other[index]) for other in held)
                for index in (*constants, *whole)
            )
            return is_foreign or not all(is_vector(kind, index) for index in vectors)

        return is_odd

    # --- what is wrong
    def _trouble(self, case: Case) -> Trouble | None:
        """Return what is wrong with backward's shapes, None where they fit."""
        known = self._troubles.get(id(case))
        if known is None:
            known = self._troubles[id(case)] = (case, trouble_of(self.scope.checkable, case))
        return known[1]


def _fits_table(kind: Kind, index: int) -> bool:
    return not is_same(kind, index) or rank_of(kind) < 2


def _fits_labels(kind: Kind, index: int) -> bool:
    labels = kind[index]
    return isinstance(labels, tuple) and len(labels) < 2 and rank_of(kind) <= 2


def _has_one(case: Case) -> bool:
    """Say whether the first array has an axis of size 1, which may be broadcast."""
    return any(1 in array.shape for array in list(arrays_of(case))[:1])


def _is_whole(case: Case, name: str) -> bool:
    value = case.inputs[name]
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu"


def _setting(case: Case) -> tuple[tuple[str, str], ...]:
    """Return a case's options, in a form that can be compared."""
    return tuple((name, repr(plain(value))) for name, value in case.attrs.items())
