"""Attention: weights of the values from products of queries and keys (Vaswani et al. 2017)."""

from __future__ import annotations

import math

import numpy as np

from opkit.ops import following as ops
from opkit.ops.core.value import Value


def by_heads(x: Value) -> Value:
    """Return ``(N, length, heads, size)`` as ``(N, heads, length, size)``, or the other way round."""
    return ops.transpose(x, [0, 2, 1, 3])


def attention_weights(query: Value, key: Value, mask: Value | None, *, is_causal: bool) -> Value:
    """Return ``softmax(query @ key / sqrt(size) + mask)`` per head.

    Args:
        query: ``(N, heads, length, size)``.
        key: ``(N, heads, other length, size)``.
        mask: added to the products; of booleans, where to attend; None: everywhere.
        is_causal: no position attends to a later one; the mask does not count then.
    """
    scores = ops.mul(ops.matmul(query, key, False, True), 1.0 / math.sqrt(query.shape[-1]))
    if is_causal:
        allowed = np.tri(query.shape[2], key.shape[2], dtype=bool)
        scores = ops.where(ops.literal(allowed), scores, -math.inf)
    elif mask is not None:
        is_choice = mask._data.dtype.kind == "b"
        scores = ops.where(mask, scores, -math.inf) if is_choice else ops.add(scores, mask)
    return ops.softmax(scores, -1)
