"""Losses as modules (``oneflow.experimental.nn``, v0.4)."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.oneflow import math as flow_math
from opkit.oneflow import nn
from opkit.oneflow.experimental.nn.module import Module
from opkit.oneflow.experimental.tensors import Tensor, lifted
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.user_op import call
from opkit.ops.core.value import shape_of

__all__ = ["CrossEntropyLoss", "NLLLoss"]


class _ClassLoss(Module):
    """A loss of classes along axis 1, one number per place.

    Args:
        weight: refused, as in v0.4.
        ignore_index: refused, as in v0.4.
        reduction: "mean", "sum", "none" or None.
    """

    def __init__(self, weight: Any = None, ignore_index: int | None = None, reduction: str | None = "mean") -> None:
        super().__init__()
        if weight is not None or ignore_index is not None:
            raise ValueError(f"flow.nn.{type(self).__name__}: weight and ignore_index are not supported yet")
        if reduction not in ("mean", "sum", "none", None):
            raise ValueError(f"flow.nn.{type(self).__name__}: reduction is mean, sum or none, got {reduction!r}")
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Any:
        """Return the loss of scores (batch, classes, ...) and numbers of classes (batch, ...)."""
        sizes = tuple(input.shape)
        if len(sizes) < 2 or tuple(target.shape) != (sizes[0], *sizes[2:]):
            raise ShapeError(
                f"flow.nn.{type(self).__name__} takes (batch, classes, ...) and (batch, ...), got shapes {sizes} and "
                f"{tuple(target.shape)}"
            )
        return lifted(self._loss)(input, target)

    def _loss(self, scores: Any, numbers: Any) -> Any:
        sizes = shape_of(scores)
        rows = ops.reshape(ops.transpose(scores, [0, *range(2, len(sizes)), 1]), [-1, sizes[1]])
        each = self._of_rows(rows, ops.reshape(numbers, (-1,)))
        if self.reduction == "mean":
            return flow_math.reduce_mean(each)
        if self.reduction == "sum":
            return flow_math.reduce_sum(each)
        return ops.reshape(each, [sizes[0], *sizes[2:]])

    def _of_rows(self, rows: Any, numbers: Any) -> Any:
        raise NotImplementedError


class CrossEntropyLoss(_ClassLoss):
    """The cross entropy of logits."""

    def _of_rows(self, rows: Any, numbers: Any) -> Any:
        return nn.sparse_softmax_cross_entropy_with_logits(numbers, rows)


class NLLLoss(_ClassLoss):
    """What the logarithms of probabilities say against the classes."""

    def _of_rows(self, rows: Any, numbers: Any) -> Any:
        picked = call("dim_gather", rows, ops.reshape(numbers, (-1, 1)), dim=1)
        return ops.neg(ops.reshape(picked, (-1,)))
