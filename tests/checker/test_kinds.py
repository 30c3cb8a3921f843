"""How the shapes of inputs relate, whatever their sizes are."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.checker import Case
from opkit.checker.search.kinds import Kind, includes, is_alike, is_plain, kind_of, spelled, wider

Shape = tuple[int, ...]


def case(*shapes: Shape) -> Case:
    """Return a case of these shapes."""
    return Case({f"x{number}": np.ones(shape) for number, shape in enumerate(shapes)})


def kind(*shapes: Shape) -> Kind:
    """Return its kind."""
    return kind_of(case(*shapes))


def test_a_relation_is_the_same_whatever_the_sizes() -> None:
    """A bias of the last axis, one of the first, a broadcast axis and an array of its own are four kinds."""
    assert kind((3, 4), (4,)) == kind((2, 5), (5,)) == kind((1, 6), (6,))
    others = [kind((3, 4), (4,)), kind((3, 4), (3,)), kind((3, 4), (1,)), kind((3, 4), (7,)), kind((3, 4), (3, 4))]
    assert len(set(others)) == 5


def test_size_1_is_a_size_like_others_where_all_shapes_are_one() -> None:
    """(4, 1) with (4, 1) is no broadcast."""
    assert kind((4, 1), (4, 1)) == kind((3, 4), (3, 4))
    assert is_alike(kind((4, 1), (4, 1)))
    assert not is_alike(kind((4, 1), (1,)))


@pytest.mark.parametrize(
    ("shapes", "is_one"),
    [
        (((4, 4), (4, 5)), True),
        (((3, 1), (1, 2)), True),
        (((3, 4), (3, 5)), False),
        (((3, 4, 5), (5, 2)), False),
        (((3, 4), (4,)), False),
    ],
)
def test_equal_sizes_may_stand_for_others(shapes: tuple[Shape, ...], is_one: bool) -> None:
    """A product of square matrices is a product of matrices."""
    assert includes(kind((3, 4), (4, 5)), shapes) is is_one


def test_sizes_are_told_apart_one_axis_at_a_time() -> None:
    """Of (4, 4) with (4,) each axis changes, alone and with the vector."""
    assert set(wider(((4, 4), (4,)), 11)) >= {((11, 4), (4,)), ((4, 11), (4,)), ((4, 11), (11,)), ((11, 4), (11,))}
    assert not list(wider(((3, 4), (4,)), 11))


def test_a_plain_case_has_sizes_that_differ() -> None:
    """Neither squares nor sizes of 1 say which axes belong together."""
    assert is_plain(case((3, 4), (1,)))
    assert not is_plain(case((4, 4), (4,)))
    assert not is_plain(case((1, 4), (4,)))


def test_shapes_of_a_kind_are_spelled_with_sizes_that_differ() -> None:
    """Sizes that are equal by chance, or 1, become others; what the kind says is equal stays so."""
    product: Kind = ((0, 1), (1, 2))
    assert spelled(product, ((3, 4), (4, 4)), 11) == ((3, 4), (4, 14))
    assert spelled(product, ((3, 4), (4, 1)), 11) == ((3, 4), (4, 14))
    assert spelled(((0, 1), (0, -1)), ((3, 4), (3, 1)), 11) == ((3, 4), (3, 1))
