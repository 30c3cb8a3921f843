"""Shapes that a graph computes: lists with Variables among their sizes, as ``paddle.shape`` gives them.

Shapes whose sizes are all known are read by ``opkit.paddle.tensor.checks``.
"""

from __future__ import annotations

from typing import Any

from opkit.errors import DtypeError
from opkit.ir import Variable
from opkit.ops.core.mode import local
from opkit.paddle.semantics import builders as ops


def sizes_of_run(x: Any, shape: Any, keeps: int = 0) -> tuple[Any, tuple[int, ...]] | None:
    """Return the sizes of a shape as one vector, and what is known of them; None where all of them are known.

    Args:
        x: the tensor whose size a place keeps; None where there is none.
        shape: a list of ints and Variables, or a Variable that is a vector.
        keeps: the number that stands for the size of x at its place: 0 for reshape, -1 (from the end) for expand.

    Raises:
        DtypeError: a size is not an integer.
    """
    if not local.mode.is_static:
        return None
    if isinstance(shape, Variable) and len(shape.shape) == 1 and shape.shape[0] != -1:
        return ops.cast(shape, "int64"), _known_of(shape)
    if not isinstance(shape, (list, tuple)) or not any(isinstance(item, Variable) for item in shape):
        return None
    pieces, known = [], []
    more = 0 if x is None or keeps == 0 else len(shape) - len(x.shape)
    for place, item in enumerate(shape):
        size = item
        if x is not None and isinstance(item, int) and item == keeps and 0 <= place - more < len(x.shape):
            size = x.shape[place - more]
            if size == -1:
                size = ops.slice(ops.size_vector(x), [0], [place - more], [place - more + 1])
        pieces.append(_piece(size))
        known.append(-1 if isinstance(size, Variable) else int(size))
    return ops.concat(pieces, 0), tuple(known)


def _piece(size: Any) -> Any:
    if isinstance(size, Variable):
        if not size.desc.dtype.startswith("int"):
            raise DtypeError(f"a size is an integer, Variable {size.name!r} is {size.desc.dtype}")
        return ops.reshape(ops.cast(size, "int64"), [1])
    if not hasattr(size, "__index__"):
        raise DtypeError(f"a size is an int or a Variable, got {size!r}")
    return ops.literal([size.__index__()])


def _known_of(vector: Variable) -> tuple[int, ...]:
    """Return what is known of a vector of sizes: those of the value that ``paddle.shape`` was asked about."""
    made = vector.op
    if made is not None and made.type == "shape_of" and made.inputs[0] is not None:
        return tuple(made.inputs[0].shape)
    return (-1,) * int(vector.shape[0])


def filled_in_run(shape: Any, number: float, dtype: str) -> Any:
    """Return a tensor of a shape that the graph computes, filled with one number; None where the shape is known."""
    computed = sizes_of_run(None, shape)
    return None if computed is None else ops.fill_by(computed[0], number, dtype, computed[1])


def range_in_run(start: Any, end: Any, step: Any, dtype: str) -> Any:
    """Return the integers from ``start`` below ``end``, some of these Variables of a graph; None where none is."""
    items = (start, end, step)
    if not local.mode.is_static or not any(isinstance(item, Variable) for item in items):
        return None
    first, limit, far = (ops.reshape(_piece(item), []) for item in items)
    return ops.range_by(first, limit, far, dtype)
