"""Shape and dtype inference that many ops share, and the wording of its errors.

Only descriptions here: no arrays, no kernels. Sizes of -1 are known only at run time and unify with any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opkit.errors import DtypeError, OpkitError, ShapeError
from opkit.ir import Shape, TensorDesc, is_floating
from opkit.ops.core.opdef import Infer, OpDef
from opkit.ops.core.types import Attrs, Descs, Ints, Values
from opkit.ops.core.value import desc_of, normal_axes


def operands(descs: Sequence[TensorDesc | None]) -> str:
    """Return the operands as messages name them."""
    return " and ".join(str(desc) for desc in descs if desc is not None) or "nothing"


def shape_error(op: str, descs: Sequence[TensorDesc | None], why: str) -> ShapeError:
    """Return the error for shapes that do not fit an op."""
    return ShapeError(f"op {op!r} got {operands(descs)}: {why}")


def dtype_error(op: str, descs: Sequence[TensorDesc | None], why: str, help: str = "") -> DtypeError:
    """Return the error for dtypes that do not fit an op."""
    return DtypeError(f"op {op!r} got {operands(descs)}: {why}", help=help)


def explain(opdef: OpDef, inputs: Values, attrs: Attrs) -> None:
    """Raise the inference's error where it refuses the inputs; called after a built-in kernel has failed.

    Raises:
        ShapeError, DtypeError, InferError: the error of inference, which names the op and the operands.
    """
    if opdef.infer is not None and not opdef.is_user:
        try:
            opdef.infer([None if value is None else desc_of(value) for value in inputs], attrs)  # type: ignore[misc]
        except OpkitError as error:
            raise error from None  # the words of what the kernel called would stand above it


def check_same_dtype(op: str, descs: Sequence[TensorDesc | None]) -> None:
    """Refuse operands of different dtypes."""
    if len({desc.dtype for desc in descs if desc is not None}) > 1:
        raise dtype_error(op, descs, "the dtypes must be the same", "cast one of them")


def check_floating(op: str, descs: Sequence[TensorDesc | None]) -> None:
    """Refuse operands that are not floating-point (complex numbers count)."""
    if not all(desc is None or is_floating(desc.dtype) or desc.dtype.startswith("complex") for desc in descs):
        raise dtype_error(op, descs, "it takes floating-point tensors", "cast to 'float32' or 'float64' first")


def numel(shape: Ints) -> int:
    """Return the number of elements, -1 where a size is unknown."""
    count = 1
    for size in shape:
        if size == -1:
            return -1
        count *= size
    return count


def is_same_size(first: int, second: int) -> bool:
    """Return whether two sizes may be equal at run time."""
    return first == second or first == -1 or second == -1


def merge_shapes(op: str, descs: Sequence[TensorDesc | None]) -> tuple[int, ...]:
    """Return the one shape that all operands must have.

    Raises:
        ShapeError: they differ.
    """
    shapes = [desc.shape for desc in descs if desc is not None]
    merged = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(merged) or not all(map(is_same_size, merged, shape)):
            raise shape_error(op, descs, "the shapes must be the same")
        merged = [known if size == -1 else size for size, known in zip(merged, shape)]
    return tuple(merged)


def broadcast_pair(first: int, second: int) -> int | None:
    """Return the size that two sizes broadcast to, None where they do not fit."""
    if first == second:
        return first
    if first == 1:
        return second
    if second == 1:
        return first
    if first == -1:
        return second
    return first if second == -1 else None


def broadcast_shape(op: str, descs: Sequence[TensorDesc | None]) -> tuple[int, ...]:
    """Return the shape that the operands broadcast to (numpy's rule).

    Raises:
        ShapeError: they do not fit; the axis is named.
    """
    shapes = [desc.shape for desc in descs if desc is not None]
    result = shapes[0]
    for shape in shapes[1:]:
        ndim = max(len(result), len(shape))
        left = (1,) * (ndim - len(result)) + result
        right = (1,) * (ndim - len(shape)) + shape
        merged = [broadcast_pair(a, b) for a, b in zip(left, right)]
        if None in merged:
            at = merged.index(None)
            raise shape_error(
                op, descs, f"the shapes do not broadcast: {left[at]} and {right[at]} differ, {ndim - at} from the right"
            )
        result = tuple(merged)  # type: ignore[arg-type]
    return result


def unchanged(descs: Descs, attrs: Attrs) -> Descs:
    """Infer that the only output has the shape and dtype of the first input."""
    return [descs[0]]


def unchanged_floats(op: str) -> Infer:
    """Return the same for an op that takes floating-point numbers only."""

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_floating(op, descs)
        return [descs[0]]

    return infer


def along(op: str) -> Infer:
    """Return the inference of an op that keeps shape and dtype and has an axis, or a list of them."""

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        normal_axes(attrs["axis"], descs[0].ndim, op)
        return [descs[0]]

    return infer


def same_shape(op: str, *, floating: bool = False) -> Infer:
    """Return the inference of an op whose operands and output have one shape and dtype."""
    return _joined(op, merge_shapes, floating=floating)


def broadcasted(op: str, *, dtype: str = "") -> Infer:
    """Return the inference of an op whose operands broadcast (one dtype; the output's too, unless ``dtype`` is set)."""
    return _joined(op, broadcast_shape, dtype=dtype)


def _joined(op: str, join: Callable[[str, Descs], Shape], *, floating: bool = False, dtype: str = "") -> Infer:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_same_dtype(op, descs)
        if floating:
            check_floating(op, descs)
        return [TensorDesc(join(op, descs), dtype or descs[0].dtype)]

    return infer


def in_dtype(descs: Descs, attrs: Attrs) -> Descs:
    """Infer the first input's shape in the dtype of the attribute ``dtype``."""
    return [TensorDesc(descs[0].shape, attrs["dtype"])]


def like(index: int, *, dtype_from: int = 0) -> Infer:
    """Return the inference of an op whose output has the shape of one input and the dtype of another."""

    def infer(descs: Descs, attrs: Attrs) -> Descs:
        return [TensorDesc(descs[index].shape, descs[dtype_from].dtype)]

    return infer
