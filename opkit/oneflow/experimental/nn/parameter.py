"""Parameter: a tensor that a Module trains (``flow.nn.Parameter``, v0.4)."""

from __future__ import annotations

from opkit.oneflow.experimental.functions import Tensor


class Parameter(Tensor):
    """A tensor that a Module trains.

    Args:
        data: a tensor; its data is shared.
        requires_grad: whether ``backward`` computes its gradient.
    """

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        if not isinstance(data, Tensor):
            raise TypeError(f"flow.nn.Parameter takes a Tensor, got {type(data).__name__}")
        self._value = data.detach()._value
        self._device = data.device
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return f"Parameter containing: {super().__repr__()}"
