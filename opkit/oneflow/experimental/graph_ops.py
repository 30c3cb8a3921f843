"""Ops of jobs that v0.4 tries out: squares, distinct values, slices of variables.

Names and argument order only; the ops are in ``opkit.ops``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError, unknown
from opkit.ir import canonical_dtype
from opkit.oneflow.scalar_types import int32
from opkit.oneflow.semantics.dtypes import slice_attrs
from opkit.oneflow.session import StoredArray, session
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.types import Ints, Name
from opkit.ops.core.value import shape_of


def unique_with_counts(x: Any, out_idx: Any = int32, name: Name = None) -> tuple[Any, ...]:
    """Return a vector's distinct values in the order of their first places, padded to its length with zeros.

    Returns:
        the values, each element's place among them, how often each occurs (padded too), how many there are.
    """
    found: tuple[Any, ...] = call("unique_with_counts", x, out_idx=canonical_dtype(out_idx))
    return found


def logical_slice(x: Any, slice_tup_list: Sequence[Sequence[int | None]], name: Name = None) -> Any:
    """Return a slice of a blob; triples (start, stop, step) with steps above 0."""
    value = as_value(x)
    start, stop, step = _forwards("flow.experimental.logical_slice", slice_tup_list, shape_of(value))
    return call("logical_slice", value, start=start, stop=stop, step=step)


def get_interface_blob_value(op_name: str) -> ndarray:
    """Return a variable's data, by name.

    Raises:
        UsageError: no job has such a variable.
    """
    return np.array(_variable(op_name).array)


def set_interface_blob_value(op_name: str, ndarray: ndarray) -> None:
    """Give a variable new contents, by name.

    Raises:
        UsageError: no job has such a variable.
        ShapeError: the array has another shape or dtype.
    """
    held = _variable(op_name)
    session().check_fits(op_name, np.asarray(ndarray))
    held.array[...] = ndarray


def _variable(name: str) -> StoredArray:
    owner = session()
    owner.trace_all()
    if name not in owner.arrays:
        raise unknown("no variable of this session's jobs is named", name, owner.arrays, limit=3).error(UsageError)
    return owner.arrays[name]


def _forwards(asked_by: str, triples: Any, shape: Ints) -> tuple[list[int], list[int], list[int]]:
    start, stop, step = slice_attrs(asked_by, triples, shape)
    if min(step) < 1:
        raise UsageError(f"{asked_by}: steps are above 0, got {step}")
    return start, stop, step
