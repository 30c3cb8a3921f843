"""Pooling layers: each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any, ClassVar

from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
from opkit.shim.missing import guard as _guard

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
    "MaxUnPool2D",
]


@declared
class _Pool(DeclaredLayer):
    _shown: ClassVar[tuple[str, ...]] = ("kernel_size", "stride", "padding")

    kernel_size: Any
    stride: Any = None
    padding: Any = 0


@declared
class _Adaptive(DeclaredLayer):
    output_size: Any


# ---- the largest of each window --------------------------------------------------------------------------------------
@declared
class MaxPool1D(_Pool):
    """The largest of each window."""

    return_mask: bool = False
    ceil_mode: bool = False
    name: str | None = None

    def forward(self, input: Any) -> Any:
        """Pool."""
        return functional.max_pool1d(input, *self._values(self))


@declared
class _MaxPool(_Pool):
    return_mask: bool = False
    ceil_mode: bool = False
    data_format: str = "NCHW"
    name: str | None = None


@declared
class MaxPool2D(_MaxPool):
    """The largest of each window."""

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.max_pool2d(x, *self._values(self))


@declared
class MaxPool3D(_MaxPool):
    """The largest of each window."""

    data_format: str = "NCDHW"

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.max_pool3d(x, *self._values(self))


@declared
class MaxUnPool2D(_Pool):
    """Zeros with elements where a pool found them."""

    _shown = ("output_size",)

    data_format: str = "NCHW"
    output_size: Any = None
    name: str | None = None

    def forward(self, x: Any, indices: Any) -> Any:
        """Put them back."""
        return functional.max_unpool2d(x, indices, *self._values(self))


@declared
class _AdaptiveMaxPool(_Adaptive):
    return_mask: bool = False
    name: str | None = None


@declared
class AdaptiveMaxPool1D(_AdaptiveMaxPool):
    """The largest over windows that divide the length into ``output_size`` parts."""

    def forward(self, input: Any) -> Any:
        """Pool."""
        return functional.adaptive_max_pool1d(input, *self._values(self))


@declared
class AdaptiveMaxPool2D(_AdaptiveMaxPool):
    """The largest over windows that divide the image into ``output_size`` parts."""

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.adaptive_max_pool2d(x, *self._values(self))


@declared
class AdaptiveMaxPool3D(_AdaptiveMaxPool):
    """The largest over windows that divide the volume into ``output_size`` parts."""

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.adaptive_max_pool3d(x, *self._values(self))


# ---- the mean of each window -----------------------------------------------------------------------------------------
@declared
class AvgPool1D(_Pool):
    """The mean of each window."""

    exclusive: bool = True
    ceil_mode: bool = False
    name: str | None = None

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.avg_pool1d(x, *self._values(self))


@declared
class _AvgPool(_Pool):
    ceil_mode: bool = False
    exclusive: bool = True
    divisor_override: float | None = None
    data_format: str = "NCHW"
    name: str | None = None


@declared
class AvgPool2D(_AvgPool):
    """The mean of each window."""

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.avg_pool2d(x, *self._values(self))


@declared
class AvgPool3D(_AvgPool):
    """The mean of each window."""

    data_format: str = "NCDHW"

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.avg_pool3d(x, *self._values(self))


@declared
class AdaptiveAvgPool1D(_Adaptive):
    """Means over windows that divide the length into ``output_size`` parts."""

    name: str | None = None

    def forward(self, input: Any) -> Any:
        """Pool."""
        return functional.adaptive_avg_pool1d(input, *self._values(self))


@declared
class _AdaptiveAvgPool(_Adaptive):
    _shown = ("output_size",)

    data_format: str = "NCHW"
    name: str | None = None


@declared
class AdaptiveAvgPool2D(_AdaptiveAvgPool):
    """Means over windows that divide the image into ``output_size`` parts."""

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.adaptive_avg_pool2d(x, *self._values(self))


@declared
class AdaptiveAvgPool3D(_AdaptiveAvgPool):
    """Means over windows that divide the volume into ``output_size`` parts."""

    data_format: str = "NCDHW"

    def forward(self, x: Any) -> Any:
        """Pool."""
        return functional.adaptive_avg_pool3d(x, *self._values(self))


__getattr__ = _guard(__name__, globals())
