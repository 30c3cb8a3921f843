"""Slices as OneFlow v0.4 writes them: a triple (start, stop, step) per leading axis, None where left out."""

from __future__ import annotations

from collections.abc import Sequence

from opkit.errors import ShapeError, UsageError
from opkit.ops.core.types import Ints

#: What v0.4 writes for "up to the end" and, of a reversed axis, "up to the beginning".
_END, _BEGINNING = 2**63 - 1, -(2**63)


def slice_attrs(
    asked_by: str, triples: Sequence[Sequence[int | None]], shape: Ints
) -> tuple[list[int], list[int], list[int]]:
    """Return start, stop and step of every axis.

    Raises:
        UsageError: there are more triples than axes, one is no triple of ints, or a step is 0.
        ShapeError: a start is outside ``[-size, size)``, or a stop outside ``[-size - 1, size]``.

    Source: OneFlow v0.4.0, python/ops/array_ops.py, check_slice_tup_list.
    """
    if not isinstance(triples, (tuple, list)) or len(triples) > len(shape):
        raise UsageError(
            f"{asked_by} takes a triple (start, stop, step) for at most {len(shape)} axes, got {triples!r}"
        )
    starts, stops, steps = [0] * len(shape), [_END] * len(shape), [1] * len(shape)
    for axis, (triple, size) in enumerate(zip(triples, shape)):
        is_triple = isinstance(triple, (tuple, list)) and len(triple) == 3
        if not is_triple or not all(item is None or isinstance(item, int) for item in triple):
            raise UsageError(f"{asked_by}: expected a triple (start, stop, step) of ints and None, got {triple!r}")
        start, stop, step = triple[0], triple[1], 1 if triple[2] is None else triple[2]
        if step == 0:
            raise UsageError(f"{asked_by}: the step of axis {axis} is 0")
        if size >= 0 and start is not None and not -size <= start < size:
            raise ShapeError(f"{asked_by}: start {start} is outside axis {axis} of {size} elements")
        if size >= 0 and stop is not None and not -size - 1 <= stop <= size:
            raise ShapeError(f"{asked_by}: stop {stop} is outside axis {axis} of {size} elements")
        steps[axis] = step
        starts[axis] = start if start is not None else 0 if step > 0 else _END
        stops[axis] = stop if stop is not None else _END if step > 0 else _BEGINNING
    return starts, stops, steps
