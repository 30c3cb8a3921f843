"""Numbers: which inputs may be one number for all of the others, like a temperature or the slope of an activation.

Names and shapes only; whether backward keeps up with such a reading is found in holding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opkit.checker.search.kinds import Kind, is_number
from opkit.checker.search.names import are_coefficients, may_be_number
from opkit.checker.search.shapes import Assignment, Shape

#: Shapes of the arrays that the numbers go with.
_WHOLE: tuple[Shape, ...] = ((3, 4), (5,), (2, 3, 4))


def number_groups(names: Sequence[str]) -> Iterator[frozenset[int]]:
    """Yield the inputs that may be numbers together: those that are called so, with their bias, and all but the first.

    Args:
        names: of all inputs.
    """
    further = range(1, len(names))
    called = {index for index in further if may_be_number(names[index])}
    called |= {index for index in further if called and names[index].lower() == "b"}
    for group in dict.fromkeys((frozenset(called), frozenset(further))):
        if group and are_coefficients(names, [names[index] for index in group]):
            yield group


def number_shapes(names: Sequence[str]) -> Iterator[list[Assignment]]:
    """Yield ways to give an op numbers, each a list of shapes for all inputs.

    Args:
        names: of all inputs.
    """
    for group in number_groups(names):
        for number in ((), (1,)):
            yield [tuple(number if index in group else whole for index in range(len(names))) for whole in _WHOLE]


def are_numbers(kind: Kind, group: frozenset[int]) -> bool:
    """Say whether all inputs of a group are numbers of one axis at most, beside a first array with axes."""
    return all(is_number(kind, index) and len(kind[index] or ()) < 2 for index in group)
