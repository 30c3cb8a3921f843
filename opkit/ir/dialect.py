"""Dialect: the rules for combining dtypes and the texts that show values; strict unless a facade brings its own.

Rules on dtypes and texts only: no value is cast here, and no framework is named.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import numpy as np

from opkit.record import record


@record
class Words:
    """Advice in messages, in the names that a framework's users know.

    Args:
        make_tensor: how a list or an array becomes a Tensor.
        change_leaf: how a leaf that takes a gradient can still be changed in place.
        keep_gradient: what to do where numpy would lose a gradient.
        python_in_graph: how a Python function becomes part of a static graph.
    """

    make_tensor: str = "make a Tensor of it first"
    change_leaf: str = "change it while gradients are switched off, or work on x.clone()"
    keep_gradient: str = "use an op of opkit.ops, or x.detach() where no gradient is wanted"
    python_in_graph: str = "use py_func with functions on arrays, or leave static mode"


def _never(first: np.dtype, second: np.dtype) -> np.dtype | None:
    return None


def _number_in(dtype: np.dtype, number: Any) -> np.dtype | None:
    if isinstance(number, (float, np.floating)):
        return dtype if dtype.kind in "fc" else None
    if isinstance(number, (bool, np.bool_)) or dtype.kind != "b":
        return dtype
    return dtype if number in (0, 1) else None


def _itself(dtype: np.dtype) -> np.dtype:
    return dtype


def _tensor_text(tensor: Any) -> str:
    array = tensor._data
    kind = "Parameter" if tensor.is_parameter else "Tensor"
    body = np.array2string(array, prefix="    ")
    return f"{kind}(shape={list(array.shape)}, dtype={array.dtype.name}, stop_gradient={tensor._sg},\n    {body})"


@record
class Dialect:
    """How the values of one framework behave where the op definitions leave a choice, and how they are shown.

    The default is the strict rule: nothing is promoted, and results have their operands' dtype.

    Args:
        name: for messages.
        meet: the dtype in which two tensors of different dtypes meet; None where that is an error.
        meet_number: the dtype in which a tensor meets a Python or numpy number; None where that is an error.
        add_number: the same for the sum, product and quotient of a tensor and a number.
        quotient: the dtype in which two integers are divided; None for their own, truncated towards 0.
        function_of_integers: the dtype in which a function of real numbers takes integers; None where it takes none.
        total: the dtype in which tensors of a dtype are summed.
        show_dtype: what ``x.dtype`` returns.
        show_tensor: the text of a Tensor.
        show_variable: the text of a static Variable.
        words: the advice in messages.

    Example:
        >>> STRICT.meet(np.dtype("float32"), np.dtype("int64")) is None
        True
    """

    name: str
    meet: Callable[[np.dtype, np.dtype], np.dtype | None] = _never
    meet_number: Callable[[np.dtype, Any], np.dtype | None] = _number_in
    add_number: Callable[[np.dtype, Any], np.dtype | None] = _number_in
    quotient: np.dtype | None = None
    function_of_integers: np.dtype | None = None
    total: Callable[[np.dtype], np.dtype] = _itself
    show_dtype: Callable[[np.dtype], Any] = _itself
    show_tensor: Callable[[Any], str] = _tensor_text
    show_variable: Callable[[Any], str] = repr
    words: Words = field(default_factory=Words)


#: What holds where no facade is used.
STRICT = Dialect("strict")

_adopted: list[Dialect] = [STRICT]


class _Speaking(threading.local):
    dialect: Dialect | None = None


_thread = _Speaking()


def default_dialect() -> Dialect:
    """Return the dialect of Programs that have none of their own, and of Tensors outside ``speaking``."""
    return _adopted[0]


def current_dialect() -> Dialect:
    """Return the dialect of this thread's Tensors."""
    return _thread.dialect or _adopted[0]


def adopt(dialect: Dialect, *, unless_adopted: bool = False) -> None:
    """Make a dialect the default one of the process.

    Args:
        dialect: that of the facade whose Tensors and Programs these are.
        unless_adopted: leave the dialect that another facade has brought.
    """
    if not unless_adopted or _adopted[0] is STRICT:
        _adopted[0] = dialect


@contextmanager
def speaking(dialect: Dialect) -> Iterator[None]:
    """Make a dialect that of this thread's Tensors within a ``with`` block (a job that runs op by op)."""
    held, _thread.dialect = _thread.dialect, dialect
    try:
        yield
    finally:
        _thread.dialect = held
