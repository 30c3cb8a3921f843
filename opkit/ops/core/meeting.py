"""Meeting: two operands converted to one dtype by the rules of a dialect; strict rules refuse and say why.

Builders call it only where dtypes differ or a number does not simply fit a tensor's dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from opkit.errors import DtypeError
from opkit.ir import STRICT, Dialect
from opkit.ops.core.value import Value, desc_of, dtype_of

#: Which dialect the operands of a builder follow.
Choose: TypeAlias = Callable[..., Dialect]

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


def strictly(*operands: Any) -> Dialect:
    """Choose the strict rules, whatever the operands are."""
    return STRICT


def dialect_of(*operands: Any) -> Dialect:
    """Choose the dialect of the first operand that has one: its framework's."""
    for item in operands:
        found = getattr(item, "dialect", None)
        if isinstance(found, Dialect):
            return found
    return STRICT


def always(dialect: Dialect) -> Choose:
    """Return a function that chooses one dialect, whatever the operands are."""
    return lambda *operands: dialect


def is_number(item: object) -> bool:
    """Return whether this is a Python or numpy number, which takes the dtype of the tensor that it meets."""
    kind = type(item)
    return kind is float or kind is int or isinstance(item, _NUMBERS)


def common_dtype(op: str, x: Value, y: Value, dialect: Dialect) -> np.dtype:
    """Return the dtype in which two tensors meet.

    Raises:
        DtypeError: the dtypes differ and the dialect promotes nothing; both operands are named.
    """
    first, second = dtype_of(x), dtype_of(y)
    found = first if first == second else dialect.meet(first, second)
    if found is None:
        raise DtypeError(
            f"op {op!r} got {desc_of(x)} and {desc_of(y)}: the dtypes must be the same",
            help=f"cast one of them: to {first} or {second}",
        )
    return found


def number_dtype(op: str, x: Value, number: Any, dialect: Dialect, *, is_added: bool = False) -> np.dtype:
    """Return the dtype in which a tensor meets a number.

    Args:
        op: for messages.
        x: the tensor.
        number: a Python or numpy number.
        dialect: the rules to apply.
        is_added: whether it is a sum, product or quotient.

    Raises:
        DtypeError: the tensor's dtype cannot hold such a number and the dialect promotes nothing.
    """
    found = (dialect.add_number if is_added else dialect.meet_number)(dtype_of(x), number)
    if found is None:
        raise DtypeError(
            f"op {op!r} got {desc_of(x)} and the number {number!r}, which a {dtype_of(x)} tensor cannot hold",
            help="cast the tensor first, for example to 'float32'",
        )
    return found


def function_dtype(op: str, x: Value, dialect: Dialect, *, is_closed: bool = False) -> np.dtype:
    """Return the dtype in which a function of real numbers takes an integer tensor.

    Args:
        op: for messages.
        x: a tensor that is not floating-point.
        dialect: the rules to apply.
        is_closed: whether the function maps integers to integers (``abs``, ``floor``), and so may keep the dtype.

    Raises:
        DtypeError: the function has no value for integers and the dialect promotes nothing.
    """
    if dialect.function_of_integers is not None:
        return dialect.function_of_integers
    if is_closed and dtype_of(x).kind != "b":
        return dtype_of(x)
    raise DtypeError(
        f"op {op!r} got {desc_of(x)}: it takes floating-point tensors", help="cast to 'float32' or 'float64' first"
    )
