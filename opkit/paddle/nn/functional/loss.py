"""Losses, as Paddle 2.6 reduces them.

Losses of pairs, margins, counts and overlaps, as Paddle 2.6 reduces them.

Losses of whole sequences, and the sequences of a beam search.
"""

from __future__ import annotations

from typing import Any

from opkit.eager import Tensor
from opkit.errors import ShapeError, UsageError
from opkit.ops.composed import losses
from opkit.ops.core.types import Name
from opkit.paddle.semantics import beams
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics import losses as semantics
from opkit.paddle.semantics.losses import check_reduction, reduced
from opkit.paddle.tensor.checks import need_value, needed
from opkit.paddle.tensor.search import dynamic_only
from opkit.shim.missing import guard as _guard

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "ctc_loss",
    "gather_tree",
    "kl_div",
    "l1_loss",
    "label_smooth",
    "log_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "sigmoid_focal_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax_with_cross_entropy",
    "square_error_cost",
]


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
    name: Name = None,
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
    dims, label_dims = input.ndim, label.ndim
    if dims == 0 or label_dims not in (dims, dims - 1):
        raise ShapeError(
            f"cross_entropy: input has shape {list(input.shape)}, label {list(label.shape)}: the label has as many "
            f"axes, or one less"
        )
    return semantics.cross_entropy(
        input,
        label,
        weight,
        ignore_index,
        reduction,
        axis,
        soft_label=soft_label,
        use_softmax=use_softmax,
        smoothing=label_smoothing,
    )


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
    input: Any, label: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: Name = None
) -> Any:
    """Return the negative log likelihood of labels, of log probabilities with the classes along axis 1."""
    check_reduction(reduction, "nll_loss")
    _pair("nll_loss", input, label)
    return semantics.nll(input, label, weight, ignore_index, reduction)


def label_smooth(label: Any, prior_dist: Any = None, epsilon: float = 0.1, name: Name = None) -> Any:
    """Return ``(1 - epsilon) * label + epsilon * prior``, the prior being even where it is left out."""
    if not 0 <= epsilon <= 1:
        raise UsageError(f"label_smooth: epsilon must be between 0 and 1, got {epsilon}")
    return losses.softened(needed(label), epsilon, prior_dist)


def kl_div(input: Any, label: Any, reduction: str = "mean", name: Name = None) -> Any:
    """Return ``label * (log(label) - input)``, input being log probabilities."""
    check_reduction(reduction, "kl_div", "batchmean")
    _pair("kl_div", input, label)
    loss = losses.relative_entropy(input, label)
    if reduction == "batchmean":
        total = ops.reduce_sum(loss)
        return ops.div(total, ops.size_along(input, 0, total._data.dtype)) if len(input.shape) else total
    return reduced(loss, reduction, "kl_div")


# ---- binary ----------------------------------------------------------------------------------------------------------
def binary_cross_entropy(input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: Name = None) -> Any:
    """Return the cross entropy of probabilities and labels between 0 and 1; logarithms are of at least -100.

    Raises:
        ValueError: an input is not between 0 and 1.
    """
    check_reduction(reduction, "binary_cross_entropy")
    _pair("binary_cross_entropy", input, label)
    if isinstance(input, Tensor) and input.size and not (input._data.min() >= 0 and input._data.max() <= 1):
        raise UsageError(
            "binary_cross_entropy: the input must be between 0 and 1, "
            f"it is between {input._data.min()} and {input._data.max()}",
            help="binary_cross_entropy_with_logits takes any input",
        )
    loss = ops.binary_cross_entropy(input, ops.cast_like(label, input))
    return reduced(loss if weight is None else ops.mul(loss, weight), reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(
    logit: Any, label: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None, name: Name = None
) -> Any:
    """Return the cross entropy of logits and labels between 0 and 1."""
    check_reduction(reduction, "binary_cross_entropy_with_logits")
    _pair("binary_cross_entropy_with_logits", logit, label)
    loss = losses.binary_entropy_of_logits(logit, label, pos_weight)
    return reduced(loss if weight is None else ops.mul(loss, weight), reduction, "binary_cross_entropy_with_logits")


def log_loss(input: Any, label: Any, epsilon: float = 0.0001, name: Name = None) -> Any:
    """Return ``-label * log(input + eps) - (1 - label) * log(1 - input + eps)``."""
    _pair("log_loss", input, label)
    return losses.log_loss(input, label, epsilon)


# ---- distances -------------------------------------------------------------------------------------------------------
def square_error_cost(input: Any, label: Any) -> Any:
    """Return the squared difference, element by element."""
    _pair("square_error_cost", input, label)
    return ops.square(ops.sub(input, label))


def mse_loss(input: Any, label: Any, reduction: str = "mean", name: Name = None) -> Any:
    """Return the squared difference."""
    return reduced(square_error_cost(input, label), reduction, "mse_loss")


def l1_loss(input: Any, label: Any, reduction: str = "mean", name: Name = None) -> Any:
    """Return the absolute difference."""
    check_reduction(reduction, "l1_loss")
    _pair("l1_loss", input, label)
    return reduced(ops.abs(ops.sub(input, label)), reduction, "l1_loss")


def smooth_l1_loss(input: Any, label: Any, reduction: str = "mean", delta: float = 1.0, name: Name = None) -> Any:
    """Return ``0.5 * d**2`` for differences up to delta, else ``delta * (d - 0.5 * delta)``."""
    check_reduction(reduction, "smooth_l1_loss")
    _pair("smooth_l1_loss", input, label)
    loss = losses.absolute_or_square(ops.abs(ops.sub(input, label)), float(delta))
    return reduced(loss, reduction, "smooth_l1_loss")


def margin_ranking_loss(
    input: Any, other: Any, label: Any, margin: float = 0.0, reduction: str = "mean", name: Name = None
) -> Any:
    """Return ``max(0, -label * (input - other) + margin)``."""
    check_reduction(reduction, "margin_ranking_loss")
    _pair("margin_ranking_loss", input, label)
    return reduced(losses.ranking_loss(input, other, label, float(margin)), reduction, "margin_ranking_loss")


__getattr__ = _guard(globals())


# ---- pairs -----------------------------------------------------------------------------------------------------------


# ---- margins ---------------------------------------------------------------------------------------------------------
def soft_margin_loss(input: Any, label: Any, reduction: str = "mean", name: Name = None) -> Any:
    """Return ``log(1 + exp(-label * input))``, labels being 1 or -1."""
    check_reduction(reduction, "soft_margin_loss")
    return reduced(losses.soft_margin(input, label), reduction, "soft_margin_loss")


# ---- distributions ---------------------------------------------------------------------------------------------------


# ---- rare objects, overlaps ------------------------------------------------------------------------------------------
def sigmoid_focal_loss(
    logit: Any,
    label: Any,
    normalizer: Any = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: Name = None,
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


def ctc_loss(
    log_probs: Any,
    labels: Any,
    input_lengths: Any,
    label_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
) -> Any:
    """Return, per sequence, minus the logarithm of the likelihood of its labels; 0 where no alignment gives them.

    Args:
        log_probs: ``(T, N, classes)``, logits: a softmax is part of the loss.
        labels: ``(N, labels)``, integers.
        input_lengths: ``(N,)``, integers.
        label_lengths: ``(N,)``, integers.
        blank: the class between labels.
        reduction: "mean" (of the losses over the labels' lengths), "sum" or "none".
        norm_by_times: divide the gradient, but not the loss, by the sequences' lengths.
    """
    check_reduction(reduction, "ctc_loss")
    logs = ops.log_softmax(needed(log_probs), -1)
    needed(labels)
    loss = ops.ctc_loss(logs, labels, input_lengths, label_lengths, blank, True, norm_by_times)
    return reduced(ops.div(loss, label_lengths) if reduction == "mean" else loss, reduction, "ctc_loss")


def gather_tree(ids: Any, parents: Any) -> Any:
    """Return the sequences of a beam search, followed from the last step to the first.

    Args:
        ids: (steps, batch, beams), the chosen words.
        parents: (steps, batch, beams), from which beam of the step before each came.

    Raises:
        UnsupportedError: static mode is on.
        ShapeError: the shapes differ, or are not of three axes.
    """
    dynamic_only("gather_tree")
    words, steps = needed(ids)._data, needed(parents)._data
    if words.ndim != 3 or words.shape != steps.shape:
        raise ShapeError(f"gather_tree: ids and parents are (steps, batch, beams), got {words.shape}, {steps.shape}")
    return ops.literal(beams.followed(words, steps))


__getattr__ = _guard(globals())
