"""Specialise: direct numpy calls for the most common built-in ops where sizes, dtypes and attributes are known.

They compute the same bits as the ops' kernels, without the kernels' own checks of shapes and attributes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from opkit.ir import Operation
from opkit.ops.core.types import Function
from opkit.static.plan.sizes import Known

#: function, what the text calls it, and its arguments as text
Call = tuple[Function, str, list[str]]


def specialised(op: Operation, arguments: list[str], known: Known) -> Call | None:
    """Return a direct call in place of an op's kernel, None where there is none.

    Args:
        op: a built-in op, within an errstate that ignores.
        arguments: names of its inputs.
        known: descriptions that are valid in the run.
    """
    make = _TABLE.get(op.type)
    return None if make is None else make(op, arguments, known)


def _matmul(op: Operation, arguments: list[str], known: Known) -> Call | None:
    first, second = op.inputs[:2]
    if op.attrs.get("alpha") != 1.0 or (len(op.inputs) > 2 and op.inputs[2] is not None):
        return None
    for value in (first, second):
        if value is None or known[value].ndim != 2 or known[value].dtype not in ("float32", "float64"):
            return None
    left = arguments[0] + (".T" if op.attrs["transpose_a"] else "")
    right = arguments[1] + (".T" if op.attrs["transpose_b"] else "")
    return np.matmul, "np_matmul", [left, right]


def _sum_like(op: Operation, arguments: list[str], known: Known) -> Call | None:
    given, wanted = known[op.inputs[0]], known[op.results[0]]  # type: ignore[index]
    lead = given.ndim - wanted.ndim
    is_plain = lead > 0 and given.shape[lead:] == wanted.shape and wanted.ndim > 0
    if op.attrs["axis"] or not is_plain or given.dtype not in ("float32", "float64"):
        return None
    return np.add.reduce, "add_reduce", [arguments[0], repr(tuple(range(lead)))]


_TABLE: dict[str, Callable[[Operation, list[str], Known], Call | None]] = {
    "matmul": _matmul,
    "reduce_sum_like": _sum_like,
}
