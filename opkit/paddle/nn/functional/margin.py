"""Losses of pairs, margins, counts and overlaps, as Paddle 2.6 reduces them."""

from __future__ import annotations

import math
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.paddle.nn.functional.loss import binary_cross_entropy_with_logits, check_reduction, reduced
from opkit.paddle.nn.functional.windows import pairwise_distance
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value

__all__ = [
    "cosine_embedding_loss",
    "dice_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "multi_label_soft_margin_loss",
    "multi_margin_loss",
    "npair_loss",
    "poisson_nll_loss",
    "sigmoid_focal_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _relu(x: Any) -> Any:
    return ops.clip(x, min=0.0)


# ---- pairs -----------------------------------------------------------------------------------------------------------
def cosine_embedding_loss(
    input1: Any, input2: Any, label: Any, margin: float = 0, reduction: str = "mean", name: str | None = None
) -> Any:
    """Return 1 - cos for pairs labelled 1, and what cos exceeds the margin by for those labelled -1."""
    check_reduction(reduction, "cosine_embedding_loss")
    if len(label.shape) != 1:
        raise ShapeError(f"cosine_embedding_loss: the label is a vector, got {list(label.shape)}")
    if list(input1.shape) != list(input2.shape) or len(input1.shape) > 2:
        raise ShapeError(f"cosine_embedding_loss: inputs of {list(input1.shape)} and {list(input2.shape)} do not fit")
    inner = ops.reduce_sum(ops.mul(input1, input2), -1)
    sizes = [ops.add(ops.reduce_sum(ops.square(item), -1), 1e-11) for item in (input1, input2)]
    cosine = ops.div(inner, ops.sqrt(ops.mul(sizes[0], sizes[1])))
    alike = ops.where(ops.equal(label, 1), ops.sub(1.0, cosine), 0.0)
    unlike = ops.where(ops.equal(label, -1), _relu(ops.sub(cosine, float(margin))), 0.0)
    return reduced(ops.add(alike, unlike), reduction, "cosine_embedding_loss")


def hinge_embedding_loss(
    input: Any, label: Any, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Any:
    """Return the distance where the label is 1, and what it lacks to the margin where it is -1."""
    check_reduction(reduction, "hinge_embedding_loss")
    near = ops.where(ops.equal(label, 1.0), input, 0.0)
    far = ops.where(ops.equal(label, -1.0), _relu(ops.sub(float(margin), input)), 0.0)
    return reduced(ops.add(near, far), reduction, "hinge_embedding_loss")


def triplet_margin_loss(
    input: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    epsilon: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Return by how much the distance to the positive exceeds that to the negative less a margin."""

    def distance(x: Any, y: Any) -> Any:
        return pairwise_distance(x, y, p, epsilon)

    return _triplet("triplet_margin_loss", input, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    input: Any,
    positive: Any,
    negative: Any,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Return by how much a distance to the positive exceeds that to the negative less a margin."""
    name_of = "triplet_margin_with_distance_loss"
    distance = distance_function or pairwise_distance
    return _triplet(name_of, input, positive, negative, distance, margin, swap, reduction)


def _triplet(
    function: str, input: Any, positive: Any, negative: Any, distance: Any, margin: float, swap: bool, reduction: str
) -> Any:
    check_reduction(reduction, function)
    if margin < 0:
        raise UsageError(f"{function}: the margin must not be negative, got {margin}")
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(_relu(ops.add(ops.sub(near, far), float(margin))), reduction, function)


def npair_loss(anchor: Any, positive: Any, labels: Any, l2_reg: float = 0.002) -> Any:
    """Return the cross entropy of the products of anchors and positives, and a quarter of the L2 terms.

    Source: Sohn 2016, "Improved deep metric learning with multi-class N-pair loss objective".
    """
    column = ops.reshape(labels, [-1, 1])
    same = ops.cast(ops.equal(column, ops.reshape(labels, [1, -1])), anchor._data.dtype)
    target = ops.div(same, ops.reduce_sum(same, 1, True))
    sizes = [ops.reduce_mean(ops.reduce_sum(ops.square(item), 1)) for item in (anchor, positive)]
    decay = ops.mul(ops.add(sizes[0], sizes[1]), 0.25 * l2_reg)
    logs = ops.log_softmax(ops.matmul(anchor, positive, False, True), -1)
    entropy = ops.neg(ops.reduce_sum(ops.mul(target, logs), -1, True))
    return ops.add(decay, ops.reduce_mean(ops.reduce_sum(ops.mul(target, entropy), 0)))


# ---- margins ---------------------------------------------------------------------------------------------------------
def soft_margin_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Return ``log(1 + exp(-label * input))``, labels being 1 or -1."""
    check_reduction(reduction, "soft_margin_loss")
    product = ops.mul(ops.cast_like(label, input), input)
    return reduced(ops.softplus(ops.neg(product)), reduction, "soft_margin_loss")


def multi_label_soft_margin_loss(
    input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> Any:
    """Return the mean over the classes of the cross entropies of logits and labels 0 or 1."""
    check_reduction(reduction, "multi_label_soft_margin_loss")
    if list(input.shape) != list(label.shape):
        raise ShapeError(f"multi_label_soft_margin_loss: {list(input.shape)} and {list(label.shape)} differ")
    loss = binary_cross_entropy_with_logits(input, label, reduction="none")
    if weight is not None:
        loss = ops.mul(loss, need_value("multi_label_soft_margin_loss", "weight", weight))
    return reduced(ops.reduce_mean(loss, -1), reduction, "multi_label_soft_margin_loss")


def multi_margin_loss(
    input: Any,
    label: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Return the mean over the other classes of what their score lacks to stay a margin below the label's, to the p."""
    check_reduction(reduction, "multi_margin_loss")
    if len(input.shape) != 2 or list(label.shape) != [input.shape[0]]:
        raise ShapeError(f"multi_margin_loss: {list(input.shape)} and {list(label.shape)} do not fit")
    column = ops.expand_dims(label, 1)
    gap = _relu(ops.add(ops.sub(input, ops.take_along_axis(input, column, 1)), float(margin)))
    own = float(margin) ** p / input.shape[1]
    if weight is None:
        loss = ops.sub(ops.reduce_mean(ops.pow(gap, float(p)), 1), own)
    else:
        share = ops.gather(weight, column, 0)
        total = ops.reduce_mean(ops.pow(ops.mul(share, gap), float(p)), 1)
        loss = ops.sub(total, ops.mul(ops.pow(ops.squeeze(share, 1), float(p)), own))
    return reduced(loss, reduction, "multi_margin_loss")


# ---- distributions ---------------------------------------------------------------------------------------------------
def poisson_nll_loss(
    input: Any,
    label: Any,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-08,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Return the negative log likelihood of counts under Poisson distributions; ``full``: with Stirling's term."""
    check_reduction(reduction, "poisson_nll_loss")
    if epsilon <= 0:
        raise UsageError(f"poisson_nll_loss: epsilon must be positive, got {epsilon}")
    label = ops.cast_like(label, input)
    if log_input:
        loss = ops.sub(ops.exp(input), ops.mul(label, input))
    else:
        loss = ops.sub(input, ops.mul(label, ops.log(ops.add(input, float(epsilon)))))
    if full:
        safe = ops.where(ops.greater(label, 1.0), label, 1.0)
        stirling = ops.add(
            ops.sub(ops.mul(safe, ops.log(safe)), safe), ops.mul(ops.log(ops.mul(safe, 2 * math.pi)), 0.5)
        )
        loss = ops.add(loss, ops.where(ops.greater(label, 1.0), stirling, 0.0))
    return reduced(loss, reduction, "poisson_nll_loss")


def gaussian_nll_loss(
    input: Any,
    label: Any,
    variance: Any,
    full: bool = False,
    epsilon: float = 1e-06,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Return the negative log likelihood under normal distributions; ``full``: with the constant term."""
    check_reduction(reduction, "gaussian_nll_loss")
    if list(variance.shape) != list(input.shape):
        if list(variance.shape) == list(input.shape[:-1]):
            variance = ops.expand_dims(variance, -1)
        elif list(variance.shape) != [*input.shape[:-1], 1]:
            raise ShapeError(f"gaussian_nll_loss: variance {list(variance.shape)} does not fit {list(input.shape)}")
    # The bound on the variance takes no gradient away, as in Paddle.
    lacking = _relu(ops.sub(float(epsilon), variance))
    lacking.stop_gradient = True
    safe = ops.add(variance, lacking)
    loss = ops.mul(ops.add(ops.log(safe), ops.div(ops.square(ops.sub(input, label)), safe)), 0.5)
    if full:
        loss = ops.add(loss, 0.5 * math.log(2 * math.pi))
    return reduced(loss, reduction, "gaussian_nll_loss")


# ---- rare objects, overlaps ------------------------------------------------------------------------------------------
def sigmoid_focal_loss(
    logit: Any,
    label: Any,
    normalizer: Any = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> Any:
    """Return cross entropies weighted by ``alpha_t * (1 - p_t) ** gamma`` (Lin et al. 2017)."""
    check_reduction(reduction, "sigmoid_focal_loss")
    if normalizer is not None and len(normalizer.shape) > 1:
        raise ShapeError(f"sigmoid_focal_loss: the normalizer is one number, got {list(normalizer.shape)}")
    chance = ops.sigmoid(logit)
    loss = binary_cross_entropy_with_logits(logit, label, reduction="none")
    rest = ops.sub(1.0, label)
    hit = ops.add(ops.mul(chance, label), ops.mul(ops.sub(1.0, chance), rest))
    share = ops.add(ops.mul(label, float(alpha)), ops.mul(rest, 1.0 - alpha))
    loss = ops.mul(ops.mul(share, loss), ops.pow(ops.sub(1.0, hit), float(gamma)))
    if normalizer is not None:
        loss = ops.div(loss, normalizer)
    return reduced(loss, reduction, "sigmoid_focal_loss")


def dice_loss(input: Any, label: Any, epsilon: float = 0.00001, name: str | None = None) -> Any:
    """Return 1 less twice the overlap of probabilities and labels (N, ..., 1), divided by the sum of both."""
    if len(input.shape) != len(label.shape) or label.shape[-1] != 1 or len(input.shape) < 2:
        raise ShapeError(f"dice_loss: input {list(input.shape)} and label {list(label.shape)} do not fit")
    spread = ops.one_hot(ops.squeeze(label, -1), input.shape[-1], input._data.dtype.name)
    axes = tuple(range(1, len(input.shape)))
    overlap = ops.reduce_sum(ops.mul(input, spread), axes)
    total = ops.add(ops.reduce_sum(input, axes), ops.reduce_sum(spread, axes))
    return ops.reduce_mean(ops.sub(1.0, ops.div(ops.mul(overlap, 2.0), ops.add(total, float(epsilon)))))
