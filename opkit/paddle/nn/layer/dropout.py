"""Dropout layers: each calls its function in ``nn.functional`` and does nothing in evaluation."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Name
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared

__all__ = ["Dropout", "Dropout2D", "Dropout3D"]


@declared
class Dropout(DeclaredLayer):
    """Sets elements to 0 with probability p while training."""

    p: Any = 0.5
    axis: Any = None
    mode: str = "upscale_in_train"
    name: Name = None

    def forward(self, input: Any) -> Any:
        """Drop elements while training."""
        return functional.dropout(input, self.p, self.axis, self.training, self.mode)


@declared
class _ChannelDropout(DeclaredLayer):
    p: float = 0.5
    data_format: str = "NCHW"
    name: Name = None


@declared
class Dropout2D(_ChannelDropout):
    """Sets whole channels to 0 with probability p while training."""

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        return functional.dropout2d(input, self.p, self.training, self.data_format)


@declared
class Dropout3D(_ChannelDropout):
    """Sets whole channels to 0 with probability p while training."""

    data_format: str = "NCDHW"

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        return functional.dropout3d(input, self.p, self.training, self.data_format)
