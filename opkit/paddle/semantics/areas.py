"""The area under a ROC curve over batches: how Paddle 2.6 counts scores in bins and keeps the counts.

The function of graphs is ``paddle.static.auc``; ``paddle.metric.Auc`` counts on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ir import Shape, TensorDesc
from opkit.ops.core.define import define
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs


def count_shape(thresholds: int, slide_steps: int) -> Shape:
    """Return the shape of counts: of a window a bucket per step, their sum, and the number of the batch."""
    if slide_steps == 0:
        return 1, thresholds + 1
    return ((1 + slide_steps) * (thresholds + 1) + 1,)


def _binned(scores: ndarray, label: ndarray, thresholds: int) -> tuple[ndarray, ndarray]:
    last = scores[:, -1].astype(np.float64)
    if not ((last >= 0) & (last <= 1)).all():
        raise UsageError("static.auc: a score lies outside of [0, 1]", help="apply a softmax or a sigmoid first")
    bins = (last * thresholds).astype(np.int64)
    is_hit = label.reshape(-1) > 0
    return tuple(np.bincount(bins[mask], minlength=thresholds + 1) for mask in (is_hit, ~is_hit))  # type: ignore[return-value]


def _slid(held: ndarray, counts: ndarray, slide_steps: int) -> ndarray:
    """Put a batch's counts in place of the oldest ones, and return the sum over the window."""
    width = len(counts)
    flat = held.reshape(-1)
    if slide_steps == 0:
        flat[:width] += counts
        return flat[:width]
    bucket = int(flat[-1]) % slide_steps * width
    total = flat[slide_steps * width : (slide_steps + 1) * width]
    total += counts - flat[bucket : bucket + width]
    flat[bucket : bucket + width] = counts
    flat[-1] += 1
    return total


def _area(hits: ndarray, misses: ndarray) -> float:
    """Return the area by trapezoids, from the highest score down; 0 until both kinds of label were seen."""
    up = np.cumsum(hits[::-1].astype(np.float64))
    right = np.cumsum(misses[::-1].astype(np.float64))
    if up[-1] == 0 or right[-1] == 0:
        return 0.0
    before = np.concatenate([[0.0], up[:-1]])
    return float((np.diff(right, prepend=0.0) * (up + before) / 2).sum() / up[-1] / right[-1])


def _kernel(predict: ndarray, label: ndarray, stat_pos: ndarray, stat_neg: ndarray, **attrs: Any) -> ndarray:
    hits, misses = _binned(predict, label, attrs["num_thresholds"])
    counted = [_slid(held, counts, attrs["slide_steps"]) for held, counts in ((stat_pos, hits), (stat_neg, misses))]
    return np.asarray(_area(counted[0], counted[1]))


def _infer(descs: Sequence[TensorDesc], attrs: Attrs) -> Sequence[TensorDesc]:
    if descs[0].ndim != 2 or attrs["num_thresholds"] < 1 or attrs["slide_steps"] < 0:
        raise UsageError(f"static.auc takes scores (N, classes) and at least one threshold, got {descs[0]}")
    return [TensorDesc((), "float64")]


_AUC: OpDef = define(
    "auc",
    "predict label stat_pos stat_neg",
    "auc",
    _kernel,
    infer=_infer,
    attrs="num_thresholds:int32 slide_steps:int32",
    writes="stat_pos stat_neg",
)


def area_under(predict: Any, label: Any, hits: Any, misses: Any, thresholds: int, slide_steps: int) -> Any:
    """Return the area (float64, 0-d), and change the counts in place.

    Args:
        predict: ``(N, classes)``, the last column counts, between 0 and 1.
        label: ``(N, 1)``, integers; above 0 is a hit.
        hits: int64, the counts so far per bin, of ``count_shape``.
        misses: the same for the other labels.
        thresholds: number of bins less one.
        slide_steps: length of the window in batches; 0: all of them.
    """
    attrs = {"num_thresholds": int(thresholds), "slide_steps": int(slide_steps)}
    return local.mode.apply(_AUC, (predict, label, hits, misses), attrs)
