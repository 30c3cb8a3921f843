"""Relations of shapes that forward takes by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.checker import Case, Options
from opkit.checker.model.trial import Trial
from opkit.checker.search.chances import counted_wrong, ignores_ends, is_cube, is_unsteady
from opkit.checker.search.holding import Holding
from opkit.checker.search.scope import SearchScope
from tests.checker.table import op

Function = Callable[..., Any]


def scope_of(names: str, forward: Function, backward: Function) -> SearchScope:
    """Return a search of ``forward(*arrays)`` and ``backward(*arrays, dy)``."""
    made = op(names, forward, backward)
    return SearchScope(made, Options(), Trial(made))


def case(*shapes: tuple[int, ...], names: str = "a b") -> Case:
    rng = np.random.default_rng(0)
    return Case({name: rng.uniform(0.5, 2, size=shape) for name, shape in zip(names.split(), shapes)})


def rows(a: np.ndarray) -> Any:
    return (a * a).sum(-1).mean()


def per_row(a: np.ndarray, dy: np.ndarray) -> Any:
    return 2 * a * dy / a.shape[0]


def judged(scope: SearchScope, *cases: Case) -> Holding:
    holding = Holding(scope)
    holding.judge(cases)
    return holding


def test_a_gradient_is_wrong_by_a_number_of_elements() -> None:
    """A mean over stacks that is divided by the number of matrices is wrong by that of their rows, and by nothing else."""
    scope = scope_of("a", rows, per_row)
    assert counted_wrong(scope, case((2, 3, 5))) == 3
    assert counted_wrong(scope, case((7, 5))) == 0  # right
    assert counted_wrong(scope_of("a", rows, lambda a, dy: 3 * a * dy), case((2, 3, 5))) == 0  # sizes say nothing
    bent = scope_of("a", rows, lambda a, dy: per_row(a, dy) * (1 + a))
    assert counted_wrong(bent, case((2, 3, 5))) == 0


def test_other_ranks_than_matrices_are_set_aside_where_only_the_count_is_wrong() -> None:
    """A stack may be meant, so that it is open; a single row has no number of rows: a note is enough."""
    found = judged(scope_of("a", rows, per_row), case((3, 4)), case((2, 3, 5)), case((5,)))
    assert found.held() == {((0, 1),)}
    assert "factor of 3" in found.silent[((0, 1, 2),)]
    assert found.by_chance == {((0,),)}


def test_a_count_that_is_wrong_for_matrices_stays_a_fault() -> None:
    """A mean over all elements, divided by the number of rows, is right for vectors alone: matrices are meant."""
    mean = scope_of("a", lambda a: (a * a).mean(), per_row)
    found = judged(mean, case((3, 4)), case((5,)))
    assert found.held() == {((0, 1),), ((0,),)}
    assert not found.silent


def test_a_stack_of_equal_sizes_alone_is_a_cube() -> None:
    """Three equal sizes are needed where forward takes no other array of three axes."""
    cube = ((0, 0, 0),)
    assert is_cube(cube, [cube, ((0, 1),)])
    assert not is_cube(cube, [cube, ((0, 1, 1),)])
    assert not is_cube(((0, 0),), [((0, 0),)])


def test_memory_left_unset_is_seen() -> None:
    """A loop over the first input leaves the end of a longer second one as it was."""

    def filled(a: np.ndarray, b: np.ndarray) -> Any:
        out = np.empty_like(b)
        for row in range(len(a)):
            out[row] = a[row] * b[row]
        return out

    def back(a: np.ndarray, b: np.ndarray, dy: np.ndarray) -> Any:
        db = np.zeros_like(b)
        db[: len(a)] = a * dy[: len(a)]
        return (b * dy)[: len(a)], db

    scope = scope_of("a b", filled, back)
    even, longer = case((50, 40), (50, 40)), case((50, 40), (90, 40))
    assert is_unsteady(scope, longer)
    assert not is_unsteady(scope, even)
    found = judged(scope, even, longer)
    assert found.by_chance == {((0, 1), (2, 1))}
    assert "unset" in found.silent[((0, 1), (2, 1))]


def test_what_lies_beyond_the_sizes_seen_may_be_ignored() -> None:
    """Forward reads two columns: a third one says nothing of what is meant; a third row counts."""
    scope = scope_of("a", lambda a: a[:, 0] * a[:, 1], lambda a, dy: dy)
    assert ignores_ends(scope, case((3, 5)), ((3, 2),))
    assert not ignores_ends(scope, case((5, 2)), ((3, 2),))
    assert not ignores_ends(scope, case((3, 2)), ((3, 2),))
