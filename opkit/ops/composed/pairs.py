"""Losses of pairs and margins, per sample, before they are reduced; angles and distances of pairs."""

from __future__ import annotations

from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value, known_size


def gap_above(x: Value) -> Value:
    """Return ``max(x, 0)``, integers included; the gradient at 0 is 0."""
    return ops.clip_inside(x, min=0.0)


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
def angle_loss(x: Value, y: Value, label: Value, margin: float) -> Value:
    """Return 1 - cos for pairs labelled 1, and what cos exceeds the margin by for those labelled -1."""
    inner = ops.reduce_sum(ops.mul(x, y), -1)
    sizes = [ops.add(ops.reduce_sum(ops.square(item), -1), 1e-11) for item in (x, y)]
    angle = ops.div(inner, ops.sqrt(ops.mul(sizes[0], sizes[1])))
    alike = ops.where(ops.equal(label, 1), ops.sub(1.0, angle), 0.0)
    unlike = ops.where(ops.equal(label, -1), gap_above(ops.sub(angle, margin)), 0.0)
    return ops.add(alike, unlike)


def hinge_loss(distance: Value, label: Value, margin: float) -> Value:
    """Return the distance where the label is 1, and what it lacks to the margin where it is -1."""
    near = ops.where(ops.equal(label, 1.0), distance, 0.0)
    far = ops.where(ops.equal(label, -1.0), gap_above(ops.sub(margin, distance)), 0.0)
    return ops.add(near, far)


def ranking_loss(x: Value, y: Value, label: Value, margin: float) -> Value:
    """Return ``max(0, -label * (x - y) + margin)``."""
    return ops.relu(ops.add(ops.mul(ops.neg(label), ops.sub(x, y)), margin))


def margin_loss(score: Value, label: Value, p: float, margin: float, weight: Value | None = None) -> Value:
    """Return the mean over the other classes of what their score lacks to stay a margin below the label's, to the p.

    Args:
        score: ``(samples, classes)``.
        label: ``(samples,)``, integers.
        p: the power.
        margin: the margin.
        weight: of each class.
    """
    column = ops.expand_dims(label, 1)
    gap = gap_above(ops.add(ops.sub(score, ops.take_along_axis(score, column, 1)), margin))
    own = margin**p / known_size(score, 1, "multi_margin_loss")  # the label's own class, which does not count
    if weight is None:
        return ops.sub(ops.reduce_mean(ops.pow(gap, p), 1), own)
    share = ops.gather(weight, column, 0)
    total = ops.reduce_mean(ops.pow(ops.mul(share, gap), p), 1)
    return ops.sub(total, ops.mul(ops.pow(ops.squeeze(share, 1), p), own))


# ---- whole batches ---------------------------------------------------------------------------------------------------
def pair_loss(anchor: Value, positive: Value, labels: Value, weight: float) -> Value:
    """Return the cross entropy of the products of anchors and positives, and a quarter of the weighted L2 terms.

    Source: Sohn 2016, "Improved deep metric learning with multi-class N-pair loss objective".
    """
    column = ops.reshape(labels, [-1, 1])
    same = ops.cast(ops.equal(column, ops.reshape(labels, [1, -1])), anchor._data.dtype)
    target = ops.div(same, ops.reduce_sum(same, 1, True))
    sizes = [ops.reduce_mean(ops.reduce_sum(ops.square(item), 1)) for item in (anchor, positive)]
    decay = ops.mul(ops.add(sizes[0], sizes[1]), 0.25 * weight)
    logs = ops.log_softmax(ops.matmul(anchor, positive, False, True), -1)
    entropy = ops.neg(ops.reduce_sum(ops.mul(target, logs), -1, True))
    return ops.add(decay, ops.reduce_mean(ops.reduce_sum(ops.mul(target, entropy), 0)))


def overlap_loss(x: Value, spread: Value, axes: Ints, epsilon: float) -> Value:
    """Return 1 less twice the overlap of two tensors over axes, divided by the sum of both (Dice 1945)."""
    overlap = ops.reduce_sum(ops.mul(x, spread), axes)
    total = ops.add(ops.reduce_sum(x, axes), ops.reduce_sum(spread, axes))
    return ops.sub(1.0, ops.div(ops.mul(overlap, 2.0), ops.add(total, epsilon)))
