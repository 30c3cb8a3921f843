"""Losses of whole sequences, and the sequences of a beam search."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.paddle.semantics import beams
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics.losses import check_reduction, reduced
from opkit.paddle.tensor.checks import needed
from opkit.paddle.tensor.search import dynamic_only
from opkit.shim.missing import guard as _guard

__all__ = ["ctc_loss", "gather_tree"]


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
