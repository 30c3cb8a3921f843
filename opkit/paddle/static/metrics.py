"""``paddle.static.accuracy`` and ``paddle.static.auc``."""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.ir import TensorDesc
from opkit.paddle.semantics import areas
from opkit.paddle.semantics import builders as ops
from opkit.static.names import unique_name
from opkit.static.parameters import create_state


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


def auc(
    input: Any,
    label: Any,
    curve: str = "ROC",
    num_thresholds: int = 2**12 - 1,
    topk: int = 1,
    slide_steps: int = 1,
    ins_tag_weight: Any = None,
) -> tuple[Any, Any, list[Any]]:
    """Return the area under the curve of all batches so far, that of a window of batches, and the counts of both.

    Args:
        input: scores between 0 and 1, (N, classes); the last column counts.
        label: (N, 1), integers; above 0 is a hit.
        curve: "ROC", or "PR", which Paddle 2.6 computes in the same way.
        num_thresholds: number of bins less one.
        topk: accepted, without effect.
        slide_steps: length of the window; 0: all batches.
        ins_tag_weight: accepted, without effect, as in Paddle 2.6.

    Raises:
        UsageError: it is no such curve.
    """
    if curve not in ("ROC", "PR"):
        raise UsageError(f"static.auc: curve is 'ROC' or 'PR', got {curve!r}")
    shapes = [areas.count_shape(num_thresholds, steps) for steps in (slide_steps, slide_steps, 0, 0)]
    counts = [create_state(unique_name("_generated_var"), TensorDesc(shape, "int64"), 0.0) for shape in shapes]
    recent = areas.area_under(input, label, counts[0], counts[1], num_thresholds, slide_steps)
    overall = areas.area_under(input, label, counts[2], counts[3], num_thresholds, 0)
    return overall, recent, counts
