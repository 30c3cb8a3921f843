"""Losses as layers: each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any, ClassVar

from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.declared import FunctionLayer, declared
from opkit.shim.missing import guard as _guard

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "CTCLoss",
    "HingeEmbeddingLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
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
    name: str | None = None


@declared
class MSELoss(_PairLoss, function=functional.mse_loss):
    """``nn.functional.mse_loss`` as a layer."""

    reduction: str = "mean"


@declared
class L1Loss(_PairLoss, function=functional.l1_loss):
    """``nn.functional.l1_loss`` as a layer."""

    reduction: str = "mean"
    name: str | None = None


@declared
class SmoothL1Loss(_PairLoss, function=functional.smooth_l1_loss):
    """``nn.functional.smooth_l1_loss`` as a layer."""

    reduction: str = "mean"
    delta: float = 1.0
    name: str | None = None


@declared
class BCELoss(_PairLoss, function=functional.binary_cross_entropy):
    """``nn.functional.binary_cross_entropy`` as a layer."""

    weight: Any = None
    reduction: str = "mean"
    name: str | None = None


@declared
class BCEWithLogitsLoss(_Loss, function=functional.binary_cross_entropy_with_logits):
    """``nn.functional.binary_cross_entropy_with_logits`` as a layer."""

    weight: Any = None
    reduction: str = "mean"
    pos_weight: Any = None
    name: str | None = None

    def forward(self, logit: Any, label: Any) -> Any:
        """Return the loss."""
        return self._loss(logit, label)


@declared
class NLLLoss(_PairLoss, function=functional.nll_loss):
    """``nn.functional.nll_loss`` as a layer."""

    weight: Any = None
    ignore_index: int = -100
    reduction: str = "mean"
    name: str | None = None


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
    name: str | None = None

    def forward(self, input: Any, other: Any, label: Any) -> Any:
        """Return the loss."""
        return self._loss(input, other, label)


@declared
class CosineEmbeddingLoss(_Loss, function=functional.cosine_embedding_loss):
    """``nn.functional.cosine_embedding_loss`` as a layer."""

    margin: float = 0
    reduction: str = "mean"
    name: str | None = None

    def forward(self, input1: Any, input2: Any, label: Any) -> Any:
        """Return the loss."""
        return self._loss(input1, input2, label)


@declared
class GaussianNLLLoss(_Loss, function=functional.gaussian_nll_loss):
    """``nn.functional.gaussian_nll_loss`` as a layer."""

    full: bool = False
    epsilon: float = 1e-06
    reduction: str = "mean"
    name: str | None = None

    def forward(self, input: Any, label: Any, variance: Any) -> Any:
        """Return the loss."""
        return self._loss(input, label, variance)


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


@declared
class HingeEmbeddingLoss(_PairLoss, function=functional.hinge_embedding_loss):
    """``nn.functional.hinge_embedding_loss`` as a layer."""

    margin: float = 1.0
    reduction: str = "mean"
    name: str | None = None


@declared
class MultiLabelSoftMarginLoss(_PairLoss, function=functional.multi_label_soft_margin_loss):
    """``nn.functional.multi_label_soft_margin_loss`` as a layer."""

    weight: Any = None
    reduction: str = "mean"
    name: str | None = None


@declared
class MultiMarginLoss(_PairLoss, function=functional.multi_margin_loss):
    """``nn.functional.multi_margin_loss`` as a layer."""

    p: int = 1
    margin: float = 1.0
    weight: Any = None
    reduction: str = "mean"
    name: str | None = None


@declared
class PoissonNLLLoss(_PairLoss, function=functional.poisson_nll_loss):
    """``nn.functional.poisson_nll_loss`` as a layer."""

    log_input: bool = True
    full: bool = False
    epsilon: float = 1e-08
    reduction: str = "mean"
    name: str | None = None


@declared
class SoftMarginLoss(_PairLoss, function=functional.soft_margin_loss):
    """``nn.functional.soft_margin_loss`` as a layer."""

    reduction: str = "mean"
    name: str | None = None


@declared
class TripletMarginLoss(_Loss, function=functional.triplet_margin_loss):
    """``nn.functional.triplet_margin_loss`` as a layer."""

    margin: float = 1.0
    p: float = 2.0
    epsilon: float = 1e-06
    swap: bool = False
    reduction: str = "mean"
    name: str | None = None

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        """Return the loss."""
        return self._loss(input, positive, negative)


@declared
class TripletMarginWithDistanceLoss(_Loss, function=functional.triplet_margin_with_distance_loss):
    """``nn.functional.triplet_margin_with_distance_loss`` as a layer."""

    distance_function: Any = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"
    name: str | None = None

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        """Return the loss."""
        return self._loss(input, positive, negative)


__getattr__ = _guard(__name__, globals())
