"""Framework functions: the helpers of OneFlow that definitions call, rewritten for the value library.

Windows are in ``windows``.

Source: OneFlow v0.4.0, core/common/shape.cpp, core/operator/reduce_sbp_util.cpp and user/kernels/slice_util.h for what
each of them does and refuses.

Reshape: the shape that a reshape gives, and the sharding signatures that it keeps, rewritten from OneFlow.

Source: OneFlow v0.4.0, user/ops/reshape_user_op_util.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opkit.spec.runtime import windows
from opkit.spec.runtime.arithmetic import Stream, idiv
from opkit.spec.runtime.containers import axes, filled
from opkit.spec.runtime.contexts import InferContext, ParallelContext
from opkit.spec.runtime.faults import FatalError, RefusalError, check, require
from opkit.spec.runtime.hashing import HashMap
from opkit.spec.runtime.objects import Shape, shape_of
from opkit.spec.runtime.sbp import Arg, Distribution, Sbp
from opkit.spec.runtime.sbp_contexts import SbpBuilder, SbpContext

__all__ = [
    "FUNCTIONS",
]


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


# -- shapes --------------------------------------------------------------------------------------


def shift_negative_axis(axis: int, count: int) -> int:
    """Return an axis counted from the front."""
    shifted = axis + count if axis < 0 else axis
    check(0 <= shifted < count, f"axis {axis} is out of range for {count} axes")
    return shifted


def create_reduced_shape(shape: Shape, reduced: Sequence[int]) -> Shape:
    """Set the reduced axes to 1."""
    check(len(reduced) > 0, "CreateReducedShape needs at least one axis")
    dims = list(shape.dims)
    for axis in reduced:
        dims[shift_negative_axis(axis, len(dims))] = 1
    return Shape(tuple(dims))


def create_left_extended_shape(shape: Shape, count: int) -> Shape:
    """Put ones before a shape until it has that many axes."""
    check(count >= len(shape.dims), f"cannot extend {shape} to {count} axes")
    return shape_of((1,) * (count - len(shape.dims)) + shape.dims)


def ones_shape(count: int) -> Shape:
    """Return a shape of ones."""
    return Shape(tuple(axes(filled(count, 1))))


def shift_negative_axes(shape: Shape, given: Sequence[int]) -> list[int]:
    """Count axes from the front."""
    return [shift_negative_axis(axis, len(shape.dims)) for axis in given]


def remove_ones(shape: Shape, given: Sequence[int]) -> Shape:
    """Remove the given axes, each of size 1; at least one axis stays."""
    gone = shift_negative_axes(shape, given)
    for axis in gone:
        check(shape.dims[axis] == 1, f"axis {axis} of {shape} is not 1 and cannot be removed")
    return Shape(tuple(size for axis, size in enumerate(shape.dims) if axis not in gone) or (1,))


def axes_for_broadcast_to(shape: Shape, target: Shape) -> list[int]:
    """Return the axes along which a shape is broadcast to another."""
    check(len(shape.dims) == len(target.dims), f"{shape} and {target} differ in their number of axes")
    found = []
    for axis, (size, wanted) in enumerate(zip(shape.dims, target.dims, strict=True)):
        if size != wanted and size == 1:
            found.append(axis)
        else:
            check(size == wanted, f"{shape} cannot be broadcast to {target}")
    check(bool(found), f"{shape} has no axis that is broadcast to {target}")
    return found


def expand_dims_shape(shape: Shape, axis: int) -> Shape:
    """Insert an axis of size 1."""
    shifted = shift_negative_axis(axis, len(shape.dims) + 1)
    return shape_of((*shape.dims[:shifted], 1, *shape.dims[shifted:]))


# -- slices, splitting ---------------------------------------------------------------------------


def regulate_slice_start(start: int, size: int) -> int:
    """Clip and shift the start of a slice."""
    start = min(max(start, -size), size - 1)
    return start + size if start < 0 else start


def regulate_slice_stop(stop: int, size: int) -> int:
    """Clip and shift the stop of a slice."""
    stop = min(max(stop, -size - 1), size)
    return stop + size if stop < 0 else stop


class BalancedSplitter:
    """Splits a number into almost equal parts, the larger ones first."""

    __slots__ = ("base", "larger", "parts")

    def __init__(self, total: int, parts: int) -> None:
        self.base = idiv(total, parts)
        self.larger = total - self.base * parts
        self.parts = parts

    def at(self, index: int) -> tuple[int, int]:
        """Return the begin and end of a part."""
        check(index < self.parts, f"part {index} of {self.parts}")
        if index < self.larger:
            begin = (self.base + 1) * index
            return begin, begin + self.base + 1
        begin = (self.base + 1) * self.larger + self.base * (index - self.larger)
        return begin, begin + self.base


def round_up(number: int, unit: int) -> int:
    """Round up to a multiple."""
    if unit == 0:
        raise FatalError("division by zero in RoundUp")
    return (number + unit - 1) // unit * unit


def physical_shape(shape: Shape, distribution: Distribution, desc: ParallelContext, ctx: ParallelContext) -> Shape:
    """Return the part of a shape that one device holds."""
    require(0 <= ctx.id < desc.num, f"device {ctx.id} of {desc.num}")
    require(len(distribution.parts) == len(desc.hierarchy.dims), "the distribution does not fit the devices")
    made = Shape(shape.dims)
    if len(distribution.parts) == 1:
        sbp = distribution.parts[0]
        if sbp.kind == "S":
            begin, end = BalancedSplitter(made.at(sbp.axis), desc.num).at(ctx.id)
            made.set(sbp.axis, end - begin)
        return made
    for sbp, count in zip(distribution.parts, desc.hierarchy.dims, strict=True):
        if sbp.kind == "S":
            require(made.at(sbp.axis) % count == 0, f"axis {sbp.axis} of {made} is not a multiple of {count}")
            made.set(sbp.axis, made.at(sbp.axis) // count)
    return made


# -- reduction -----------------------------------------------------------------------------------


def is_reduced_axis(reduced: HashMap | Sequence[int], _count: int) -> Callable[[int], bool]:
    """Return the predicate that recognises reduced axes."""
    kept = frozenset(reduced)
    return lambda axis: axis in kept


def regular_axes(count: int, given: Sequence[int], into: HashMap) -> None:
    """Collect axes counted from the front."""
    for axis in given:
        into.insert(shift_negative_axis(axis, count))


# -- inference functions by name -----------------------------------------------------------------


def _shared(ctx: InferContext, name: str, what: str) -> Any:
    """Return the description of the first input, whose shape or dtype all inputs must have."""
    first = None
    for arg in ctx.inputs:
        desc = ctx.need(*arg)
        if first is not None:
            own, other = getattr(desc, what), getattr(first, what)
            require(own == other, f"inputs differ in their {what}s: {own} and {other}")
        first = first or desc
    if first is None and ctx.outputs:
        raise FatalError(f"{name} needs an input")
    return first


def unchanged(ctx: InferContext) -> None:
    """TensorDescInferFnUtil::Unchanged: all outputs get the shape that all inputs have."""
    first = _shared(ctx, "Unchanged", "shape")
    for arg in ctx.outputs:
        out = ctx.need(*arg)
        out.is_dynamic, out.shape.dims = first.is_dynamic, first.shape.dims


def unchanged_dtype(ctx: InferContext) -> None:
    """TensorDescInferFnUtil::UnchangedDataType: all outputs get the dtype that all inputs have."""
    first = _shared(ctx, "UnchangedDataType", "dtype")
    for arg in ctx.outputs:
        ctx.need(*arg).dtype = first.dtype


def in_out_correspond(ctx: InferContext) -> None:
    """TensorDescInferFnUtil::InOutCorrespond: each output is as the input at its place."""
    require(len(ctx.inputs) == len(ctx.outputs), "as many inputs as outputs are needed")
    for source, target in zip(ctx.inputs, ctx.outputs, strict=True):
        ctx.need(*target).assign(ctx.need(*source))


def split_for_each_axis(ctx: SbpContext) -> None:
    """GetSbpFnUtil::SplitForEachAxis."""
    require(len(ctx.inputs) >= 1, "At least one input for op GetSbpFnUtil::SplitForEachAxis")
    count = len(ctx.desc(*ctx.inputs[0]).shape.dims)
    for arg in ctx.inputs:
        check(len(ctx.desc(*arg).shape.dims) == count, "the inputs differ in their number of axes")
    for axis in range(count):
        ctx.builder().split_all(ctx.inputs, axis).split_all(ctx.outputs, axis).build()


def nothing(*_args: object) -> None:
    """DefaultBroadcastToBroadcast and NoCheck do nothing."""


# -- small ones ----------------------------------------------------------------------------------


def parse_sbp(text: str, sbp: Sbp) -> bool:
    """ParseSbpParallelFromString: "S(0)", "B" or "P"."""
    if not is_sbp_text(text):
        return False
    sbp.kind = text[0]
    sbp.axis = int(text[2:-1]) if text[0] == "S" else 0
    return True


def is_sbp_text(text: str) -> bool:
    """IsValidSbpParallelString."""
    return text in ("B", "P") or (text.startswith("S(") and text.endswith(")") and text[2:-1].isdecimal())


def is_color(space: str) -> bool:
    """ImageUtil::IsColor."""
    if space in ("RGB", "BGR", "GRAY"):
        return space != "GRAY"
    raise FatalError(f"colour space {space!r} is not one of RGB, BGR and GRAY")


def is_interpolation(kind: str, stream: Stream) -> bool:
    """CheckInterpolationValid."""
    if kind in ("bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"):
        return True
    stream.put(f", interpolation_type: {kind} (one of bilinear, nearest_neighbor or nn, bicubic, area and auto)")
    return False


_INTEGERS = frozenset({"int8", "int32", "int64"})
_POD = frozenset({"char", "float32", "float64", "int8", "uint8", "int32", "int64"})

_NAMED: tuple[Any, ...] = (
    shift_negative_axis, create_reduced_shape, create_left_extended_shape,
    ones_shape, shift_negative_axes, remove_ones, axes_for_broadcast_to,
    expand_dims_shape, regulate_slice_start, regulate_slice_stop, BalancedSplitter, round_up,
    physical_shape, is_reduced_axis, regular_axes, reshaped, squeeze, group_start_axes, reshape_signatures,
    unchanged, unchanged_dtype, in_out_correspond, split_for_each_axis, nothing, parse_sbp, is_sbp_text, is_color,
    is_interpolation,
)  # fmt: skip
#: What generated code may call, by its name there.
FUNCTIONS: dict[str, object] = {
    **{item.__name__: item for item in _NAMED},
    **{name: getattr(windows, name) for name in windows.__all__},
    "is_index_dtype": lambda dtype: dtype in ("int32", "int64"),
    "is_integral_dtype": lambda dtype: dtype in _INTEGERS,
    "is_floating_dtype": lambda dtype: dtype in ("float32", "float64"),
    "is_pod_dtype": lambda dtype: dtype in _POD,
}
