"""Losses as layers: each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any, ClassVar

from opkit.ops.core.types import Name
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.declared import FunctionLayer, declared
from opkit.shim.missing import guard as _guard

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "CTCLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class _Loss(FunctionLayer):
    """A loss whose fields are its function's arguments."""

    _shown = ()
    _reductions: ClassVar[tuple[str, ...]] = ("mean", "sum", "none")

    def __post_init__(self) -> None:
        reduction = vars(self)["reduction"]
        if reduction not in self._reductions:
            known = ", ".join(self._reductions)
            raise ValueError(f"{type(self).__name__}: reduction is one of {known}, got {reduction!r}")

    def _loss(self, *values: Any) -> Any:
        return self._function(*values, *self._values(self))


class _PairLoss(_Loss):
    """A loss of an input and a label."""

    def forward(self, input: Any, label: Any) -> Any:
        """Return the loss."""
        return self._function(input, label, *self._values(self))


@declared
class CrossEntropyLoss(_PairLoss, function=functional.cross_entropy):
    """``nn.functional.cross_entropy`` as a layer."""

    weight: Any = None
    ignore_index: int = -100
    reduction: str = "mean"
    soft_label: bool = False
    axis: int = -1
    use_softmax: bool = True
    label_smoothing: float = 0.0
    name: Name = None


@declared
class MSELoss(_PairLoss, function=functional.mse_loss):
    """``nn.functional.mse_loss`` as a layer."""

    reduction: str = "mean"


@declared
class L1Loss(_PairLoss, function=functional.l1_loss):
    """``nn.functional.l1_loss`` as a layer."""

    reduction: str = "mean"
    name: Name = None


@declared
class SmoothL1Loss(_PairLoss, function=functional.smooth_l1_loss):
    """``nn.functional.smooth_l1_loss`` as a layer."""

    reduction: str = "mean"
    delta: float = 1.0
    name: Name = None


@declared
class BCELoss(_PairLoss, function=functional.binary_cross_entropy):
    """``nn.functional.binary_cross_entropy`` as a layer."""

    weight: Any = None
    reduction: str = "mean"
    name: Name = None


@declared
class BCEWithLogitsLoss(_Loss, function=functional.binary_cross_entropy_with_logits):
    """``nn.functional.binary_cross_entropy_with_logits`` as a layer."""

    weight: Any = None
    reduction: str = "mean"
    pos_weight: Any = None
    name: Name = None

    def forward(self, logit: Any, label: Any) -> Any:
        """Return the loss."""
        return self._loss(logit, label)


@declared
class NLLLoss(_PairLoss, function=functional.nll_loss):
    """``nn.functional.nll_loss`` as a layer."""

    weight: Any = None
    ignore_index: int = -100
    reduction: str = "mean"
    name: Name = None


@declared
class KLDivLoss(_PairLoss, function=functional.kl_div):
    """``nn.functional.kl_div`` as a layer."""

    _reductions = (*_Loss._reductions, "batchmean")

    reduction: str = "mean"


@declared
class MarginRankingLoss(_Loss, function=functional.margin_ranking_loss):
    """``nn.functional.margin_ranking_loss`` as a layer."""

    margin: float = 0.0
    reduction: str = "mean"
    name: Name = None

    def forward(self, input: Any, other: Any, label: Any) -> Any:
        """Return the loss."""
        return self._loss(input, other, label)


@declared
class CTCLoss(_Loss, function=functional.ctc_loss):
    """``nn.functional.ctc_loss`` as a layer."""

    blank: int = 0
    reduction: str = "mean"

    def forward(
        self, log_probs: Any, labels: Any, input_lengths: Any, label_lengths: Any, norm_by_times: bool = False
    ) -> Any:
        """Return the loss."""
        lengths = (input_lengths, label_lengths)
        return functional.ctc_loss(log_probs, labels, *lengths, self.blank, self.reduction, norm_by_times)


__getattr__ = _guard(globals())
