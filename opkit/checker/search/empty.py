"""Empty arrays: inputs made from others by removing all elements along an axis.

Search finds out whether an op accepts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.checker.model.case import Case


def cut(value: Any, size: int) -> Any:
    """Return an array, or a list of arrays, with every axis of a size made empty."""
    if isinstance(value, list):
        return [cut(item, size) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    return value[tuple(slice(0) if one == size else slice(None) for one in value.shape)].copy()


def partly_cut(case: Case) -> list[dict[str, Any]]:
    """Return the case's inputs with the first part of a list, or an array of integers, empty along each axis."""
    changed: list[dict[str, Any]] = []
    for name, value in case.inputs.items():
        if isinstance(value, list) and len(value) > 1:
            for axis in range(value[0].ndim):
                part = value[0][(slice(None),) * axis + (slice(0),)].copy()
                changed.append({**case.inputs, name: [part, *value[1:]]})
        if isinstance(value, np.ndarray) and value.dtype.kind != "f":
            changed += [
                {**case.inputs, name: value[(slice(None),) * axis + (slice(0),)].copy()} for axis in range(value.ndim)
            ]
    return changed
