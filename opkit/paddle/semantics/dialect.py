"""PADDLE: the rules and words that Paddle's Tensors and Programs follow.

Its functions say in which dtype tensors and numbers meet; what applies them is ``opkit.ops.core.meeting``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.ir import Dialect, Words
from opkit.paddle.semantics import printing
from opkit.paddle.semantics.dtypes import shown

FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)

_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def promoted(first: np.dtype, second: np.dtype) -> np.dtype:
    """Return the dtype in which two tensors meet: of two of a kind the wider, else float over int over bool.

    A float that meets an integer keeps its dtype, unlike in numpy.

    Source: Paddle 2.6.
    """
    if first == second:
        return first
    left, right = _RANKS[first.kind], _RANKS[second.kind]
    if left == right or max(left, right) == 3:
        return np.promote_types(first, second)
    return first if left > right else second


def promoted_number(dtype: np.dtype, number: Any) -> np.dtype:
    """Return the dtype in which a tensor meets a number: its own, and float32 for an integer tensor and a float."""
    return FLOAT32 if dtype.kind not in "fc" and isinstance(number, (float, np.floating)) else dtype


def added_number(dtype: np.dtype, number: Any) -> np.dtype:
    """Return the same for a sum, product or quotient, where a bool tensor and an integer give int64."""
    if dtype.kind == "b" and not isinstance(number, (float, np.floating)):
        return INT64
    return promoted_number(dtype, number)


def total(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which tensors are summed: int64 for bool and int32, else their own."""
    return INT64 if dtype.kind == "b" or dtype == np.int32 else dtype


#: Paddle 2.6.
PADDLE = Dialect(
    "paddle",
    meet=promoted,
    meet_number=promoted_number,
    add_number=added_number,
    quotient=FLOAT32,
    function_of_integers=FLOAT32,
    total=total,
    show_dtype=shown,
    show_tensor=printing.tensor_text,
    show_variable=printing.variable_text,
    words=Words(
        make_tensor="paddle.to_tensor makes a Tensor",
        change_leaf="change it under paddle.no_grad(), or work on x.clone()",
        keep_gradient="use a paddle function, or x.detach() where no gradient is wanted",
        python_in_graph="use paddle.static.nn.py_func with functions on arrays, or paddle.disable_static()",
    ),
)
