"""Told: what an op's source tells of how its inputs go together, in words or by calls of its own file.

What it gathers is in said and witness; what becomes of other relations is weighed in relations and meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opkit.checker.model.written import text_of
from opkit.checker.search.kinds import Kind, is_alike, kind_between
from opkit.checker.search.said import says_equal, vectors_in, words_in
from opkit.checker.search.shapes import Assignment
from opkit.checker.search.witness import called_shapes


@dataclass(frozen=True, slots=True)
class Told:
    """What the source tells.

    Args:
        is_same: words give all inputs one shape.
        calls: the shapes of the file's own calls.
        vectors: inputs that words call a vector.
    """

    is_same: bool = False
    calls: tuple[Assignment, ...] = ()
    vectors: frozenset[str] = frozenset()

    @property
    def kinds(self) -> frozenset[Kind]:
        """The relations of the calls."""
        return frozenset(map(kind_between, self.calls))

    @property
    def is_equal(self) -> bool:
        """Whether inputs have one shape, as words say and all calls show."""
        return (self.is_same or bool(self.calls)) and all(map(is_alike, self.kinds))


def told_by(sources: Sequence[Any], names: Sequence[str]) -> Told:
    """Return what the source tells of several inputs.

    Args:
        sources: forward, backward, then their class and its other functions; nothing where none is known.
        names: of the inputs.
    """
    if len(names) < 2 or len(sources) < 2:
        return Told()
    layers = [item for item in sources[2:] if isinstance(item, type)]
    words = "\n".join(words_in(text_of(item)) for item in layers or sources[:2])
    calls = [shapes for layer in layers[:1] for shapes in called_shapes(layer, names)]
    return Told(says_equal(words, names), tuple(one for one in calls if _is_telling(one)), vectors_in(words, names))


def _is_telling(shapes: Sequence[Sequence[int]]) -> bool:
    """Say whether equal sizes of a call are equal on purpose: of arrays of one shape, or where no array has two."""
    return len(set(shapes)) == 1 or all(len(set(shape)) == len(shape) for shape in shapes)
