"""Attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opkit.errors import ShapeError
from opkit.paddle.nn.functional.common import dropout
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    name: str | None = None,
) -> Any:
    """Return ``softmax(query @ key / sqrt(size) + mask) @ value`` per head (Vaswani et al. 2017).

    Args:
        query: ``(N, length, heads, size)``.
        key: ``(N, other length, heads, size)``.
        value: as key.
        attn_mask: added to the products, ``(N, heads, length, other length)`` or what broadcasts to it; of booleans,
            where to attend.
        dropout_p: share of the weights that are set to 0.
        is_causal: no position attends to a later one.
        training: whether anything is dropped.
        name: ignored.
    """
    if need_value("scaled_dot_product_attention", "query", query).ndim != 4:
        raise ShapeError(f"scaled_dot_product_attention takes tensors of 4 axes, got {list(query.shape)}")
    q, k, v = (ops.transpose(item, [0, 2, 1, 3]) for item in (query, key, value))
    scores = ops.mul(ops.matmul(q, k, False, True), 1.0 / math.sqrt(query.shape[-1]))
    if is_causal:
        allowed = np.tri(query.shape[1], key.shape[1], dtype=bool)
        scores = ops.where(ops.literal(allowed), scores, -math.inf)
    elif attn_mask is not None:
        is_choice = attn_mask._data.dtype.kind == "b"
        scores = ops.where(attn_mask, scores, -math.inf) if is_choice else ops.add(scores, attn_mask)
    weights = ops.softmax(scores, -1)
    if dropout_p:
        weights = dropout(weights, dropout_p, training=training)
    return ops.transpose(ops.matmul(weights, v), [0, 2, 1, 3])
