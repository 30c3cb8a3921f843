"""Losses, as Paddle 2.6 reduces them."""

from __future__ import annotations

from typing import Any

from opkit.eager import Tensor
from opkit.errors import ShapeError, UsageError
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import need_value

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "kl_div",
    "l1_loss",
    "label_smooth",
    "log_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
    "softmax_with_cross_entropy",
    "square_error_cost",
]


def reduced(loss: Any, reduction: str, function: str) -> Any:
    """Return a loss's mean, sum, or itself."""
    if reduction == "mean":
        return ops.reduce_mean(loss)
    if reduction == "sum":
        return ops.reduce_sum(loss)
    check_reduction(reduction, function)
    return loss


def check_reduction(reduction: str, function: str, *more: str) -> None:
    """Refuse a reduction that is not "mean", "sum", "none" or one of ``more``."""
    known = ("mean", "sum", "none", *more)
    if reduction not in known:
        raise UsageError(f"{function}: reduction is one of {', '.join(map(repr, known))}, got {reduction!r}")


def _pair(function: str, input: Any, label: Any) -> None:
    need_value(function, "input", input)
    need_value(function, "label", label)


# ---- classes ---------------------------------------------------------------------------------------------------------
def cross_entropy(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Any:
    """Return the cross entropy of logits (or of probabilities, without ``use_softmax``) and labels.

    Args:
        input: classes along ``axis``.
        label: integers without that axis or with size 1 there; with ``soft_label`` probabilities of input's shape.
        weight: one per class.
        ignore_index: samples with this label do not count.
        reduction: "mean" (over what counts), "sum" or "none".
        soft_label: labels are probabilities.
        axis: of the classes.
        use_softmax: input holds logits.
        label_smoothing: this part of the labels' mass is spread over all classes.
        name: ignored.
    """
    check_reduction(reduction, "cross_entropy")
    _pair("cross_entropy", input, label)
    if ignore_index > 0 and soft_label:
        raise UsageError("cross_entropy: ignore_index has no meaning with soft labels")
    dims, label_dims = len(input.shape), len(label.shape)
    if dims == 0 or label_dims not in (dims, dims - 1):
        raise ShapeError(
            f"cross_entropy: input has shape {list(input.shape)}, label {list(label.shape)}: the label has as many "
            f"axes, or one less"
        )
    if label_smoothing > 0.0:
        if label_dims == dims - 1 or (not soft_label and label.shape[axis] == 1):
            flat = label if label_dims == dims - 1 else ops.squeeze(label, axis)
            label = ops.one_hot(flat, input.shape[-1])
        label = ops.cast_like(label_smooth(label, epsilon=label_smoothing), input)
        soft_label, label_dims = True, dims
    if soft_label:
        return _soft_cross_entropy(input, label, weight, reduction, axis, use_softmax)
    flat = label if label_dims == dims - 1 else ops.squeeze(label, axis)
    loss = _hard_losses(input, flat, ignore_index, axis, use_softmax)
    weights = None if weight is None else _class_weights(input, flat, weight, ignore_index, axis)
    if weights is not None:
        loss = ops.mul(loss, weights)
    if reduction == "none":
        return loss if label_dims == dims - 1 else ops.expand_dims(loss, axis)
    if reduction == "sum":
        return ops.reduce_sum(loss)
    if weights is not None:
        return _divided(ops.reduce_sum(loss), ops.reduce_sum(weights))
    if _may_ignore(flat, ignore_index):
        counted = ops.cast_like(ops.not_equal(flat, ignore_index), loss)
        return _divided(ops.reduce_sum(loss), ops.reduce_sum(counted))
    return ops.reduce_mean(loss)


def _may_ignore(label: Any, ignore_index: int) -> bool:
    if isinstance(label, Tensor):
        return bool((label._data == ignore_index).any())
    return ignore_index >= 0  # Paddle 2.6's static mode


def _divided(total: Any, count: Any) -> Any:
    """Return total / count, 0 where nothing counts."""
    return ops.div(total, ops.add(count, ops.cast_like(ops.equal(count, 0.0), count)))


def _hard_losses(input: Any, label: Any, ignore_index: int, axis: int, use_softmax: bool) -> Any:
    dims = len(input.shape)
    at = axis % dims
    if at != dims - 1:
        input = ops.transpose(input, [*(i for i in range(dims) if i != at), at])
    if use_softmax:
        return ops.sparse_softmax_cross_entropy(input, label, ignore_index)[1]
    counted = ops.not_equal(label, ignore_index)
    safe = ops.where(counted, label, ops.zeros_like(label))
    picked = ops.take_along_axis(ops.log(input), ops.expand_dims(safe, -1), dims - 1)
    loss = ops.neg(ops.squeeze(picked, -1))
    return ops.where(counted, loss, 0.0)


def _class_weights(input: Any, label: Any, weight: Any, ignore_index: int, axis: int) -> Any:
    if input.shape[axis] != weight.shape[-1]:
        raise ShapeError(
            f"cross_entropy: input has {input.shape[axis]} classes, weight has {weight.shape[-1]} elements"
        )
    counted = ops.not_equal(label, ignore_index)
    safe = ops.where(counted, label, ops.zeros_like(label))
    return ops.mul(ops.gather(weight, safe, 0), ops.cast_like(counted, weight))


def _soft_cross_entropy(input: Any, label: Any, weight: Any, reduction: str, axis: int, use_softmax: bool) -> Any:
    logs = ops.log_softmax(input, axis) if use_softmax else ops.log(input)
    loss = ops.neg(ops.reduce_sum(ops.mul(ops.cast_like(label, logs), logs), axis, True))
    if weight is None:
        return reduced(loss, reduction, "cross_entropy")
    weights = ops.reshape(ops.matmul(ops.cast_like(label, weight), ops.reshape(weight, [-1, 1])), list(loss.shape))
    loss = ops.mul(loss, weights)
    if reduction == "mean":
        return _divided(ops.reduce_sum(loss), ops.reduce_sum(weights))
    return reduced(loss, reduction, "cross_entropy")


def softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Return the cross entropy of logits per sample, with size 1 along the axis of classes; and the softmax."""
    hard = label if soft_label or len(label.shape) == len(logits.shape) else ops.expand_dims(label, axis)
    loss = cross_entropy(
        logits,
        hard,
        ignore_index=-100 if soft_label else ignore_index,
        reduction="none",
        soft_label=soft_label,
        axis=axis,
    )
    return (loss, ops.softmax(logits, axis)) if return_softmax else loss


def nll_loss(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Return the negative log likelihood of labels, of log probabilities with the classes along axis 1."""
    check_reduction(reduction, "nll_loss")
    _pair("nll_loss", input, label)
    counted = ops.not_equal(label, ignore_index)
    safe = ops.where(counted, label, ops.zeros_like(label))
    loss = ops.neg(ops.squeeze(ops.take_along_axis(input, ops.expand_dims(safe, 1), 1), 1))
    weights = ops.cast_like(counted, loss)
    if weight is not None:
        weights = ops.mul(ops.gather(weight, safe, 0), weights)
    loss = ops.mul(loss, weights)
    if reduction == "mean":
        return ops.div(ops.reduce_sum(loss), ops.reduce_sum(weights))
    return reduced(loss, reduction, "nll_loss")


def label_smooth(label: Any, prior_dist: Any = None, epsilon: float = 0.1, name: str | None = None) -> Any:
    """Return ``(1 - epsilon) * label + epsilon * prior``, the prior being even where it is left out."""
    if not 0 <= epsilon <= 1:
        raise UsageError(f"label_smooth: epsilon must be between 0 and 1, got {epsilon}")
    kept = ops.mul(need_value("label_smooth", "label", label), 1.0 - epsilon)
    if prior_dist is None:
        return ops.add(kept, epsilon / label.shape[-1])
    return ops.add(kept, ops.mul(prior_dist, float(epsilon)))


def kl_div(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Return ``label * (log(label) - input)``, input being log probabilities."""
    check_reduction(reduction, "kl_div", "batchmean")
    _pair("kl_div", input, label)
    loss = ops.sub(ops.xlogy(label, label), ops.mul(label, input))
    if reduction == "batchmean":
        return ops.div(ops.reduce_sum(loss), float(input.shape[0])) if input.shape else ops.reduce_sum(loss)
    return reduced(loss, reduction, "kl_div")


# ---- binary ----------------------------------------------------------------------------------------------------------
def binary_cross_entropy(
    input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> Any:
    """Return the cross entropy of probabilities and labels between 0 and 1."""
    check_reduction(reduction, "binary_cross_entropy")
    _pair("binary_cross_entropy", input, label)
    small = 1e-12
    first = ops.mul(label, ops.log(ops.maximum(input, ops.full_like(input, small))))
    rest = ops.sub(1.0, input)
    second = ops.mul(ops.sub(1.0, label), ops.log(ops.maximum(rest, ops.full_like(input, small))))
    loss = ops.neg(ops.add(first, second))
    return reduced(loss if weight is None else ops.mul(loss, weight), reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(
    logit: Any,
    label: Any,
    weight: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
    name: str | None = None,
) -> Any:
    """Return the cross entropy of logits and labels between 0 and 1."""
    check_reduction(reduction, "binary_cross_entropy_with_logits")
    _pair("binary_cross_entropy_with_logits", logit, label)
    # softplus(-x) for the positives, softplus(x) = x + softplus(-x) for the negatives.
    below = ops.softplus(ops.neg(logit))
    if pos_weight is not None:
        below = ops.mul(below, ops.add(ops.mul(label, ops.sub(pos_weight, 1.0)), 1.0))
    loss = ops.add(ops.mul(ops.sub(1.0, label), logit), below)
    return reduced(loss if weight is None else ops.mul(loss, weight), reduction, "binary_cross_entropy_with_logits")


def log_loss(input: Any, label: Any, epsilon: float = 0.0001, name: str | None = None) -> Any:
    """Return ``-label * log(input + eps) - (1 - label) * log(1 - input + eps)``."""
    _pair("log_loss", input, label)
    first = ops.mul(label, ops.log(ops.add(input, epsilon)))
    second = ops.mul(ops.sub(1.0, label), ops.log(ops.add(ops.sub(1.0, input), epsilon)))
    return ops.neg(ops.add(first, second))


# ---- distances -------------------------------------------------------------------------------------------------------
def square_error_cost(input: Any, label: Any) -> Any:
    """Return the squared difference, element by element."""
    _pair("square_error_cost", input, label)
    return ops.square(ops.sub(input, label))


def mse_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Return the squared difference."""
    return reduced(square_error_cost(input, label), reduction, "mse_loss")


def l1_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Return the absolute difference."""
    check_reduction(reduction, "l1_loss")
    _pair("l1_loss", input, label)
    return reduced(ops.abs(ops.sub(input, label)), reduction, "l1_loss")


def smooth_l1_loss(input: Any, label: Any, reduction: str = "mean", delta: float = 1.0, name: str | None = None) -> Any:
    """Return ``0.5 * d**2`` for differences up to delta, else ``delta * (d - 0.5 * delta)``."""
    check_reduction(reduction, "smooth_l1_loss")
    _pair("smooth_l1_loss", input, label)
    gap = ops.abs(ops.sub(input, label))
    near = ops.mul(ops.square(gap), 0.5)
    far = ops.mul(ops.sub(gap, 0.5 * delta), float(delta))
    return reduced(ops.where(ops.less_equal(gap, float(delta)), near, far), reduction, "smooth_l1_loss")


def margin_ranking_loss(
    input: Any, other: Any, label: Any, margin: float = 0.0, reduction: str = "mean", name: str | None = None
) -> Any:
    """Return ``max(0, -label * (input - other) + margin)``."""
    check_reduction(reduction, "margin_ranking_loss")
    _pair("margin_ranking_loss", input, label)
    gap = ops.mul(ops.neg(label), ops.sub(input, other))
    return reduced(ops.relu(ops.add(gap, float(margin))), reduction, "margin_ranking_loss")
