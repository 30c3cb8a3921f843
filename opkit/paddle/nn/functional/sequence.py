"""Losses of whole sequences."""

from __future__ import annotations

from typing import Any

from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics.losses import check_reduction, reduced
from opkit.paddle.tensor.checks import need_value
from opkit.shim.missing import guard as _guard

__all__ = ["ctc_loss"]


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
    logs = ops.log_softmax(need_value("ctc_loss", "log_probs", log_probs), -1)
    need_value("ctc_loss", "labels", labels)
    loss = ops.ctc_loss(logs, labels, input_lengths, label_lengths, blank, True, norm_by_times)
    return reduced(ops.div(loss, label_lengths) if reduction == "mean" else loss, reduction, "ctc_loss")


__getattr__ = _guard(__name__, globals())
