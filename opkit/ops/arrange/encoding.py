"""Ordinals of categories: numbers in the order in which values are first seen, kept from run to run.

Source: OneFlow v0.4 (name and arguments).
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ops.core.define import define
from opkit.ops.core.inference import shape_error
from opkit.ops.core.types import Attrs, Descs


def _encode(table: ndarray, size: ndarray, x: ndarray, hash_precomputed: bool) -> ndarray:
    """Return the ordinals, from 1; the table holds the values seen at even places, their ordinals at odd ones."""
    count, room = int(size[0]), table.size // 2
    values, first, places = np.unique(x, return_index=True, return_inverse=True)
    held = table[: 2 * count : 2]
    order = np.argsort(held)
    at = np.searchsorted(held, values, sorter=order)
    nearest = order[np.minimum(at, count - 1)] if count else np.zeros(len(values), np.intp)
    is_known = held[nearest] == values if count else np.zeros(len(values), bool)
    unseen = np.flatnonzero(~is_known)
    unseen = unseen[np.argsort(first[unseen])]
    if count + len(unseen) > room:
        raise UsageError(
            f"op 'CategoricalOrdinalEncode': {count + len(unseen)} values were seen, the table has room for {room}",
            help="give the encoder a larger capacity",
        )
    ordinals = (nearest + 1).astype(x.dtype)
    ordinals[unseen] = np.arange(count + 1, count + 1 + len(unseen))
    table[2 * count : 2 * (count + len(unseen)) : 2] = values[unseen]
    table[2 * count + 1 : 2 * (count + len(unseen)) + 1 : 2] = ordinals[unseen]
    size[0] = count + len(unseen)
    return ordinals[places.reshape(-1)].reshape(x.shape)


def _infer(descs: Descs, attrs: Attrs) -> Descs:
    table, size, x = descs
    if table.ndim != 1 or size.shape != (1,) or len({desc.dtype for desc in descs}) > 1:
        told = "the table is a vector, the size has one element, and all have one dtype"
        raise shape_error("CategoricalOrdinalEncode", descs, told)
    return [x]


CATEGORICAL_ORDINAL_ENCODE = define(
    "CategoricalOrdinalEncode",
    "table size in",
    "out",
    _encode,
    infer=_infer,
    attrs="hash_precomputed:bool",
    defaults={"hash_precomputed": True},
    writes="table size",
)
