"""Attention."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.ops.composed import layers
from opkit.ops.core.types import Name
from opkit.paddle.nn.functional.common import dropout
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import needed

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    name: Name = None,
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
    if needed(query).ndim != 4:
        raise ShapeError(f"scaled_dot_product_attention takes tensors of 4 axes, got {list(query.shape)}")
    q, k, v = (layers.by_heads(item) for item in (query, key, value))
    weights = layers.attention_weights(q, k, attn_mask, is_causal=is_causal)
    if dropout_p:
        weights = dropout(weights, dropout_p, training=training)
    return layers.by_heads(ops.matmul(weights, v))
