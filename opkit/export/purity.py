"""Purity: whether the kernels of an op are functions of their arguments, as what leaves the workbench must be.

Writes to arguments are refused where kernels run; nothing is traced here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from opkit.export.model import Example, ExportError, ExportKernel
from opkit.project.kernel import UserKernel
from opkit.project.user_op import UserOp

_PLAIN = (int, float, complex, str, bytes, bool, type(None), list, tuple, dict, set, frozenset, np.ndarray, np.generic)


def refuse_impure(kernels: Sequence[ExportKernel], examples: Sequence[Example]) -> None:
    """Run each kernel twice more on what it was given, and compare.

    Raises:
        ExportError: a kernel gives other results for the same inputs, or leaves its module's variables changed.
    """
    for kernel in kernels:
        if kernel.op.kernel is None:
            continue
        for example in examples:
            for args, attrs in example.calls.get(kernel.name, ()):
                _refuse(kernel.op, kernel.op.kernel, args, attrs)


def _refuse(op: UserOp, kernel: UserKernel, args: tuple[Any, ...], attrs: Mapping[str, Any]) -> None:
    shown = {name: value for name, value in attrs.items() if name != "device_sub_tag"}
    space = kernel.function.__globals__
    before = {name: copy.deepcopy(value) for name, value in space.items() if _is_plain(name, value)}
    with np.errstate(all="ignore"):
        results = [kernel.call(args, shown) for _ in range(2)]
    changed = [name for name, value in before.items() if not same(value, space.get(name))]
    changed += [name for name, value in space.items() if _is_plain(name, value) and name not in before]
    if changed:
        raise ExportError(
            f"kernel {op.name!r} changes {changed[0]!r} of its module: a file that leaves the workbench holds a "
            "function of its arguments",
            where=kernel.where,
            help="pass what it needs as an input or an attribute",
        )
    if not same(*results):
        raise ExportError(
            f"kernel {op.name!r} gives other results when it is called again with the same inputs: it draws random "
            "numbers, or keeps something from one call to the next",
            where=kernel.where,
            help="pass random numbers as an input",
        )


def _is_plain(name: str, value: Any) -> bool:
    return not name.startswith("__") and isinstance(value, _PLAIN) and not isinstance(value, ModuleType)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same to the last bit; NaN is the same as NaN."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (np.ndarray, np.generic)) and isinstance(other, (np.ndarray, np.generic)):
        one, other = np.asarray(one), np.asarray(other)
        alike = one.shape == other.shape and one.dtype == other.dtype
        if one.dtype == object:
            return alike and same(one.tolist(), other.tolist())
        return alike and np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()
    return one is other or (type(one) is type(other) and bool(one == other))
