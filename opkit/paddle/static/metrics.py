"""``paddle.static.accuracy``."""

from __future__ import annotations

from typing import Any

from opkit.paddle.semantics import builders as ops

__all__ = ["accuracy"]


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None) -> Any:
    """Return the part of samples whose label is among the k largest scores.

    Args:
        input: scores, (N, classes).
        label: class per sample, (N,) or (N, 1).
        k: how many of the largest scores count.
        correct: accepted, without effect.
        total: accepted, without effect.
    """
    best = ops.topk(input, k)[1]
    column = ops.reshape(label, (-1, 1))
    hit = ops.equal(best, ops.cast(column, "int64"))
    return ops.reduce_mean(ops.reduce_max(ops.cast(hit, "float32"), 1))
