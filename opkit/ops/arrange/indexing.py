"""Indexing and slicing as numpy does them: ``x[index]`` and the copy of x with ``x[index] = value``.

The index is normalised once into a template whose Tensor indices are inputs of the op. Ops that select by one
index tensor along an axis (gather and similar ops) have a module of their own.
"""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError, UnsupportedError, UsageError
from opkit.ir import Shape, TensorDesc
from opkit.ops.basis.broadcasting import sum_to
from opkit.ops.basis.creation import as_value, cast_like, constant
from opkit.ops.core.define import define
from opkit.ops.core.inference import like, unchanged
from opkit.ops.core.meeting import dialect_of
from opkit.ops.core.mode import local, perform
from opkit.ops.core.types import Attrs, Descs, Ints, Values
from opkit.ops.core.value import Value, dtype_of, is_value, shape_of

_MAX_TENSORS = 4
_SLOTS = " ".join(f"?index_{i}" for i in range(_MAX_TENSORS))


class IndexRangeError(ShapeError, IndexError):
    """An index is out of range."""


class _Place:
    """The placeholder of the i-th index tensor in an index template."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    def __repr__(self) -> str:
        return f"index_{self.position}"


def _filled(template: tuple[Any, ...], tensors: Values) -> tuple[Any, ...]:
    return tuple([tensors[item.position] if type(item) is _Place else item for item in template])


# ---- reading ---------------------------------------------------------------------------------------------------------
def _read(x: ndarray, index: tuple[Any, ...], shape: Ints = ()) -> Any:
    try:
        return x[index]
    except IndexError as error:
        raise IndexRangeError(f"indexing a tensor of shape {list(shape or x.shape)}: {error}") from None


def _view(x: ndarray, index: tuple[Any, ...]) -> Any:
    # With "..." a single element is a view as well, and not a copied scalar.
    return _read(x, index if any(item is Ellipsis for item in index) else (*index, Ellipsis))


def _read_advanced(x: ndarray, *tensors: Any, index: tuple[Any, ...]) -> Any:
    return _read(x, _filled(index, tensors))


#: Sizes that are tried in place of unknown ones: what differs between them is unknown in the result.
_LARGE = (2**20, 2**20 + 7)
_SMALL = (0, 1, 2, 3, 5)


def _infer_read(descs: Descs, attrs: Attrs) -> Descs:
    x = descs[0]
    tensors = []
    for desc in descs[1:]:
        if desc is not None and desc.dtype == "bool":
            raise UnsupportedError(
                "indexing with a boolean tensor: the size of the result is unknown in a static program",
                help="multiply with the mask, or use where",
            )
        tensors.append(None if desc is None else np.zeros([max(size, 1) for size in desc.shape], np.int64))
    index = _filled(attrs["index"], tensors)
    shapes = [_shape_read(x.shape, index, unknown) for unknown in _LARGE]
    if -1 in x.shape:
        shapes += [shape for unknown in _SMALL if (shape := _shape_tried(x.shape, index, unknown)) is not None]
    return [TensorDesc(tuple(a if len({a, *others}) == 1 else -1 for a, *others in zip(*shapes)), x.dtype)]


def _shape_tried(shape: Ints, index: tuple[Any, ...], unknown: int) -> Shape | None:
    """Return the result's shape if the unknown sizes are these; None where the index does not fit them."""
    try:
        return _shape_read(shape, index, unknown)
    except (IndexRangeError, ShapeError):
        return None


def _shape_read(shape: Ints, index: tuple[Any, ...], unknown: int) -> Shape:
    """Return the result's shape, with -1 for an unknown size; no memory is allocated."""
    sizes = [unknown if size == -1 else size for size in shape]
    dummy = np.broadcast_to(np.zeros((), np.bool_), sizes)
    result: Any = _read(dummy, index, shape)
    return tuple(np.shape(result))


def _read_grad(applied: Any, douts: Values) -> Values:
    tensors = applied.inputs[1:]
    attrs = {"index": applied.attrs["index"]}
    inputs = (douts[0], applied.inputs[0], *tensors, *[None] * (_MAX_TENSORS - len(tensors)))
    return (perform(GETITEM_GRAD, *inputs, **attrs), *[None] * len(tensors))


# ---- its gradient: scattered into zeros ------------------------------------------------------------------------------
def _scatter(dy: ndarray, like: Any, *tensors: Any, index: tuple[Any, ...]) -> ndarray:
    out = np.zeros(like.shape, dy.dtype)
    where = _filled(index, tensors)
    if any(isinstance(item, ndarray) and item.dtype != bool for item in where):
        np.add.at(out, where, dy)
    else:
        out[where] = dy
    return out


def _scatter_grad(applied: Any, douts: Values) -> Values:
    tensors = applied.inputs[2:]
    return (_get(douts[0], applied.attrs["index"], tensors), None, *[None] * len(tensors))


# ---- writing ---------------------------------------------------------------------------------------------------------
def _write(x: ndarray, value: ndarray, *tensors: Any, index: tuple[Any, ...]) -> ndarray:
    out: ndarray = x.copy()
    where = _filled(index, tensors)
    try:
        out[where] = value
    except IndexError as error:
        raise IndexRangeError(f"assigning to an index of a tensor of shape {list(x.shape)}: {error}") from None
    except ValueError as error:
        raise ShapeError(
            f"assigning to an index of a tensor of shape {list(x.shape)}: the value has shape {list(value.shape)} and "
            f"must broadcast to {list(np.shape(out[where]))}"
        ) from error
    return out


def _write_grad(applied: Any, douts: Values) -> Values:
    _, value, *tensors = applied.inputs
    template = applied.attrs["index"]
    dout = douts[0]
    needs = applied.needs
    dx = dvalue = None
    if needs[0]:
        dx = _set(dout, as_value(0.0, like=dout), template, tensors)
    if needs[1]:
        dvalue = cast_like(sum_to(_get(dout, template, tensors), value), value)
    return (dx, dvalue, *[None] * len(tensors))


# fmt: off
GETITEM = define("getitem", "in", "out", _view, infer=_infer_read, attrs="index:object", grad=_read_grad, view=True)
GETITEM_ADVANCED = define("getitem_advanced", f"in {_SLOTS}", "out", _read_advanced, infer=_infer_read, attrs="index:object", grad=_read_grad, reads=_SLOTS.replace("?", ""))  # noqa: E501
GETITEM_GRAD = define("getitem_grad", f"dy =like {_SLOTS}", "dx", _scatter, infer=like(1), attrs="index:object", grad=_scatter_grad, reads=_SLOTS.replace("?", ""))  # noqa: E501
SETITEM = define("setitem", f"in value {_SLOTS}", "out", _write, infer=unchanged, attrs="index:object", grad=_write_grad, reads=_SLOTS.replace("?", ""))  # noqa: E501
# fmt: on


def _get(x: Value, template: tuple[Any, ...], tensors: Values) -> Value:
    if not any(tensor is not None for tensor in tensors) and _is_basic(template):
        return local.mode.apply(GETITEM, (x,), {"index": template})
    inputs = (x, *tensors, *[None] * (_MAX_TENSORS - len(tensors)))
    return local.mode.apply(GETITEM_ADVANCED, inputs, {"index": template})


def _set(x: Value, value: Value, template: tuple[Any, ...], tensors: Values) -> Value:
    inputs = (x, value, *tensors, *[None] * (_MAX_TENSORS - len(tensors)))
    return local.mode.apply(SETITEM, inputs, {"index": template})


def getitem(x: Value, index: Any) -> Value:
    """Return ``x[index]``.

    Args:
        x: any shape and dtype.
        index: what numpy takes (integers, slices, ``...``, None, lists, arrays), and Tensors among it. A result
            without an index list or tensor shares memory with x.

    Raises:
        UsageError: something in the index is of another type.
        IndexRangeError: an index is out of range.
    """
    template, tensors = _normalise(index, shape_of(x))
    return _get(x, template, tensors)


def setitem(x: Value, index: Any, value: Any) -> Value:
    """Return a copy of x in which ``x[index]`` is the value.

    Args:
        x: any shape and dtype.
        index: as for ``getitem``.
        value: a value, array or number; it broadcasts, and is cast to x's dtype.
    """
    template, tensors = _normalise(index, shape_of(x))
    if not is_value(value) and not isinstance(value, (bool, int, float, complex, ndarray, np.generic)):
        raise UsageError(
            f"assigning to an index takes a Tensor, an array or a number, got {type(value).__name__}",
            help=dialect_of(x).words.make_tensor,
        )
    return _set(x, cast_like(_assigned(value, x), x), template, tensors)


def _assigned(value: Any, x: Value) -> Value:
    """Return the assigned object as a value; a Python number gets a dtype that casts to x's in the usual way."""
    if type(value) in (bool, int, float):
        return constant(value, (), None if type(value) is float and dtype_of(x).kind not in "fc" else dtype_of(x))
    return as_value(value)


# ---- normalising -----------------------------------------------------------------------------------------------------
def _is_basic(template: tuple[Any, ...]) -> bool:
    return not any(isinstance(item, (ndarray, bool)) or type(item) is _Place for item in template)


def _normalise(index: Any, shape: Ints) -> tuple[tuple[Any, ...], list[Any]]:
    """Return the index as a tuple of plain items, its Tensors taken out."""
    kind = type(index)
    if kind is int or (kind is slice and _is_plain(index)):
        return (index,), []
    tensors: list[Any] = []
    items = index if isinstance(index, tuple) else (index,)
    template = tuple([_item(item, tensors, place) for place, item in enumerate(items)])
    if len(tensors) > _MAX_TENSORS:
        raise UnsupportedError(f"an index has at most {_MAX_TENSORS} tensors, got {len(tensors)}")
    return template, tensors


def _is_plain(item: slice) -> bool:
    return all(bound is None or type(bound) is int for bound in (item.start, item.stop, item.step))


def _item(item: Any, tensors: list[Any], place: int) -> Any:
    if item is None or item is Ellipsis or isinstance(item, (bool, int, np.integer)):
        return item
    if isinstance(item, slice):
        if _is_plain(item):
            return item
        return slice(*[None if bound is None else as_int(bound) for bound in (item.start, item.stop, item.step)])
    if is_value(item):
        if item._data.dtype.kind not in "biu":
            raise UsageError(f"an index tensor must hold integers or booleans, item {place} is {item._data.dtype}")
        tensors.append(item)
        return _Place(len(tensors) - 1)
    if isinstance(item, (list, tuple, range, ndarray, np.bool_)):
        array = np.asarray([as_int(i) if is_value(i) else i for i in item] if isinstance(item, (list, tuple)) else item)
        if array.size == 0 and not isinstance(item, ndarray):
            array = array.astype(np.int64)
        if array.dtype.kind in "biu":
            return array
    raise UsageError(
        f"a tensor is indexed by integers, slices, booleans, ..., None, lists and tensors of those; item {place} of "
        f"the index is {type(item).__name__} {item!r}"
    )
