"""Which inputs may be one number for all of the others."""

from __future__ import annotations

import pytest

from opkit.checker.search.kinds import kind_between
from opkit.checker.search.numbers import are_numbers, number_groups, number_shapes

GROUPS = [
    (("x", "alpha"), [{1}]),
    (("x", "w", "b"), [{1, 2}]),
    (("x", "branch", "scale"), [{2}, {1, 2}]),
    (("x", "mu", "sigma"), [{2}, {1, 2}]),
    (("x", "y"), []),
    (("x", "b"), []),
    (("x", "A"), []),
    (("x", "bias"), []),
    (("x", "gamma", "beta"), []),
    (("x", "weight", "alpha"), []),
    (("x",), []),
]


@pytest.mark.parametrize(("names", "groups"), GROUPS)
def test_names_say_which_may_be_numbers(names: tuple[str, ...], groups: list[set[int]]) -> None:
    """Those called so, and all but the first together; none beside a bias or a gamma."""
    assert list(number_groups(names)) == groups


def test_numbers_have_no_axes_or_one_of_size_one() -> None:
    """Beside arrays of various ranks."""
    assert [shapes[0] for shapes in number_shapes(("x", "alpha"))] == [((3, 4), ()), ((3, 4), (1,))]


def test_relations_of_numbers() -> None:
    """An array of one element is a number beside one with axes, and not beside another number; a matrix of one is none."""
    assert are_numbers(kind_between(((3, 4), ())), frozenset({1}))
    assert are_numbers(kind_between(((3, 4), (1,))), frozenset({1}))
    assert not are_numbers(kind_between(((3, 1), (1, 1))), frozenset({1}))
    assert not are_numbers(kind_between(((3, 4), (4,))), frozenset({1}))
    assert not are_numbers(kind_between(((), ())), frozenset({1}))
