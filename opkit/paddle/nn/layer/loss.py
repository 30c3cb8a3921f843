"""Losses as layers: each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any

from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.layers import Layer

__all__: list[str] = []


def _loss(name: str, function: str, **defaults: Any) -> type[Layer]:
    """Return the layer class of a loss; its arguments are the function's, with their defaults."""
    order = tuple(defaults)
    call = getattr(functional, function)

    def __init__(self: Any, *args: Any, name: str | None = None, **kwargs: Any) -> None:
        Layer.__init__(self)
        if len(args) > len(order):
            raise TypeError(f"{type(self).__name__} takes at most {len(order)} arguments, got {len(args)}")
        given = {**defaults, **dict(zip(order, args))}
        for key, value in kwargs.items():
            if key not in defaults:
                raise TypeError(f"{type(self).__name__} has no argument {key!r} (it has {', '.join(order)})")
            given[key] = value
        reduction = given["reduction"]
        known = ("mean", "sum", "none", "batchmean") if function == "kl_div" else ("mean", "sum", "none")
        if reduction not in known:
            raise ValueError(f"{type(self).__name__}: reduction is one of {', '.join(known)}, got {reduction!r}")
        object.__setattr__(self, "_arguments", given)

    def forward(self: Any, *values: Any) -> Any:
        return call(*values, **self._arguments)

    forward.__doc__ = call.__doc__
    members = {
        "__init__": __init__,
        "forward": forward,
        "__doc__": f"``nn.functional.{function}`` as a layer.",
        "__module__": __name__,
        "__qualname__": name,
    }
    __all__.append(name)
    return type(name, (Layer,), members)


CrossEntropyLoss = _loss(
    "CrossEntropyLoss",
    "cross_entropy",
    weight=None,
    ignore_index=-100,
    reduction="mean",
    soft_label=False,
    axis=-1,
    use_softmax=True,
    label_smoothing=0.0,
)
MSELoss = _loss("MSELoss", "mse_loss", reduction="mean")
L1Loss = _loss("L1Loss", "l1_loss", reduction="mean")
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", reduction="mean", delta=1.0)
BCELoss = _loss("BCELoss", "binary_cross_entropy", weight=None, reduction="mean")
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", weight=None, reduction="mean", pos_weight=None
)
NLLLoss = _loss("NLLLoss", "nll_loss", weight=None, ignore_index=-100, reduction="mean")
KLDivLoss = _loss("KLDivLoss", "kl_div", reduction="mean")
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", margin=0.0, reduction="mean")
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", margin=0, reduction="mean")
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss", full=False, epsilon=1e-06, reduction="mean")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", margin=1.0, reduction="mean")
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss", "multi_label_soft_margin_loss", weight=None, reduction="mean"
)
MultiMarginLoss = _loss("MultiMarginLoss", "multi_margin_loss", p=1, margin=1.0, weight=None, reduction="mean")
PoissonNLLLoss = _loss(
    "PoissonNLLLoss", "poisson_nll_loss", log_input=True, full=False, epsilon=1e-08, reduction="mean"
)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", reduction="mean")
TripletMarginLoss = _loss(
    "TripletMarginLoss", "triplet_margin_loss", margin=1.0, p=2.0, epsilon=1e-06, swap=False, reduction="mean"
)
TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss",
    "triplet_margin_with_distance_loss",
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
)
