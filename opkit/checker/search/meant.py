"""Meant: whether relations of shapes that backward does not keep up with are meant all the same.

Judges what relations has set aside; what is silently wrong there is open, and not judged here.
Decision 0009 has the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.search.extents import arrays_of, sizes_of
from opkit.checker.search.kinds import Kind, has_ones, is_alike, is_plain, is_vector, kind_of, rank_of
from opkit.checker.search.look import Trouble, is_pairwise, spreads
from opkit.checker.search.names import (
    are_a_pair,
    is_broadcast_name,
    is_operand_name,
    is_parameter_name,
    may_be_parameter,
)
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.speech import Speech


class Weight(Enum):
    """What a relation that backward does not keep up with counts as."""

    MEANT = "something says that it is meant: a failure"
    OPEN = "it may be meant: undecided"
    ASIDE = "nothing says that it is meant: a note"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A case that was set aside.

    Args:
        case: forward takes it.
        code: of the check that it would fail.
        message: what backward does with it.
        weight: whether its shapes count as meant.
    """

    case: Case
    code: str
    message: str
    weight: Weight = Weight.OPEN

    @property
    def is_aside(self) -> bool:
        """Whether a note is enough."""
        return self.weight is Weight.ASIDE


def weight_of(
    scope: SearchScope,
    case: Case,
    trouble: Trouble,
    held: Collection[Kind],
    speech: Speech,
    has_slope: Callable[[Kind], bool],
    numbers: Collection[int] = (),
) -> Weight:
    """Weigh a case that forward takes and backward does not keep up with.

    Args:
        scope: of the search.
        case: the case.
        trouble: what backward does there, other than returning wrong values.
        held: the relations that backward keeps up with.
        speech: what the source says about shapes.
        has_slope: says whether the gradient is right on such a relation, by a first look.
        numbers: inputs that are one number for all wherever backward keeps up.
    """
    if not all(sizes_of(case)):
        return Weight.ASIDE
    if speech.ranks and is_plain(case):
        return Weight.MEANT
    kind = kind_of(case)
    if any(all(kind[index] != one[index] for one in held) for index in numbers):
        return Weight.OPEN if speech.broadcasts else Weight.ASIDE
    if _keeps_rows(scope, case) and is_plain(case) and not any(_has_matrix(one) for one in held):
        return Weight.OPEN
    sums = _sums_where_smaller(scope, case, held, has_slope)
    if sums is not None:
        return sums
    is_open = speech.broadcasts or _is_named_so(scope, case, held)
    is_open = is_open or (trouble.is_refused and _has_operands(scope, case, held))
    return Weight.OPEN if is_open else Weight.ASIDE


def _keeps_rows(scope: SearchScope, case: Case) -> bool:
    """Say whether some result has as many rows as the first array, a matrix: each row may be meant alone."""
    first = next((array.shape for array in arrays_of(case)), ())
    return len(first) > 1 and any(np.shape(item)[:1] == first[:1] for item in scope.trial.probe(case).outputs)


def _has_matrix(kind: Kind) -> bool:
    return any(isinstance(labels, tuple) and len(labels) > 1 for labels in kind)


def _has_operands(scope: SearchScope, case: Case, held: Collection[Kind]) -> bool:
    """Say whether inputs whose names say nothing, like x and y, differ in shape, and results are arrays.

    Of these any may be broadcast, but for those that fit where their shape is another one; a loss compares arrays of
    one shape, and so does what treats a pair alike and reduces it, like a distance.
    """
    kind, names = kind_of(case), [arg.name for arg in scope.args]
    if not is_operand_name(names[0]):
        return False
    if len(names) == 2 and are_a_pair(*names) and not spreads(scope, case) and is_pairwise(scope, case):
        return False
    places = [
        index
        for index, name in enumerate(names)
        if is_operand_name(name)
        and not is_parameter_name(name, names[0])
        and not any(one[index] != one[0] and not has_ones(one) for one in held if rank_of(one) > 1)
    ]
    axes = _axes_of_all(case)
    results = [np.ndim(item) for item in scope.trial.probe(case).outputs]
    return len({kind[index] for index in places}) > 1 and any(0 < result <= axes for result in results)


def _axes_of_all(case: Case) -> int:
    """Return how many axes all arrays broadcast together have, 0 where they do not broadcast."""
    try:
        return len(np.broadcast_shapes(*(array.shape for array in arrays_of(case))))
    except ValueError:
        return 0


def _sums_where_smaller(
    scope: SearchScope, case: Case, held: Collection[Kind], has_slope: Callable[[Kind], bool]
) -> Weight | None:
    """Weigh a broadcast of an op whose backward sums over broadcast axes elsewhere, and does not where there are none.

    That the first of two operands may be smaller is thought of last: where it is, a smaller second one is meant.
    """
    if not spreads(scope, case) or not any(is_alike(kind) and rank_of(kind) > 1 and has_slope(kind) for kind in held):
        return None
    bound = scope.checkable.bound(case.inputs, case.attrs)
    places = [
        index
        for index, arg in enumerate(scope.args)
        if (bound is None or arg.name in bound) and not _holds_integers(case.inputs[arg.name])
    ]
    own = _ranks(kind_of(case), places)
    for kind in held:
        ranks = _ranks(kind, places)
        if len(set(ranks)) > 1 and has_slope(kind):
            is_second = len(own) == len(ranks) == 2 and own[1] < own[0] and ranks[0] < ranks[1]
            return Weight.MEANT if is_second else Weight.OPEN
    return None


def _holds_integers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind != "f"


def _ranks(kind: Kind, places: Sequence[int]) -> list[int]:
    return [len(labels) for labels in (kind[index] for index in places) if isinstance(labels, tuple)]


def _is_named_so(scope: SearchScope, case: Case, held: Collection[Kind]) -> bool:
    """Say whether some input is by its name a vector that is broadcast over arrays of more axes than where it fits."""
    names = [arg.name for arg in scope.args]
    kind = kind_of(case)
    if not is_plain(case):
        return False
    if any(is_vector(kind, index) and name in scope.told.vectors for index, name in enumerate(names)):
        return True
    if not spreads(scope, case):
        return False
    for index, name in enumerate(names):
        labels = kind[index]
        if not index or not isinstance(labels, tuple) or len(labels) != 1 or rank_of(kind) < 2:
            continue
        fitting = [rank_of(one) for one in held if is_vector(one, index)]
        if is_broadcast_name(name, names[0]) and max(fitting, default=0) < rank_of(kind):
            return True
        if may_be_parameter(name, names[0]) and not fitting:
            return True
    return False
