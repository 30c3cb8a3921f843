"""Pooling layers: each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any

from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.layers import Layer

__all__ = [
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
]


class _Pool(Layer):
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, **rest: Any) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding, self._rest = kernel_size, stride, padding, rest

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool2D(_Pool):
    """The largest of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size, stride, padding, return_mask=return_mask, ceil_mode=ceil_mode, data_format=data_format
        )

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.max_pool2d(x, self.kernel_size, self.stride, self.padding, **self._rest)


class MaxPool1D(_Pool):
    """The largest of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, return_mask=return_mask, ceil_mode=ceil_mode)

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.max_pool1d(x, self.kernel_size, self.stride, self.padding, **self._rest)


class AvgPool2D(_Pool):
    """The mean of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size,
            stride,
            padding,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            divisor_override=divisor_override,
            data_format=data_format,
        )

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.avg_pool2d(x, self.kernel_size, self.stride, self.padding, **self._rest)


class AvgPool1D(_Pool):
    """The mean of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        exclusive: bool = True,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, exclusive=exclusive, ceil_mode=ceil_mode)

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.avg_pool1d(x, self.kernel_size, self.stride, self.padding, **self._rest)


class AdaptiveAvgPool2D(Layer):
    """Means over windows that divide the image into ``output_size`` parts."""

    def __init__(self, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._output_size, self._format = output_size, data_format

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.adaptive_avg_pool2d(x, self._output_size, self._format)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"output_size={self._output_size}"


class AdaptiveMaxPool2D(Layer):
    """The largest over windows that divide the image into ``output_size`` parts."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__()
        self._output_size, self._return_mask = output_size, return_mask

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.adaptive_max_pool2d(x, self._output_size, self._return_mask)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


# ---- over one and three axes -----------------------------------------------------------------------------------------
class MaxPool3D(_Pool):
    """The largest of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size, stride, padding, return_mask=return_mask, ceil_mode=ceil_mode, data_format=data_format
        )

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.max_pool3d(x, self.kernel_size, self.stride, self.padding, **self._rest)


class AvgPool3D(_Pool):
    """The mean of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            kernel_size,
            stride,
            padding,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            divisor_override=divisor_override,
            data_format=data_format,
        )

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.avg_pool3d(x, self.kernel_size, self.stride, self.padding, **self._rest)


class _Adaptive(Layer):
    _function = ""

    def __init__(self, output_size: Any, *rest: Any) -> None:
        super().__init__()
        self._output_size, self._rest = output_size, rest

    def forward(self, x: Any) -> Any:
        """Pool."""
        return getattr(functional, self._function)(x, self._output_size, *self._rest)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"output_size={self._output_size}"


class AdaptiveAvgPool1D(_Adaptive):
    """Means over windows that divide the length into ``output_size`` parts."""

    _function = "adaptive_avg_pool1d"

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        super().__init__(output_size)


class AdaptiveAvgPool3D(_Adaptive):
    """Means over windows that divide the volume into ``output_size`` parts."""

    _function = "adaptive_avg_pool3d"

    def __init__(self, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> None:
        super().__init__(output_size, data_format)


class AdaptiveMaxPool1D(_Adaptive):
    """The largest over windows that divide the length into ``output_size`` parts."""

    _function = "adaptive_max_pool1d"

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        super().__init__(output_size, return_mask)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"output_size={self._output_size}, return_mask={self._rest[0]}"


class AdaptiveMaxPool3D(AdaptiveMaxPool1D):
    """The largest over windows that divide the volume into ``output_size`` parts."""

    _function = "adaptive_max_pool3d"
