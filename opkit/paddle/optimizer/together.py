"""Together: an optimizer's updates of small parameters, run in one pass where that changes no bit.

Which arrays an update takes, and with what options, is each optimizer's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.core.mode import local
from opkit.ops.core.observers import run_kernel
from opkit.ops.core.opdef import OpDef

__all__ = ["Update", "run_updates"]

#: The arrays of one parameter's update (parameter, gradient, rate, states), and the op's options.
Update = tuple[Sequence[ndarray], Mapping[str, Any]]

#: Elements of a parameter up to which a call costs more than the copies that save it.
_SMALL = 16384


def run_updates(op: OpDef, updates: Sequence[Update], *, is_elementwise: bool) -> None:
    """Run the updates of several parameters; observers see each one alone.

    Args:
        op: changes one parameter.
        updates: per parameter.
        is_elementwise: each element changes by itself; small parameters of one dtype with equal options, rates and
            scalar states are then laid end to end.
    """
    alike: dict[Any, list[Update]] = {}
    is_joined = is_elementwise and not local.mode.observers
    for update in updates:
        (data, slope, *others), options = update
        key: Any = id(data)
        if is_joined and data.size <= _SMALL and data.shape != (1,):
            numbers = [array.item() for array in others if array.shape == (1,)]
            key = (data.dtype, slope.dtype, *options.values(), *numbers)
        alike.setdefault(key, []).append(update)
    for found in alike.values():
        if len(found) > 1:
            _run_joined(op, [arrays for arrays, _ in found], found[0][1])
        else:
            run_kernel(op, *found[0])


def _run_joined(op: OpDef, rows: Sequence[Sequence[ndarray]], options: Mapping[str, Any]) -> None:
    columns = list(zip(*rows))
    joined = [column[0] if column[0].shape == (1,) else np.concatenate(column, None) for column in columns]
    run_kernel(op, joined, options)
    for index in op.written(options):
        start, whole = 0, joined[index]
        for array in columns[index]:
            if whole.shape == (1,):
                array[0] = whole[0]
            else:
                array.reshape(-1)[:] = whole[start : start + array.size]
                start += array.size
