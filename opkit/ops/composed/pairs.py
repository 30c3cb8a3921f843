"""Losses of pairs and margins, per sample, before they are reduced; angles and distances of pairs."""

from __future__ import annotations

from opkit.ops import following as ops
from opkit.ops.core.value import Value


# ---- angles, distances -----------------------------------------------------------------------------------------------
def cosine(x: Value, y: Value, axis: int, epsilon: float) -> Value:
    """Return the cosine of the angle between two tensors along an axis; the product of lengths is at least epsilon."""
    inner = ops.reduce_sum(ops.mul(x, y), axis)
    squares = ops.mul(ops.reduce_sum(ops.square(x), axis), ops.reduce_sum(ops.square(y), axis))
    return ops.div(inner, ops.sqrt(ops.maximum(squares, ops.full_like(squares, epsilon * epsilon))))


def normalised(x: Value, size: Value, epsilon: float) -> Value:
    """Return ``x`` divided by a size of at least epsilon, which broadcasts."""
    return ops.div(x, ops.maximum(size, ops.full_like(size, epsilon)))


def pair_distance(x: Value, y: Value, p: float, epsilon: float, *, keepdims: bool, axis: int = -1) -> Value:
    """Return the p-norm of ``x - y + epsilon`` along an axis."""
    gap = ops.sub(x, y)
    return ops.norm(ops.add(gap, float(epsilon)) if epsilon else gap, float(p), axis, keepdims)


# ---- margins ---------------------------------------------------------------------------------------------------------


def ranking_loss(x: Value, y: Value, label: Value, margin: float) -> Value:
    """Return ``max(0, -label * (x - y) + margin)``."""
    return ops.relu(ops.add(ops.mul(ops.neg(label), ops.sub(x, y)), margin))


# ---- whole batches ---------------------------------------------------------------------------------------------------
