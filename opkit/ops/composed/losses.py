"""Losses per element or sample, before they are reduced: of probabilities, labels, distances and distributions.

Losses of pairs and margins, per sample, before they are reduced; angles and distances of pairs.
"""

from __future__ import annotations

from opkit.ops import following as ops
from opkit.ops.core.value import Value


# ---- classes ---------------------------------------------------------------------------------------------------------
def log_likelihood(logs: Value, label: Value, axis: int, ignored: int) -> tuple[Value, Value, Value]:
    """Return the negative logarithm that each label names, which labels count, and the labels with 0 for the others.

    Args:
        logs: logarithms of probabilities, with the classes along an axis.
        label: integers, without that axis.
        axis: of the classes.
        ignored: the label that does not count.
    """
    counted = ops.not_equal(label, ignored)
    safe = ops.where(counted, label, ops.zeros_like(label))
    picked = ops.take_along_axis(logs, ops.expand_dims(safe, axis), axis)
    return ops.neg(ops.squeeze(picked, axis)), counted, safe


def softened(label: Value, epsilon: float, prior: Value | None = None) -> Value:
    """Return ``(1 - epsilon) * label + epsilon * prior``; left out, the prior is even over the last axis."""
    kept = ops.mul(label, 1.0 - epsilon)
    if prior is not None:
        return ops.add(kept, ops.mul(prior, float(epsilon)))
    size = ops.size_along(label, -1, label._data.dtype)
    return ops.add(kept, epsilon / size if isinstance(size, float) else ops.div(epsilon, size))


def relative_entropy(logs: Value, label: Value) -> Value:
    """Return ``label * (log(label) - logs)``, 0 where the label is not positive."""
    is_none = ops.less_equal(label, 0.0)
    mass = ops.where(is_none, ops.zeros_like(label), label)
    return ops.sub(ops.xlogy(mass, mass), ops.mul(mass, ops.where(is_none, ops.zeros_like(logs), logs)))


def margin_scores(x: Value, label: Value, factor: float, angle: float, gap: float) -> Value:
    """Return cosines with that of the label's class made smaller: ``cos(factor * acos(x) + angle) - gap``.

    Args:
        x: ``(samples, classes)``, cosines.
        label: ``(samples,)``, integers.
        factor: multiplies the angle.
        angle: is added to it.
        gap: is taken from its cosine.
    """
    places = ops.reshape(label, (-1, 1))
    held = ops.take_along_axis(x, places, 1)
    moved = ops.sub(ops.cos(ops.add(ops.mul(ops.acos(held), factor), angle)), gap)
    return ops.put_along_axis(x, places, moved, 1)


# ---- two classes -----------------------------------------------------------------------------------------------------
def binary_entropy_of_logits(logit: Value, label: Value, positive: Value | None = None) -> Value:
    """Return the cross entropy of logits and labels between 0 and 1; ``positive`` weighs the labels' part."""
    # softplus(-x) for the positives, softplus(x) = x + softplus(-x) for the negatives.
    below = ops.softplus(ops.neg(logit))
    if positive is not None:
        below = ops.mul(below, ops.add(ops.mul(label, ops.sub(positive, 1.0)), 1.0))
    return ops.add(ops.mul(ops.sub(1.0, label), logit), below)


def log_loss(chance: Value, label: Value, epsilon: float) -> Value:
    """Return ``-label * log(chance + epsilon) - (1 - label) * log(1 - chance + epsilon)``."""
    first = ops.mul(label, ops.log(ops.add(chance, epsilon)))
    second = ops.mul(ops.sub(1.0, label), ops.log(ops.add(ops.sub(1.0, chance), epsilon)))
    return ops.neg(ops.add(first, second))


def focal(logit: Value, label: Value, alpha: float, gamma: float) -> Value:
    """Return cross entropies weighted by ``alpha_t * (1 - p_t) ** gamma`` (Lin et al. 2017)."""
    chance, rest = ops.sigmoid(logit), ops.sub(1.0, label)
    hit = ops.add(ops.mul(chance, label), ops.mul(ops.sub(1.0, chance), rest))
    share = ops.add(ops.mul(label, alpha), ops.mul(rest, 1.0 - alpha))
    loss = ops.mul(share, binary_entropy_of_logits(logit, label))
    return ops.mul(loss, ops.pow(ops.sub(1.0, hit), gamma))


def soft_margin(score: Value, label: Value) -> Value:
    """Return ``log(1 + exp(-label * score))``, labels being 1 or -1."""
    return ops.softplus(ops.neg(ops.mul(ops.cast_like(label, score), score)))


# ---- distances, distributions ----------------------------------------------------------------------------------------
def absolute_or_square(gap: Value, delta: float) -> Value:
    """Return ``0.5 * d**2`` for distances d up to delta, else ``delta * (d - 0.5 * delta)`` (Huber 1964)."""
    near = ops.mul(ops.square(gap), 0.5)
    far = ops.mul(ops.sub(gap, 0.5 * delta), delta)
    return ops.where(ops.less_equal(gap, delta), near, far)


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
