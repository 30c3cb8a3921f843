"""Layers with parameters of linear maps, lookups and filters; dropout, flatten, identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Normal, XavierUniform
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.tensor import manipulation

__all__ = ["Conv1D", "Conv2D", "Conv2DTranspose", "Dropout", "Dropout2D", "Embedding", "Flatten", "Identity", "Linear"]


class Linear(Layer):
    """``x @ weight + bias`` with a weight of (in_features, out_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
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
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        if num_embeddings <= 0 or embedding_dim <= 0:
            raise UsageError(f"Embedding: sizes must be positive, got {num_embeddings} and {embedding_dim}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise UsageError(f"Embedding: padding_idx must be within [-{num_embeddings}, {num_embeddings})")
        self._sizes = num_embeddings, embedding_dim, sparse
        at = None if padding_idx is None or padding_idx == -1 else padding_idx % num_embeddings
        self._padding_idx = at
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


class ConvLayer(Layer):
    """What convolution layers share: sizes, settings, weight and bias."""

    _spatial = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "",
    ) -> None:
        super().__init__(dtype=default_dtype())
        if in_channels % groups:
            raise UsageError(f"{type(self).__name__}: in_channels {in_channels} is not divisible by groups {groups}")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise UsageError(
                f"{type(self).__name__}: padding_mode is 'zeros', 'reflect', 'replicate' or 'circular', "
                f"got {padding_mode!r}"
            )
        self._kernel = self._sizes(kernel_size)
        self._settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self._format = data_format or ("NCHW" if self._spatial == 2 else "NCL")
        self._channels = in_channels, out_channels
        self._padding_mode = padding_mode
        shape = self._weight_shape(in_channels, out_channels, groups)
        default = Normal(0.0, float(np.sqrt(2.0 / (in_channels * np.prod(self._kernel)))))
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=self._default(default))
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def _default(self, normal: Any) -> Any:
        return normal

    def _padded(self, x: Any) -> tuple[Any, dict[str, Any]]:
        """Return the input and the settings; padding other than with zeros is done here."""
        if self._padding_mode == "zeros":
            return x, self._settings
        padding = self._settings["padding"]
        counts = list(padding) if isinstance(padding, (list, tuple)) else [padding] * self._spatial
        pairs = [count for count in reversed(counts) for _ in range(2)]
        return functional.pad(x, pairs, self._padding_mode, data_format=self._format), {**self._settings, "padding": 0}

    def _sizes(self, item: Any) -> list[int]:
        return list(item) if isinstance(item, (list, tuple)) else [item] * self._spatial

    def _weight_shape(self, in_channels: int, out_channels: int, groups: int) -> list[int]:
        return [out_channels, in_channels // groups, *self._kernel]

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that are not the default."""
        text = f"{self._channels[0]}, {self._channels[1]}, kernel_size={self._kernel}"
        defaults = {"stride": 1, "padding": 0, "mode": 0, "dilation": 1, "groups": 1}
        for name, default in defaults.items():
            if name == "mode":
                text += f", padding_mode={self._padding_mode}" if self._padding_mode != "zeros" else ""
                continue
            value = self._settings[name]
            if value != default and not (isinstance(value, (list, tuple)) and set(value) == {default}):
                text += f", {name}={value if name in ('groups', 'padding') else self._sizes(value)}"
        return f"{text}, data_format={self._format}"


class Conv2D(ConvLayer):
    """A 2-D convolution with a weight of (out_channels, in_channels / groups, height, width)."""

    def forward(self, x: Any) -> Any:
        """Apply the convolution."""
        x, settings = self._padded(x)
        return functional.conv2d(x, self.weight, self.bias, data_format=self._format, **settings)


class Conv1D(ConvLayer):
    """A 1-D convolution with a weight of (out_channels, in_channels / groups, length)."""

    _spatial = 1

    def forward(self, x: Any) -> Any:
        """Apply the convolution."""
        x, settings = self._padded(x)
        return functional.conv1d(x, self.weight, self.bias, data_format=self._format, **settings)


class Conv2DTranspose(ConvLayer):
    """A transposed 2-D convolution with a weight of (in_channels, out_channels / groups, height, width)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            "zeros",
            weight_attr,
            bias_attr,
            data_format,
        )
        self._output_padding = output_padding

    def _weight_shape(self, in_channels: int, out_channels: int, groups: int) -> list[int]:
        return [in_channels, out_channels // groups, *self._kernel]

    def _default(self, normal: Any) -> Any:
        return None

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Apply the transposed convolution."""
        return functional.conv2d_transpose(
            x,
            self.weight,
            self.bias,
            output_padding=self._output_padding,
            output_size=output_size,
            data_format=self._format,
            **self._settings,
        )


class Dropout(Layer):
    """Sets elements to 0 with probability p while training."""

    def __init__(self, p: Any = 0.5, axis: Any = None, mode: str = "upscale_in_train", name: str | None = None) -> None:
        super().__init__()
        self.p, self.axis, self.mode, self.name = p, axis, mode, name

    def forward(self, input: Any) -> Any:
        """Drop elements while training."""
        return functional.dropout(input, self.p, self.axis, self.training, self.mode)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"


class Dropout2D(Layer):
    """Sets whole channels to 0 with probability p while training."""

    def __init__(self, p: float = 0.5, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input: Any) -> Any:
        """Drop channels while training."""
        return functional.dropout2d(input, self.p, self.training, self.data_format)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}, data_format={self.data_format}"


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
