"""Losses (``flow.nn``, OneFlow v0.4 names): of logits and labels, and between blobs.

Names, argument order and the reduction only; the ops are in ``opkit.ops``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.oneflow import math as flow_math
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.user_op import as_value, call
from opkit.ops.composed.losses import binary_entropy_of_logits, margin_scores, ranking_loss, relative_entropy
from opkit.ops.core.types import Name
from opkit.ops.core.value import shape_of

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_cross_entropy",
    "sparse_softmax_cross_entropy_with_logits",
]

Blob = Any


# ---- of logits and labels --------------------------------------------------------------------------------------------
def sparse_softmax_cross_entropy_with_logits(labels: Blob, logits: Blob, name: Name = None) -> Blob:
    """Return the cross entropy of integer labels, one number per row of logits."""
    value = as_value(logits)
    return call("sparse_softmax_cross_entropy", value, labels, depth=int(shape_of(value)[-1]))[1]


def sparse_cross_entropy(labels: Blob, prediction: Blob, name: Name = None) -> Blob:
    """Return the cross entropy of integer labels and probabilities."""
    value = as_value(prediction)
    return call("sparse_cross_entropy", value, labels, depth=int(shape_of(value)[-1]))


def softmax_cross_entropy_with_logits(labels: Blob, logits: Blob, name: Name = None) -> Blob:
    """Return the cross entropy of label distributions, one number per row of logits."""
    return call("softmax_cross_entropy", logits, labels)[1]


def sigmoid_cross_entropy_with_logits(labels: Blob, logits: Blob, name: Name = None) -> Blob:
    """Return the binary cross entropy of each logit."""
    return call("sigmoid_cross_entropy", logits, labels)


def smooth_l1_loss(prediction: Blob, label: Blob, beta: float = 1.0, name: Name = None) -> Blob:
    """Return ``0.5 * gap ** 2 / beta`` where the gap is below ``beta``, else ``gap - 0.5 * beta``."""
    return call("smooth_l1_loss", prediction, label, beta=float(beta))


def combined_margin_loss(x: Blob, label: Blob, m1: float = 1, m2: float = 0, m3: float = 0, name: Name = None) -> Blob:
    """Return cosines (samples, classes) with the label's class's as ``cos(m1 * acos(x) + m2) - m3``."""
    return margin_scores(as_value(x), as_value(label), float(m1), float(m2), float(m3))


# ---- between blobs ---------------------------------------------------------------------------------------------------
_REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "none": lambda loss: loss,
    "mean": flow_math.reduce_mean,
    "sum": flow_math.reduce_sum,
}


def _reduced(op: str, loss: Any, reduction: str) -> Blob:
    if reduction not in _REDUCTIONS:
        raise UsageError(f"flow.nn.{op}: reduction is none, mean or sum, got {reduction!r}")
    return _REDUCTIONS[reduction](loss)


def _of_one_shape(op: str, *blobs: Blob) -> list[Any]:
    values = [as_value(blob) for blob in blobs]
    shapes = [shape_of(value) for value in values]
    if len(set(shapes)) > 1:
        raise ShapeError(f"flow.nn.{op} takes blobs of one shape, got {', '.join(map(str, shapes))}")
    return values


def _weighted(op: str, loss: Any, weight: Blob | None) -> Any:
    return loss if weight is None else ops.mul(*_of_one_shape(op, weight, loss))


def L1Loss(input: Blob, target: Blob, reduction: str = "mean", name: Name = None) -> Blob:
    """Return ``|target - input|``, its mean ("mean", of shape (1,)) or its sum ("sum").

    Raises:
        ShapeError: the shapes differ.
        UsageError: there is no such reduction.
    """
    x, y = _of_one_shape("L1Loss", input, target)
    return _reduced("L1Loss", ops.abs(ops.sub(y, x)), reduction)


def MSELoss(input: Blob, target: Blob, reduction: str = "mean", name: Name = None) -> Blob:
    """Return ``(target - input) ** 2``, reduced as ``L1Loss`` is."""
    x, y = _of_one_shape("MSELoss", input, target)
    return _reduced("MSELoss", ops.square(ops.sub(y, x)), reduction)


def BCELoss(input: Blob, target: Blob, weight: Blob | None = None, reduction: str = "mean", name: Name = None) -> Blob:
    """Return the cross entropy of probabilities and targets in [0, 1], reduced as ``L1Loss`` is.

    Args:
        input: probabilities inside (0, 1); at 0 and 1 logarithms are infinite, as in OneFlow v0.4.
        target: of the same shape.
        weight: of the same shape, multiplies each element's loss.
    """
    x, y = _of_one_shape("BCELoss", input, target)
    first = ops.mul(y, ops.log(x))
    second = ops.mul(ops.sub(1.0, y), ops.log(ops.sub(1.0, x)))
    return _reduced("BCELoss", _weighted("BCELoss", ops.neg(ops.add(first, second)), weight), reduction)


def BCEWithLogitsLoss(
    input: Blob,
    target: Blob,
    weight: Blob | None = None,
    pos_weight: Blob | None = None,
    reduction: str = "mean",
    name: Name = None,
) -> Blob:
    """Return the cross entropy of logits and targets in [0, 1], reduced as ``L1Loss`` is.

    Args:
        input: logits, any shape.
        target: of the same shape.
        weight: of the same shape, multiplies each element's loss.
        pos_weight: one weight per class (the last axis) for the targets' part.
    """
    op = "BCEWithLogitsLoss"
    x, y = _of_one_shape(op, input, target)
    positive = None if pos_weight is None else as_value(pos_weight)
    if positive is not None and shape_of(positive)[:1] != shape_of(x)[-1:]:
        raise ShapeError(
            f"flow.nn.{op}: pos_weight has one number per class, {shape_of(x)[-1]} here, got shape {shape_of(positive)}"
        )
    return _reduced(op, _weighted(op, binary_entropy_of_logits(x, y, positive), weight), reduction)


def KLDivLoss(input: Blob, target: Blob, log_target: bool = False, reduction: str = "mean", name: Name = None) -> Blob:
    """Return ``target * (log(target) - input)``, 0 where the target is not positive, reduced as ``L1Loss`` is.

    Args:
        input: logarithms of probabilities.
        target: probabilities, or their logarithms with ``log_target``.
    """
    x, y = as_value(input), as_value(target)
    loss = ops.mul(ops.exp(y), ops.sub(y, x)) if log_target else relative_entropy(x, y)
    return _reduced("KLDivLoss", loss, reduction)


def MarginRankingLoss(
    input1: Blob, input2: Blob, target: Blob, margin: float = 0.0, reduction: str = "mean", name: Name = None
) -> Blob:
    """Return ``max(0, -target * (input1 - input2) + margin)``, reduced as ``L1Loss`` is."""
    x, y = _of_one_shape("MarginRankingLoss", input1, input2)
    return _reduced("MarginRankingLoss", ranking_loss(x, y, as_value(target), margin), reduction)
