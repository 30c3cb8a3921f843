"""What a user's function may return while a plan runs, and how it becomes arrays that the plan owns.

The plan's text checks the usual case in one line; everything else comes here.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import KernelError, ShapeError
from opkit.ir import Operation, Shape, TensorDesc
from opkit.ops.core.references import OF_ARGUMENT, OF_ATTRIBUTE, OF_ITEM
from opkit.ops.core.types import Arrays
from opkit.static.py_func import PyFuncDef, PyFuncGradDef, label_of


class ResultError(KernelError, ValueError):
    """A user's function returned a wrong number of values, or something that is not an array."""


class MismatchError(Exception):
    """A user's function returned another shape or dtype than the plan was made for.

    Args:
        position: of the op in the plan.
        results: its outputs, as they are.
    """

    def __init__(self, position: int, results: Arrays) -> None:
        super().__init__(position)
        self.position = position
        self.results = results


class PlannedCall:
    """One user's function in a plan: what it should return, and how to handle other results.

    Args:
        op: the Operation.
        position: of the op in the plan.
        expected: shapes and dtypes that the plan was made for; None where it assumes nothing.
    """

    __slots__ = ("expected", "is_gradient", "is_py_func", "op", "position")

    def __init__(self, op: Operation, position: int, expected: Sequence[TensorDesc] | None) -> None:
        self.op = op
        self.position = position
        self.expected = expected
        self.is_gradient = isinstance(op.opdef, PyFuncGradDef)
        self.is_py_func = isinstance(op.opdef, PyFuncDef)

    def call(self, arrays: Sequence[Any]) -> Any:
        """Call the function on all inputs of the op and return its result as it is."""
        opdef: Any = self.op.opdef
        if self.is_gradient:
            return opdef.function(*arrays[len(opdef.needed) :])
        if self.is_py_func:
            return opdef.function(*arrays)
        return opdef.kernel(*arrays, **self.op.attrs)

    def settle(self, result: Any, args: tuple[Any, ...]) -> Any:
        """Return the only output of an op whose result is not simply a fresh array of the expected kind."""
        if type(result) is ndarray and not self.is_gradient:
            is_alone = getrefcount(result) <= OF_ARGUMENT and _is_base_alone(result)
            return self._compared([result if is_alone else _share_or_copy(result, args)])[0]
        return self.unpack(result, args)[0]

    def unpack(self, result: Any, args: tuple[Any, ...]) -> list[Any]:
        """Return the outputs of the op as arrays that nobody else can write to.

        Raises:
            ResultError: a wrong number of values, None for an output, something that is not an array.
            ShapeError: a gradient does not have the shape of its input.
            MismatchError: the plan was made for other shapes or dtypes.
        """
        items: Sequence[Any] = (result,)
        if isinstance(result, (tuple, list)):
            # A tuple that the function keeps still leads to its arrays.
            items = result if getrefcount(result) <= OF_ARGUMENT else tuple(map(_copied, result))
        if self.is_gradient:
            return self._gradients(items, args)
        wanted = len(self.op.results)
        if not wanted:
            if any(item is not None for item in items):
                raise ResultError(
                    f"{self._title} returned {_kind(result)}, but it was added without outputs (out=None)",
                    help="return nothing, or declare an output with out=",
                )
            return []
        self._check_count(len(items), wanted, result)
        arrays = [self._array(items, i, args, f"output {i}") for i in range(wanted)]
        return self._compared(arrays)

    def _gradients(self, items: Sequence[Any], args: tuple[Any, ...]) -> list[Any]:
        opdef: Any = self.op.opdef
        self._check_count(len(items), opdef.count, items)
        found = []
        for slot, index in enumerate(opdef.needed):
            name = self.op.inputs[slot].variable.name  # type: ignore[union-attr]
            if items[index] is None:
                raise ResultError(
                    f"{self._title} returned None as the gradient of input {index} ({name!r}), which needs one",
                    help="return an array of the input's shape, or set stop_gradient=True on the variable",
                )
            array = self._array(items, index, args, f"the gradient of input {index}")
            like = args[slot]
            if array.shape != like.shape:
                raise ShapeError(
                    f"{self._title} returned a gradient of shape {array.shape} for input {index} ({name!r}), which has "
                    f"shape {like.shape}",
                    help="a gradient has the shape of its input: sum over the axes along which it was broadcast",
                )
            found.append(array if array.dtype == like.dtype else array.astype(like.dtype))
        return found

    @property
    def _title(self) -> str:
        return f"the function of {self.op.label or self.op.type!r}"

    def _check_count(self, got: int, wanted: int, result: Any) -> None:
        if got != wanted:
            what = "one gradient per input" if self.is_gradient else "one value per output"
            raise ResultError(
                f"{self._title} returned {got} value{'s' * (got != 1)}, expected {wanted} ({what})",
                help="a list or tuple counts as several values; wrap one value in numpy.array" if wanted == 1 else "",
            )

    def _array(self, items: Sequence[Any], index: int, args: tuple[Any, ...], what: str) -> ndarray:
        item = items[index]
        if type(item) is ndarray and item.dtype.kind in "biufc":
            is_alone = getrefcount(item) <= OF_ITEM and _is_base_alone(item)
            return item if is_alone else _share_or_copy(item, args)
        if item is None:
            raise ResultError(
                f"{self._title} returned None for {what}",
                help="return an array for every declared output; a function without outputs is added with out=None",
            )
        data = getattr(item, "_data", item)
        try:
            array = np.array(data)
        except (TypeError, ValueError) as error:
            raise ResultError(
                f"{self._title} returned {_kind(item)} for {what}, which is not an array: {error}"
            ) from error
        if array.dtype.kind not in "biufc":
            raise ResultError(
                f"{self._title} returned {_kind(item)} for {what}, which is not a numeric array (its dtype would be "
                f"{array.dtype})"
            )
        return array

    def _compared(self, arrays: list[Any]) -> list[Any]:
        for value, array in zip(self.op.results, arrays):
            if array.dtype.kind not in "biufc":
                raise ResultError(f"{self._title} returned an array of dtype {array.dtype}, which a tensor cannot have")
            if not self.op.is_warned and (array.dtype != value.dtype or not _fits(array.shape, value.shape)):
                self._warn(value.variable.name, value.desc, array)
        for array, desc in zip(arrays, self.expected or ()):
            if array.dtype.name != desc.dtype or not _fits(array.shape, desc.shape):
                raise MismatchError(self.position, arrays)
        return arrays

    def _warn(self, name: str, desc: TensorDesc, array: ndarray) -> None:
        self.op.is_warned = True
        where = f" (added at {self.op.where})" if self.op.where is not None else ""
        got = TensorDesc(array.shape, array.dtype.name)
        file, line, _ = self.op.site or ("<unknown>", 0, "")
        text = f"returned {got} for {name!r}, which was declared as {desc}; it is used as it is"
        if isinstance(self.op.opdef, PyFuncDef):
            self.op.opdef.misfit = f"in the run, {label_of(self.op.opdef.function)} {text}"
        warnings.warn_explicit(f"{self._title}{where} {text}", UserWarning, file, line)


def is_own(array: ndarray) -> bool:
    """Return whether an array owns its memory, or is the only reference to the array that does."""
    return array.base is None or _is_base_alone(array)


def _is_base_alone(array: ndarray) -> bool:
    base = array.base
    if base is None:
        return True
    del base
    return (
        type(array.base) is ndarray
        and array.base.base is None
        and array.base.flags.owndata
        and getrefcount(array.base) <= OF_ATTRIBUTE
    )


def _share_or_copy(array: ndarray, args: tuple[Any, ...]) -> ndarray:
    """Return an array that the user's function kept (copied) or was given (read-only, so it can be shared)."""
    base = array.base
    for arg in args:
        if type(arg) is ndarray and arg.base is None and not arg.flags.writeable and (array is arg or base is arg):
            return array
    copied: ndarray = array.copy()
    return copied


def _copied(item: Any) -> Any:
    return item.copy() if type(item) is ndarray else item


def _fits(shape: Shape, declared: Shape) -> bool:
    return len(shape) == len(declared) and all(want in (-1, size) for size, want in zip(shape, declared))


def _kind(item: Any) -> str:
    return f"{type(item).__name__} {item!r}" if isinstance(item, (int, float, str, bool)) else type(item).__name__
