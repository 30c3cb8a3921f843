"""Branches and loops by functions: ``cond``, ``case``, ``switch_case``, ``while_loop``.

In dynamic mode they run the chosen functions; in a graph they become ops that do, see ``opkit.static.branches``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.listed import listed
from opkit.ops.core.mode import local
from opkit.ops.core.types import Function, Name
from opkit.shim.missing import guard as _guard
from opkit.static.branches import branch, leaves, loop, refilled

__all__ = ["case", "cond", "while_loop"]

Branch = Callable[[], Any]


def cond(
    pred: Any,
    true_fn: Branch | None = None,
    false_fn: Branch | None = None,
    name: Name = None,
    return_names: Any = None,
) -> Any:
    """Call one of two functions and return its result.

    Args:
        pred: a bool Tensor of one element, or a bool.
        true_fn: called where it is true; None: nothing is returned.
        false_fn: called where it is false.
        name: accepted, without effect.
        return_names: accepted, without effect.

    Raises:
        TypeError: a function is not callable, the condition is not a bool, or in a graph the functions' results differ
            in structure or dtype.
    """
    for label, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None and not callable(function):
            raise TypeError(f"cond: {label} is a function or None, got {type(function).__name__}")
    if _is_graph(pred):
        _check_bool("cond", "pred", pred)
        return branch(pred, true_fn or _nothing, false_fn or _nothing)
    chosen = true_fn if _truth("cond", "pred", pred) else false_fn
    return None if chosen is None else chosen()


def _nothing() -> None:
    return None


def _is_graph(value: Any) -> bool:
    return local.mode.is_static and hasattr(value, "block")


def _check_bool(function: str, what: str, value: Any) -> None:
    if value.desc.dtype != "bool" or any(size not in (1, -1) for size in value.desc.shape):
        raise TypeError(f"{function}: {what} is a bool of one element, got {value.desc}")


def case(pred_fn_pairs: Sequence[tuple[Any, Branch]], default: Branch | None = None, name: Name = None) -> Any:
    """Call the function of the first condition that is true, else the default, else the last function.

    Raises:
        TypeError: the pairs are not (condition, function).
    """
    if not isinstance(pred_fn_pairs, list | tuple) or not pred_fn_pairs:
        raise TypeError(f"case takes a list of (condition, function), got {pred_fn_pairs!r}")
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"case takes pairs (condition, function), got {pair!r}")
    (pred, function), rest = pred_fn_pairs[0], list(pred_fn_pairs[1:])
    if not rest and default is None:
        return function()
    return cond(pred, function, lambda: case(rest, default) if rest else default())  # type: ignore[misc]


def while_loop(cond: Function, body: Function, loop_vars: Any, is_test: bool = False, name: Name = None) -> Any:
    """Call ``body`` with the loop's Tensors, and again with what it returns, while ``cond`` of them is true.

    Args:
        cond: returns a bool Tensor of one element.
        body: returns as many Tensors as it takes.
        loop_vars: the first Tensors, a list or tuple.
        is_test: accepted, without effect.
        name: accepted, without effect.

    Returns:
        the last Tensors.

    Raises:
        TypeError: an argument is of another type.
        ValueError: there is no Tensor, or ``body`` returns another number of them.
    """
    if not callable(cond) or not callable(body):
        raise TypeError("while_loop: cond and body are functions")
    if not isinstance(loop_vars, list | tuple):
        raise TypeError(f"while_loop: loop_vars is a list or tuple, got {type(loop_vars).__name__}")
    if not loop_vars:
        raise UsageError("while_loop: loop_vars is empty")
    if local.mode.is_static:
        return _loop(cond, body, loop_vars)
    current: Any = loop_vars
    while _truth("while_loop", "what cond returns", cond(*current)):
        found = body(*current)
        current = found if isinstance(found, list | tuple) else [found]
        if len(current) != len(loop_vars):
            raise UsageError(f"while_loop: body returns {len(current)} values, it takes {len(loop_vars)}")
    return current


def _loop(cond: Function, body: Function, loop_vars: Any) -> Any:
    """Append the op of a loop; its Variables may stand in nested lists, tuples and dicts."""
    start = leaves(loop_vars)
    for item in start:
        if not hasattr(item, "block"):
            raise TypeError(f"while_loop: in a graph loop_vars holds Variables, got {type(item).__name__}")

    def next_ones(*values: Any) -> list[Any]:
        found = body(*refilled(loop_vars, list(values)))
        returned = leaves(listed(found))
        if len(returned) != len(start):
            raise UsageError(f"while_loop: body returns {len(returned)} values, it takes {len(start)}")
        return returned

    found = loop(lambda *values: cond(*refilled(loop_vars, list(values))), next_ones, start)
    return refilled(list(loop_vars), found)


def _truth(function: str, what: str, value: Any) -> bool:
    array = np.asarray(value)
    if array.dtype != bool or array.size != 1:
        raise TypeError(f"{function}: {what} is a bool Tensor of one element, got {array.dtype} of {array.shape}")
    return bool(array.reshape(-1)[0])


__getattr__ = _guard(globals())
