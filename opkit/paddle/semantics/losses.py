"""How Paddle reduces losses, and which samples of a cross entropy count with what weight.

The losses themselves are in ``opkit.ops.composed``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.eager import Tensor
from opkit.errors import ShapeError, UsageError
from opkit.ops.composed import losses
from opkit.paddle.semantics import builders as ops

__all__ = ["check_reduction", "cross_entropy", "nll", "reduced"]


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


# ---- cross entropy of classes ----------------------------------------------------------------------------------------
def cross_entropy(
    input: Any,
    label: Any,
    weight: Any,
    ignored: int,
    reduction: str,
    axis: int,
    *,
    soft_label: bool,
    use_softmax: bool,
    smoothing: float,
) -> Any:
    """Return the cross entropy of logits (or of probabilities, without ``use_softmax``) and labels.

    Args:
        input: classes along ``axis``.
        label: integers without that axis or with size 1 there; with ``soft_label`` probabilities of input's shape.
        weight: one per class, or None.
        ignored: samples with this label do not count.
        reduction: "mean" (over what counts), "sum" or "none".
        axis: of the classes.
        soft_label: labels are probabilities.
        use_softmax: input holds logits.
        smoothing: this part of the labels' mass is spread over all classes.

    Source: Paddle 2.6, paddle.nn.functional.cross_entropy.
    """
    dims, label_dims = input.ndim, label.ndim
    if smoothing > 0.0:
        if label_dims == dims - 1 or (not soft_label and label.shape[axis] == 1):
            flat = label if label_dims == dims - 1 else ops.squeeze(label, axis)
            label = ops.one_hot(flat, input.shape[-1])
        label = ops.cast_like(losses.softened(label, smoothing), input)
        soft_label, label_dims = True, dims
    if soft_label:
        return _of_soft_labels(input, label, weight, reduction, axis, use_softmax)
    flat = label if label_dims == dims - 1 else ops.squeeze(label, axis)
    loss = _of_hard_labels(input, flat, ignored, axis, use_softmax)
    weights = None if weight is None else _class_weights(input, flat, weight, ignored, axis)
    if weights is not None:
        loss = ops.mul(loss, weights)
    if reduction == "none":
        return loss if label_dims == dims - 1 else ops.expand_dims(loss, axis)
    if reduction == "sum":
        return ops.reduce_sum(loss)
    if weights is not None:
        return _divided(ops.reduce_sum(loss), ops.reduce_sum(weights))
    if _may_ignore(flat, ignored):
        counted = ops.cast_like(ops.not_equal(flat, ignored), loss)
        return _divided(ops.reduce_sum(loss), ops.reduce_sum(counted))
    return ops.reduce_mean(loss)


def _may_ignore(label: Any, ignored: int) -> bool:
    if isinstance(label, Tensor):
        return bool(np.count_nonzero(label._data == ignored))
    return ignored >= 0  # Paddle 2.6's static mode


def _divided(total: Any, count: Any) -> Any:
    """Return total / count, 0 where nothing counts."""
    return ops.div(total, ops.add(count, ops.cast_like(ops.equal(count, 0.0), count)))


def _of_hard_labels(input: Any, label: Any, ignored: int, axis: int, use_softmax: bool) -> Any:
    dims = input.ndim
    at = axis % dims
    if at != dims - 1:
        input = ops.transpose(input, [*(i for i in range(dims) if i != at), at])
    if use_softmax:
        return ops.sparse_softmax_cross_entropy(input, label, ignored)[1]
    loss, counted, _ = losses.log_likelihood(ops.log(input), label, dims - 1, ignored)
    return ops.where(counted, loss, 0.0)


def _class_weights(input: Any, label: Any, weight: Any, ignored: int, axis: int) -> Any:
    if input.shape[axis] != weight.shape[-1]:
        raise ShapeError(
            f"cross_entropy: input has {input.shape[axis]} classes, weight has {weight.shape[-1]} elements"
        )
    counted = ops.not_equal(label, ignored)
    safe = ops.where(counted, label, ops.zeros_like(label))
    return ops.mul(ops.gather(weight, safe, 0), ops.cast_like(counted, weight))


def _of_soft_labels(input: Any, label: Any, weight: Any, reduction: str, axis: int, use_softmax: bool) -> Any:
    logs = ops.log_softmax(input, axis) if use_softmax else ops.log(input)
    loss = ops.neg(ops.reduce_sum(ops.mul(ops.cast_like(label, logs), logs), axis, True))
    if weight is None:
        return reduced(loss, reduction, "cross_entropy")
    weights = ops.reshape(ops.matmul(ops.cast_like(label, weight), ops.reshape(weight, [-1, 1])), list(loss.shape))
    loss = ops.mul(loss, weights)
    if reduction == "mean":
        return _divided(ops.reduce_sum(loss), ops.reduce_sum(weights))
    return reduced(loss, reduction, "cross_entropy")


def nll(input: Any, label: Any, weight: Any, ignored: int, reduction: str) -> Any:
    """Return the negative log likelihood of labels, of log probabilities with the classes along axis 1.

    Source: Paddle 2.6, paddle.nn.functional.nll_loss: the mean is over the weights of what counts.
    """
    loss, counted, safe = losses.log_likelihood(input, label, 1, ignored)
    weights = ops.cast_like(counted, loss)
    if weight is not None:
        weights = ops.mul(ops.gather(weight, safe, 0), weights)
    loss = ops.mul(loss, weights)
    if reduction == "mean":
        return ops.div(ops.reduce_sum(loss), ops.reduce_sum(weights))
    return reduced(loss, reduction, "nll_loss")
