"""Arguments: the values of one call, copied so that they lie in memory as they lay, and what is special about that.

Which calls are kept is the recorder's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opkit.checker.model.recast import recast, root_of
from opkit.eager import Tensor
from opkit.listed import parts

#: Bytes of a buffer that are copied whole for a view of it; of larger ones the view alone is.
MOST_BYTES = 1 << 22


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with arrays in place of Tensors, all of them copies: views of one buffer are so again."""
    arrays = _arrays(values)
    small = [array for array in arrays if root_of(array).nbytes <= MOST_BYTES]
    copies = dict(zip(map(id, small), recast(small)))
    return {name: _replaced(value, copies) for name, value in values.items()}


def arrangement(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return how a call's arrays lie: which are not contiguous, and which share memory with an earlier one."""
    roots: list[int] = []
    found: list[Any] = []
    for array in _arrays(values):
        root = id(root_of(array))
        shared = roots.index(root) if root in roots else -1
        roots.append(root)
        found.append((bool(array.flags.c_contiguous), shared))
    return tuple(found)


def _arrays(values: Mapping[str, Any]) -> list[np.ndarray]:
    return [item._data if isinstance(item, Tensor) else item for item in parts(values, (Tensor, np.ndarray))]


def _replaced(value: Any, copies: Mapping[int, np.ndarray]) -> Any:
    if isinstance(value, Tensor):
        value = value._data
    if isinstance(value, np.ndarray):
        return copies[id(value)] if id(value) in copies else np.array(value)
    if isinstance(value, Mapping):
        return {name: _replaced(item, copies) for name, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, copies) for item in value]
    if isinstance(value, tuple):
        return tuple(_replaced(item, copies) for item in value)
    return value
