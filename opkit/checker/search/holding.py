"""Holding: the relations of the inputs' shapes at which backward keeps up with forward, found by trial.

Backward returns there, and each gradient has its input's shape. What lies beyond them is weighed in relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.thresholds import KIND_CASES, MOST_EXAMPLES, MOST_WIDENED, WIDE
from opkit.checker.search.chances import counted_wrong, is_cube, is_unsteady, right_ranks
from opkit.checker.search.extents import arrays_of, shapes_of, sizes_of
from opkit.checker.search.kinds import (
    Kind,
    has_ones,
    includes,
    is_alike,
    is_number,
    is_plain,
    is_same,
    kind_of,
    labels_in,
    leads,
    rank_of,
    spelled,
    unstretched,
    wider,
)
from opkit.checker.search.look import Trouble, has_slope, spreads, trouble_of
from opkit.checker.search.names import is_label_name, is_looked_up, is_order_name, is_table_name
from opkit.checker.search.numbers import are_numbers, number_groups
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.shapes import Assignment


@dataclass(slots=True)
class Holding:
    """Keeps what is known of each relation.

    Args:
        scope: of the search.

    Attributes:
        judged: {relation: whether backward keeps up with forward}.
        examples: {relation: some of its cases}.
        silent: {relation: what is wrong with the values of its gradients, where shapes fit}.
        by_chance: those of the silent relations that nobody means: a note is enough.
    """

    scope: SearchScope
    judged: dict[Kind, bool] = field(default_factory=dict)
    examples: dict[Kind, list[Case]] = field(default_factory=dict)
    silent: dict[Kind, str] = field(default_factory=dict)
    by_chance: set[Kind] = field(default_factory=set)
    _troubles: dict[int, tuple[Case, Trouble | None]] = field(default_factory=dict)
    _slopes: dict[Kind, bool] = field(default_factory=dict)
    _special: set[Kind] = field(default_factory=set)

    def fits(self, case: Case) -> bool:
        """Say whether backward gives every input of a case with elements a gradient of its shape."""
        return all(sizes_of(case)) and max(sizes_of(case), default=0) > 1 and self.trouble(case) is None

    def is_right(self, kind: Kind) -> bool:
        """Say whether the gradient agrees with a difference on the first example of a relation."""
        if kind not in self._slopes:
            self._slopes[kind] = has_slope(self.scope, self.examples[kind][0])
        return self._slopes[kind]

    def held(self) -> set[Kind]:
        """Return the relations that backward keeps up with."""
        return {kind for kind, fits in self.judged.items() if fits}

    def is_in(self, case: Case, kinds: set[Kind]) -> bool:
        """Say whether a case is of one of some relations, perhaps with sizes equal that need not be."""
        shapes = shapes_of(case)
        return kind_of(case) in kinds or any(includes(kind, shapes) for kind in kinds)

    def trouble(self, case: Case) -> Trouble | None:
        """Return what is wrong with backward's shapes, None where they fit."""
        known = self._troubles.get(id(case))
        if known is None:
            known = self._troubles[id(case)] = (case, trouble_of(self.scope.checkable, case))
        return known[1]

    def reprieve(self) -> set[Kind]:
        """Return relations of arrays of one shape that hold with right values, though forward takes wider ones.

        Where nothing else holds, equal shapes are meant, as of the two views of a contrastive loss.
        """
        found = {kind for kind in self._special if kind not in self.silent and self.is_right(kind)}
        self.judged.update(dict.fromkeys(found, True))
        return found

    def is_tied(self, case: Case, meant: set[Kind]) -> bool:
        """Say whether a case is of relations that are meant by equal sizes alone, without which backward fails too.

        Gates of four parts beside a state of the gates' own width are of none where a state has the width of one part.
        """
        roles, shapes = self.scope.roles, shapes_of(case)
        if roles is None or not is_plain(case):
            return False
        likes = [spelled(kind, shapes, WIDE) for kind in meant if includes(kind, shapes)]
        made = [self.scope.case(other, case.attrs, roles, seed=case.seed) for other in likes]
        return bool(made) and not any(self.scope.trial.probe(one).is_accepted and self.fits(one) for one in made)

    def is_stretched(self, case: Case) -> bool:
        """Say whether a further input fits by an axis of size 1 alone, which forward stretches to some fixed size.

        It is then of a relation that holds, in which that axis has a size of its own, as rows to be put somewhere.
        """
        roles, shapes = self.scope.roles, shapes_of(case)
        if roles is None or not has_ones(kind_of(case)) or self.judged.get(kind_of(case)):
            return False
        if not self.is_in(case, self.held()) or self.trouble(case) is None:
            return False
        return not any(
            self.scope.trial.probe(self.scope.case(other, case.attrs, roles, seed=case.seed)).is_accepted
            for other in (*unstretched(shapes, WIDE, is_tied=False), *unstretched(shapes, WIDE, is_tied=True))
        )

    def numbers(self) -> frozenset[int]:
        """Return the inputs that are one number for all: where they are, backward keeps up, and elsewhere it does not.

        Where it keeps up with both, values decide.
        """
        if any(role.is_integer for role in self.scope.roles or ()):  # a place is one of its own
            return frozenset()
        held = {kind for kind in self.held() if rank_of(kind)}
        for group in number_groups([arg.name for arg in self.scope.args]):
            ones = [kind for kind in held if are_numbers(kind, group)]
            others = [kind for kind in held if not any(is_number(kind, index) for index in group)]
            if ones and (not others or (any(map(self.is_right, ones)) and not any(map(self.is_right, others)))):
                return group
        return frozenset()

    # --- judging
    def judge(self, cases: Iterable[Case]) -> None:
        """Judge the relations of some cases, and of those that their equal sizes may stand for."""
        new: dict[Kind, list[Case]] = {}
        for case in cases:
            kind = kind_of(case)
            known = [shapes_of(one) for one in self.examples.get(kind, ())]
            if shapes_of(case) not in known and len(known) < MOST_EXAMPLES:
                new.setdefault(kind, []).append(case)
                self.examples.setdefault(kind, []).append(case)
        for kind in list(new):
            some = self.examples[kind]
            if not any(map(is_plain, some)) and not self._is_special(kind):
                for case in self.widened(some[0]):
                    new.setdefault(kind_of(case), []).append(case)
                    self.examples.setdefault(kind_of(case), []).append(case)
        seen = {kind_of(case) for case in self.scope.checkable.seen}
        orders = [index for index, arg in enumerate(self.scope.args) if index and is_order_name(arg.name)]
        for kind, some in new.items():
            plain = [case for case in some if is_plain(case)]
            is_held = self.judged.get(kind, False) or any(self.fits(case) for case in plain or some)
            if all(map(_has_one, some)):  # a size of 1 may be stretched, which backward does not undo
                is_held = all(self.fits(case) for case in some)
            is_own = kind in seen or any(leads(kind, index) for index in orders)
            self.judged[kind] = is_held and (is_own or not self._is_special(kind))
            if is_held and plain and is_alike(kind) and rank_of(kind):
                self._special.add(kind)
        self._forget_misplaced()
        self._forget_unsteady(new)
        self._forget_unsummed(new)
        self._forget_unnumbered()
        self._forget_misnamed()
        self._forget_flat_tables()
        self._forget_coincidences()
        self._forget_cubes()
        self._forget_miscounted()

    def widened(self, case: Case) -> list[Case]:
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
                if self.scope.allows(shapes) and self.scope.trial.probe(one).is_accepted:
                    found.append(one)
                    queue.append(shapes)
                    break
        return found

    def _is_special(self, kind: Kind) -> bool:
        """Say whether a kind is another one with sizes equal that need not be."""
        shapes = shapes_of(self.examples[kind][0])
        return any(
            other != kind
            and other not in self.by_chance
            and includes(other, shapes)
            and labels_in(other) > labels_in(kind)
            and not all(map(_has_one, some))
            for other, some in self.examples.items()
        )

    def _forget_unsummed(self, kinds: Iterable[Kind]) -> None:
        """Take broadcasts for not meant that a sum over results hides, where equal shapes alone were thought of."""
        is_equal = any(fits and is_alike(kind) and rank_of(kind) for kind, fits in self.judged.items())
        for kind in kinds:
            case = self.examples[kind][0]
            if not self.judged[kind] or is_alike(kind) or "list" in kind:
                continue
            is_doubtful = (is_equal and not spreads(self.scope, case)) or _has_one(case)
            if is_doubtful and not any(has_slope(self.scope, one) for one in self.examples[kind][:KIND_CASES]):
                self.judged[kind] = False
                self.silent[kind] = "the gradient of an input that is broadcast lacks a sum"

    def _forget_unnumbered(self) -> None:
        """Take arrays for not meant where one number for all is right, and they are wrong."""
        group = self.numbers()
        for kind in self.held() if group else ():
            if rank_of(kind) and not any(is_number(kind, index) for index in group):
                self.judged[kind] = False
                named = " and ".join(self.scope.args[index].name for index in sorted(group))
                self.silent[kind] = f"the gradient is wrong; it is right where {named} is one number"

    def _forget_misnamed(self) -> None:
        """Take arrays of one shape for not meant where a name says otherwise, and only other relations are right.

        A table has rows of its own, a label one entry for each row.
        """
        for index, arg in enumerate(self.scope.args):
            if not index or not (is_table_name(arg.name) or is_label_name(arg.name)):
                continue
            fits = _fits_table if is_table_name(arg.name) else _fits_labels
            others = [kind for kind in self.held() if not fits(kind, index)]
            if not others or not any(self.is_right(kind) for kind in self.held() if fits(kind, index)):
                continue
            for kind in others:
                if not all(has_slope(self.scope, case) for case in self.examples[kind][:KIND_CASES]):
                    self.judged[kind] = False
                    self.silent[kind] = f"the gradient is wrong; by its name, {arg.name} has another shape"

    def _forget_coincidences(self) -> None:
        """Take relations for not meant that need equal sizes in an array, or one of 1, where others alone are right.

        Forward takes a square, or a stack of them, by chance, as ``x @ w`` with ``x.T`` in backward does; a size of 1
        is stretched by chance.
        """
        held = self.held()
        needs = {kind: self._needs(kind) for kind in held}
        if not any(not needs[kind] and self.is_right(kind) for kind in held):
            return
        for kind in held:
            if needs[kind] and not self.is_right(kind):
                self.judged[kind] = False
                self.silent[kind] = f"the gradient is wrong; elsewhere {needs[kind]}"

    def _needs(self, kind: Kind) -> str:
        """Say what relations do without that a relation needs, "" where it needs nothing of the kind."""
        if not _is_free(self.examples[kind]):
            return "sizes need not be equal"
        return "no size need be 1" if all(map(_has_one, self.examples[kind])) else ""

    def _forget_unsteady(self, kinds: Iterable[Kind]) -> None:
        """Take relations for not meant at which forward leaves memory as it was, where at others it does not."""
        held = self.held()
        loose = {kind for kind in held.intersection(kinds) if is_unsteady(self.scope, self.examples[kind][0])}
        if any(kind not in self.by_chance and self.is_right(kind) for kind in (held | self._special) - loose):
            self._lay_aside(loose, "forward leaves a part of its results unset")
            self.judged.update((kind, True) for kind in self._special if not self._is_special(kind))

    def _forget_cubes(self) -> None:
        """Take stacks for not meant that forward takes as cubes alone, where matrices are right: ``x.T`` turns both."""
        held = self.held()
        if any(rank_of(kind) == 2 and self.is_right(kind) for kind in held):
            cubes = {kind for kind in {*held, *self.silent} if is_cube(kind, self.examples)}
            self._lay_aside({kind for kind in cubes if not self.is_right(kind)}, "the gradient is wrong")

    def _forget_miscounted(self) -> None:
        """Take ranks for not meant at which gradients are wrong by a number of elements alone, and matrices right.

        A loss that is a mean over rows is divided by ``x.shape[0]``: a single row has no such number, and stacks may be
        meant.
        """
        right = {kind: self.is_right(kind) for kind in self.held()}
        home = right_ranks(right)
        if not home or min(home) < 2 or all(right.values()) or not all(map(self._is_loss, right)):
            return
        for kind in [kind for kind, fits in right.items() if not fits]:
            count = counted_wrong(self.scope, self.examples[kind][0])
            if count:
                message = f"the gradient is wrong by a factor of {count}, a number of elements"
                if rank_of(kind) < min(home):
                    self._lay_aside({kind}, message)
                self.judged[kind] = False
                self.silent[kind] = message

    def _is_loss(self, kind: Kind) -> bool:
        """Say whether forward returns single numbers on a relation."""
        return all(np.ndim(item) == 0 for item in self.scope.trial.probe(self.examples[kind][0]).outputs)

    def _lay_aside(self, kinds: Iterable[Kind], message: str) -> None:
        for kind in kinds:
            self.judged[kind] = False
            self.silent[kind] = message
            self.by_chance.add(kind)

    def _forget_flat_tables(self) -> None:
        """Take a table without columns for not meant where one with columns holds."""
        names = [arg.name for arg in self.scope.args]
        for index, name in enumerate(names):
            held = self.held()
            if is_looked_up(name, names) and any(len(kind[index] or ()) > 1 for kind in held):
                self.judged.update((kind, False) for kind in held if len(kind[index] or ()) < 2)

    def _forget_misplaced(self) -> None:
        """Where an input may hold one whole number for each row (or other leading part), take no other shapes of it.

        They broadcast, which indexing takes by accident. An index of any shape (of rows to gather) is not one of them.
        """
        bound = self.scope.checkable.gradients
        held = self.held()
        for index, arg in enumerate(self.scope.args):
            leading = [kind for kind in held if leads(kind, index)]
            is_whole = bound is not None and arg.name not in bound
            is_whole |= any(holds_whole(case, arg.name) for kind in leading for case in self.examples[kind][:1])
            if is_whole and leading:
                self.judged.update((kind, False) for kind in held if not leads(kind, index))


def _fits_table(kind: Kind, index: int) -> bool:
    return not is_same(kind, index) or rank_of(kind) < 2


def _fits_labels(kind: Kind, index: int) -> bool:
    labels = kind[index]
    return isinstance(labels, tuple) and len(labels) < 2 and rank_of(kind) <= 2


def _is_free(cases: Sequence[Case]) -> bool:
    """Say whether some case has no array with two axes of one size."""
    return any(all(len(set(array.shape)) == array.ndim for array in arrays_of(case)) for case in cases)


def _has_one(case: Case) -> bool:
    """Say whether the first array has an axis of size 1, which may be broadcast."""
    return any(1 in array.shape for array in list(arrays_of(case))[:1])


def holds_whole(case: Case, name: str) -> bool:
    """Say whether an input of a case holds whole numbers."""
    value = case.inputs[name]
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu"
