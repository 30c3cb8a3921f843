"""Near: cases like those that a run was seen with: their shapes and neighbours of these, values of the same kind.

What was seen itself is checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import narrows
from opkit.checker.model.thresholds import COARSE_ULPS, FEW, MANY, ROW_SUM
from opkit.checker.search.extents import shapes_of
from opkit.checker.search.scope import Role
from opkit.checker.search.shapes import Assignment, Shape, with_item
from opkit.checker.search.usual_shapes import UsualShapes
from opkit.checker.search.values import LIMITS
from opkit.listed import present
from opkit.record import mutable

#: Shapes of an op whose arrays were all alike.
_ALIKE: tuple[Shape, ...] = ((3, 4), (5,), (2, 3, 4), (1, 4), (4, 1), (), (0, 3), (2, 2, 4, 3), (4, 4), (1,))


@mutable
class Near(UsualShapes):
    """Finds neighbours of the cases that a checkable was seen with."""

    def cases(self) -> list[Case]:
        """Return cases of the shapes seen, then of their neighbours; none where forward takes no other values."""
        seen = self.scope.checkable.seen
        attrs = self.scope.attrs
        is_single = any(array.dtype == np.float32 for case in seen for array in case.arrays)
        known = list(dict.fromkeys(shapes_of(case) for case in seen))
        for dtype in ("float64", "float32") if is_single else ("float64",):
            self.scope.dtype = dtype
            self.scope.precision = "float32" if is_single and dtype == "float64" else ""
            for roles in self._readings(seen):
                self.scope.roles = roles
                found = [self.attempt(one, attrs, 50 + number) for number, one in enumerate(known)]
                cases = [case for case in found if case is not None]
                if cases and not (self.scope.precision and narrows(self.scope.checkable, cases[0])):
                    return cases + self._neighbours(known, attrs)
        return []

    def accepted(self, attrs: Mapping[str, Any], limit: int, seed: int, most: int = 0) -> list[Case]:
        """Return nothing: where no known shape goes with an option, the run says nothing of others."""
        return []

    def _readings(self, seen: Sequence[Case]) -> Iterator[tuple[Role, ...]]:
        """Yield what the inputs may hold: the wider reading of the values seen first."""
        kinds = [
            _roles_of([array for case in seen for array in present(case.inputs[arg.name])]) for arg in self.scope.args
        ]
        yield tuple(kind[0] for kind in kinds)
        if any(len(kind) > 1 for kind in kinds):
            yield tuple(kind[-1] for kind in kinds)

    def _neighbours(self, known: Sequence[Assignment], attrs: Mapping[str, Any]) -> list[Case]:
        found: list[Case] = []
        if any(isinstance(value, np.ndarray) for value in attrs.values()):
            return found  # which go with the sizes that were seen
        tried = set(known)
        for case in self.scope.checkable.seen:
            results = [np.shape(item) for item in self.scope.trial.probe(case).outputs]
            for assignment in _around(case, results):
                if assignment in tried or len(found) >= MANY:
                    continue
                tried.add(assignment)
                made = self.attempt(assignment, attrs, 500 + len(tried))
                if made is not None:
                    found.append(made)
        return found


def _roles_of(arrays: Sequence[np.ndarray]) -> list[Role]:
    """Return the readings of an input's values, the widest first."""
    if not arrays:
        return [Role()]
    values = np.concatenate([array.ravel() for array in arrays])
    if values.dtype.kind != "f":
        if values.dtype == bool or not values.size:
            return [Role("real", arrays[0].dtype.name, 2, 0, is_fixed=True)]
        limit, least = int(values.max()) + 1, int(values.min())
        return [Role("real", arrays[0].dtype.name, limit, least, is_fixed=True, is_order=_is_order(arrays))]
    if not values.size:
        return [Role()]
    low, high = float(values.min()), float(values.max())
    if all(_is_mirrored(array) for array in arrays):
        return [Role(structure="symmetric")]
    if set(np.unique(values)) == {0.0, 1.0} and values.size >= FEW:
        return [Role("real", arrays[0].dtype.name, 2, 0, is_fixed=True)]
    if low >= 0 and all(_is_rows(array) for array in arrays):
        return [Role("unit", structure="shares")]
    held = {name: limits for name, limits in LIMITS.items() if limits[0] < low and high <= limits[1]}
    signed = [name for name, (least, most) in held.items() if least >= 0 or most <= 0]
    return [Role("unit")] if "unit" in held and values.size >= FEW else [Role(name) for name in signed or held]


def _is_order(arrays: Sequence[np.ndarray]) -> bool:
    """Return whether every array seen holds each place along its last axis once: repeated places were not seen."""
    return all(
        array.ndim and array.shape[-1] > 1 and bool((np.sort(array, axis=-1) == np.arange(array.shape[-1])).all())
        for array in arrays
    )


def _is_mirrored(array: np.ndarray) -> bool:
    """Return whether an array holds matrices that equal their transposes, and are not told by their diagonals alone."""
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] < 2:
        return False
    turned = np.swapaxes(array, -1, -2)
    near = np.abs(array - turned) <= COARSE_ULPS * np.finfo(array.dtype).eps * np.abs(array).max(initial=0.0)
    return bool(near.all()) and bool(np.tril(array, -1).any())


def _is_rows(array: np.ndarray) -> bool:
    if array.ndim == 0 or array.shape[-1] < 2 or not array.size:
        return False
    return bool((np.abs(array.sum(axis=-1, dtype=np.float64) - 1) < ROW_SUM).all())


def _around(case: Case, results: Sequence[Shape]) -> Iterator[Assignment]:
    """Yield shapes that an op seen with a case, and giving such results, may take as well."""
    if any(isinstance(value, list) for value in case.inputs.values()):
        return
    shapes = {*case.shapes}
    if len(shapes) == 1:
        for shape in _ALIKE:
            if 0 not in shape or shapes.issuperset(results):
                yield tuple(None if one is None else shape for one in shapes_of(case))
    elif len(shapes) == len(case.inputs) == 2 and _are_broadcast(shapes, results):
        first, second = case.shapes
        for axis in range(len(second)):
            yield first, with_item(second, axis, 1)
        if second:
            yield first, second[1:]
        yield (2, *first), second
        yield first[1:], second


def _are_broadcast(shapes: Iterable[Shape], results: Sequence[Shape]) -> bool:
    """Return whether every result has the shape that inputs broadcast to."""
    with suppress(ValueError):
        return {np.broadcast_shapes(*shapes)}.issuperset(results)
    return False
