"""Reshape: the shape that a reshape gives, and the sharding signatures that it keeps, rewritten from OneFlow.

Source: OneFlow v0.4.0, user/ops/reshape_user_op_util.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opkit.spec.runtime.faults import FatalError, RefusalError, check, require
from opkit.spec.runtime.hashing import HashMap
from opkit.spec.runtime.objects import Shape
from opkit.spec.runtime.sbp import Arg
from opkit.spec.runtime.sbp_contexts import SbpBuilder


def reshaped(source: Shape, target: Shape) -> Shape:
    """Return the shape that a reshape with at most one -1 gives."""
    known, unknown = 1, False
    for axis, size in enumerate(target.dims):
        if size == -1:
            require(not unknown, "only one `-1' supported")
            unknown = True
        elif size > 0:
            require(size <= source.elements(), f"invalid axis: {axis}, dim: {size}")
            known *= size
            require(known <= source.elements(), "element number in reshape_conf is bigger than input blob")
        else:
            raise RefusalError("only positive number or -1 supported")
    require(source.elements() % known == 0, f"{source} cannot become {target}")
    dims = list(target.dims)
    if unknown:
        # OneFlow keeps the axis of the -1 in a bool, so that it is axis 1 unless it was axis 0
        dims[int(bool(dims.index(-1)))] = source.elements() // known
        return Shape(tuple(dims))
    require(source.elements() == known, "input blob's element number not equals reshape_conf")
    return Shape(tuple(dims))


def squeeze(origin: Shape, shape: Shape, squeezed: HashMap) -> None:
    """Remove axes of size 1 and note where the others came from."""
    require(len(origin.dims) > 0, "a shape without axes cannot be squeezed")
    kept: list[int] = []
    for axis, size in enumerate(origin.dims):
        require(size > 0, f"axis {axis} of {origin} is not positive")
        if size != 1:
            require(squeezed.insert(len(kept), axis), "an axis is squeezed twice")
            kept.append(size)
    shape.dims = tuple(kept)


def group_start_axes(source: Shape, target: Shape, parallel_num: int, found: HashMap) -> None:
    """Pair the axes at which groups of axes with equal element counts start."""
    require(len(source.dims) != 0 and len(target.dims) != 0, "a shape without axes cannot be grouped")
    check(source.elements() == target.elements(), f"{source} and {target} differ in their element counts")
    a, b = len(source.dims) - 1, len(target.dims) - 1
    while a >= 0 and b >= 0:
        left, right = source.count(a), target.count(b)
        if left < right:
            a -= 1
        elif left > right:
            b -= 1
        else:
            if parallel_num == 0:
                raise FatalError("division by zero: the number of devices is 0")
            if source.dims[a] == target.dims[b] or (left % parallel_num == 0 and right % parallel_num == 0):
                found.put(a, b)
            a -= 1
            b -= 1
    require(-1 <= a <= 0 and -1 <= b <= 0 and not (a == 0 and b == 0), f"{source} and {target} cannot be grouped")


def reshape_signatures(
    source: Shape,
    target: Shape,
    in_args: Sequence[Arg],
    out_args: Sequence[Arg],
    parallel_num: int,
    builder: SbpBuilder,
) -> None:
    """Build the signatures of a reshape: one for each pair of group starts, and the partial sum."""
    groups, in_axes, out_axes = HashMap(), HashMap(), HashMap()
    small, large = Shape(), Shape()
    steps: tuple[Callable[[], None], ...] = (
        lambda: squeeze(source, small, in_axes),
        lambda: squeeze(target, large, out_axes),
        lambda: group_start_axes(small, large, parallel_num, groups),
    )
    for step in steps:
        # OneFlow drops what these three return
        try:
            step()
        except RefusalError:
            continue
    for a, b in groups.items():
        builder.split_all(in_args, in_axes.at(a)).split_all(out_args, out_axes.at(b)).build()
    builder.partial_all(in_args).partial_all(out_args).build()
