"""Linear maps and lookups; flatten, identity.

Dropout layers: each calls its function in ``nn.functional`` and does nothing in evaluation.
"""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import XavierUniform
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.tensor import manipulation
from opkit.shim.missing import guard as _guard

__all__ = [
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "Embedding",
    "Flatten",
    "Identity",
    "Linear",
]


class Linear(Layer):
    """``x @ weight + bias`` with a weight of (in_features, out_features)."""

    def __init__(
        self, in_features: int, out_features: int, weight_attr: Any = None, bias_attr: Any = None, name: Name = None
    ) -> None:
        super().__init__(dtype=default_dtype())
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.name = name

    def forward(self, input: Any) -> Any:
        """Apply the map to the last axis."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and the dtype."""
        rows, columns = self.weight.shape
        named = f", name={self.name}" if self.name else ""
        return f"in_features={rows}, out_features={columns}, dtype={self._dtype}{named}"


class Embedding(Layer):
    """A table whose rows are looked up by integers."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
        weight_attr: Any = None,
        name: Name = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        if num_embeddings <= 0 or embedding_dim <= 0:
            raise UsageError(f"Embedding: sizes must be positive, got {num_embeddings} and {embedding_dim}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise UsageError(f"Embedding: padding_idx must be within [-{num_embeddings}, {num_embeddings})")
        self._sizes = num_embeddings, embedding_dim, sparse
        at = None if padding_idx is None else padding_idx % num_embeddings
        self._padding_idx = padding_idx
        self.weight = self.create_parameter(
            [num_embeddings, embedding_dim], weight_attr, default_initializer=XavierUniform()
        )
        if at is not None and hasattr(self.weight, "_sg"):
            self.weight._data[at] = 0

    def forward(self, x: Any) -> Any:
        """Return the rows."""
        return functional.embedding(x, self.weight, self._padding_idx)

    def extra_repr(self) -> str:
        """Return the sizes."""
        text = f"{self._sizes[0]}, {self._sizes[1]}"
        if self._padding_idx is not None:
            text += f", padding_idx={self._padding_idx}"
        return f"{text}, sparse={self._sizes[2]}"


class Flatten(Layer):
    """Joins a run of axes into one."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input: Any) -> Any:
        """Join the axes."""
        return manipulation.flatten(input, self.start_axis, self.stop_axis)


class Identity(Layer):
    """Returns its input."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input


__getattr__ = _guard(globals())


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
