"""Convolution layers, plain and transposed, over one to three axes; each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Normal
from opkit.paddle.nn.layer.declared import FunctionLayer, ParameterLayer, declared
from opkit.shim.missing import guard as _guard

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]

_MODES = ("zeros", "reflect", "replicate", "circular")


@declared
class _Convolution(FunctionLayer, ParameterLayer):
    """What convolution layers share: the sizes, a weight and a bias.

    Each family declares the rest (dilation, groups, the parameters' attributes, data_format), in Paddle's order.
    """

    _spatial = 2

    in_channels: int
    out_channels: int
    kernel_size: Any
    stride: Any = 1
    padding: Any = 0

    def __post_init__(self) -> None:
        weight_attr, bias_attr, groups = (vars(self)[name] for name in ("weight_attr", "bias_attr", "groups"))
        if self.in_channels % groups:
            kind, count = type(self).__name__, self.in_channels
            raise UsageError(f"{kind}: in_channels {count} is not divisible by groups {groups}")
        shape = [*self._channels_of_weight(groups), *self._each(self.kernel_size)]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=self._first_weight())
        self.bias = self.create_parameter([self.out_channels], bias_attr, is_bias=True)

    def _channels_of_weight(self, groups: int) -> list[int]:
        return [self.out_channels, self.in_channels // groups]

    def _first_weight(self) -> Any:
        return Normal(0.0, float(np.sqrt(2.0 / (self.in_channels * np.prod(self._each(self.kernel_size))))))

    def _each(self, item: Any) -> list[int]:
        return list(item) if isinstance(item, (list, tuple)) else [item] * self._spatial

    def _windows(self) -> dict[str, Any]:
        held = self.__dict__
        return {name: held[name] for name in ("stride", "padding", "dilation", "groups", "data_format")}

    def extra_repr(self) -> str:
        """Return the sizes, and the settings that are not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self._each(self.kernel_size)}"
        defaults = {"stride": 1, "padding": 0, "padding_mode": "zeros", "dilation": 1, "groups": 1}
        for name, default in defaults.items():
            value = vars(self).get(name, default)
            if value != default and not (isinstance(value, (list, tuple)) and set(value) == {default}):
                text += f", {name}={self._each(value) if name in ('stride', 'dilation') else value}"
        return f"{text}, data_format={vars(self)['data_format']}"


# ---- convolutions ----------------------------------------------------------------------------------------------------
@declared
class _Conv(_Convolution):
    dilation: Any = 1
    groups: int = 1
    padding_mode: str = "zeros"
    weight_attr: Any = None
    bias_attr: Any = None
    data_format: str = "NCHW"

    def __post_init__(self) -> None:
        if self.padding_mode not in _MODES:
            known = f"{', '.join(map(repr, _MODES[:-1]))} or {_MODES[-1]!r}"
            raise UsageError(f"{type(self).__name__}: padding_mode is {known}, got {self.padding_mode!r}")
        super().__post_init__()

    def forward(self, x: Any) -> Any:
        """Apply the convolution; padding other than with zeros is done here."""
        windows = self._windows()
        if self.padding_mode != "zeros":
            pairs = [count for count in reversed(self._each(self.padding)) for _ in range(2)]
            x = functional.pad(x, pairs, self.padding_mode, data_format=self.data_format)
            windows["padding"] = 0
        return self._function(x, self.weight, self.bias, **windows)


@declared
class Conv1D(_Conv, function=functional.conv1d):
    """A 1-D convolution with a weight of (out_channels, in_channels / groups, length)."""

    _spatial = 1

    data_format: str = "NCL"


@declared
class Conv2D(_Conv, function=functional.conv2d):
    """A 2-D convolution with a weight of (out_channels, in_channels / groups, height, width)."""


@declared
class Conv3D(_Conv, function=functional.conv3d):
    """A 3-D convolution with a weight of (out_channels, in_channels / groups, depth, height, width)."""

    _spatial = 3

    data_format: str = "NCDHW"


# ---- transposed convolutions -----------------------------------------------------------------------------------------
@declared
class _Transposed(_Convolution):
    output_padding: Any = 0

    def _channels_of_weight(self, groups: int) -> list[int]:
        return [self.in_channels, self.out_channels // groups]

    def _first_weight(self) -> Any:
        return None  # Paddle 2.6 starts these weights as any layer's

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Apply the transposed convolution."""
        sizes = {"output_padding": self.output_padding, "output_size": output_size}
        return self._function(x, self.weight, self.bias, **sizes, **self._windows())


@declared
class Conv1DTranspose(_Transposed, function=functional.conv1d_transpose):
    """A transposed 1-D convolution with a weight of (in_channels, out_channels / groups, length)."""

    _spatial = 1

    groups: int = 1
    dilation: Any = 1
    weight_attr: Any = None
    bias_attr: Any = None
    data_format: str = "NCL"


@declared
class _TransposedOfFormat(_Transposed):
    dilation: Any = 1
    groups: int = 1
    weight_attr: Any = None
    bias_attr: Any = None
    data_format: str = "NCHW"


@declared
class Conv2DTranspose(_TransposedOfFormat, function=functional.conv2d_transpose):
    """A transposed 2-D convolution with a weight of (in_channels, out_channels / groups, height, width)."""


@declared
class Conv3DTranspose(_TransposedOfFormat, function=functional.conv3d_transpose):
    """A transposed 3-D convolution with a weight of (in_channels, out_channels / groups, depth, height, width)."""

    _spatial = 3

    data_format: str = "NCDHW"


__getattr__ = _guard(globals())
