"""Losses of pairs, margins, counts and overlaps, as Paddle 2.6 reduces them."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.ops.composed import losses
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics.losses import check_reduction, reduced
from opkit.paddle.tensor.checks import need_value

__all__ = ["sigmoid_focal_loss", "soft_margin_loss"]


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
