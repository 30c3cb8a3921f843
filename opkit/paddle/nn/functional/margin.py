"""Losses of pairs, margins, counts and overlaps, as Paddle 2.6 reduces them."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.ops.composed import losses, pairs
from opkit.paddle.nn.functional.windows import pairwise_distance
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics.losses import check_reduction, reduced
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
    return reduced(pairs.angle_loss(input1, input2, label, float(margin)), reduction, "cosine_embedding_loss")


def hinge_embedding_loss(
    input: Any, label: Any, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Any:
    """Return the distance where the label is 1, and what it lacks to the margin where it is -1."""
    check_reduction(reduction, "hinge_embedding_loss")
    loss = pairs.hinge_loss(input, ops.as_value(label, like=input), float(margin))
    return reduced(loss, reduction, "hinge_embedding_loss")


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
    return reduced(pairs.gap_above(ops.add(ops.sub(near, far), float(margin))), reduction, function)


def npair_loss(anchor: Any, positive: Any, labels: Any, l2_reg: float = 0.002) -> Any:
    """Return the cross entropy of the products of anchors and positives, and a quarter of the L2 terms.

    Source: Sohn 2016, "Improved deep metric learning with multi-class N-pair loss objective".
    """
    return pairs.pair_loss(anchor, positive, labels, l2_reg)


# ---- margins ---------------------------------------------------------------------------------------------------------
def soft_margin_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Return ``log(1 + exp(-label * input))``, labels being 1 or -1."""
    check_reduction(reduction, "soft_margin_loss")
    return reduced(losses.soft_margin(input, label), reduction, "soft_margin_loss")


def multi_label_soft_margin_loss(
    input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> Any:
    """Return the mean over the classes of the cross entropies of logits and labels 0 or 1."""
    check_reduction(reduction, "multi_label_soft_margin_loss")
    if list(input.shape) != list(label.shape):
        raise ShapeError(f"multi_label_soft_margin_loss: {list(input.shape)} and {list(label.shape)} differ")
    loss = losses.binary_entropy_of_logits(need_value("multi_label_soft_margin_loss", "input", input), label)
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
    loss = pairs.margin_loss(input, label, float(p), float(margin), weight)
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
    count = ops.cast_like(label, input)
    loss = losses.poisson_likelihood(input, count, float(epsilon), is_log=log_input, full=full)
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
    loss = losses.gaussian_likelihood(input, label, variance, float(epsilon), full=full)
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
    for name_of, item in (("logit", logit), ("label", label)):
        need_value("sigmoid_focal_loss", name_of, item)
    loss = losses.focal(logit, label, float(alpha), float(gamma))
    if normalizer is not None:
        loss = ops.div(loss, normalizer)
    return reduced(loss, reduction, "sigmoid_focal_loss")


def dice_loss(input: Any, label: Any, epsilon: float = 0.00001, name: str | None = None) -> Any:
    """Return 1 less twice the overlap of probabilities and labels (N, ..., 1), divided by the sum of both."""
    if len(input.shape) != len(label.shape) or label.shape[-1] != 1 or len(input.shape) < 2:
        raise ShapeError(f"dice_loss: input {list(input.shape)} and label {list(label.shape)} do not fit")
    spread = ops.one_hot(ops.squeeze(label, -1), input.shape[-1], input._data.dtype.name)
    return ops.reduce_mean(pairs.overlap_loss(input, spread, tuple(range(1, len(input.shape))), float(epsilon)))
