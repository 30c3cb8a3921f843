"""Pooling layers: each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any, ClassVar

from opkit.ops.core.types import Name
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.declared import InputLayer, MapLayer, declared
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
]


@declared
class _Pool(MapLayer):
    _shown: ClassVar[tuple[str, ...]] = ("kernel_size", "stride", "padding")

    kernel_size: Any
    stride: Any = None
    padding: Any = 0


@declared
class _Adaptive(MapLayer):
    output_size: Any


# ---- the largest of each window --------------------------------------------------------------------------------------
@declared
class MaxPool1D(InputLayer, _Pool, function=functional.max_pool1d):
    """The largest of each window."""

    return_mask: bool = False
    ceil_mode: bool = False
    name: Name = None


@declared
class _MaxPool(_Pool):
    return_mask: bool = False
    ceil_mode: bool = False
    data_format: str = "NCHW"
    name: Name = None


@declared
class MaxPool2D(_MaxPool, function=functional.max_pool2d):
    """The largest of each window."""


@declared
class MaxPool3D(_MaxPool, function=functional.max_pool3d):
    """The largest of each window."""

    data_format: str = "NCDHW"


@declared
class _AdaptiveMaxPool(_Adaptive):
    return_mask: bool = False
    name: Name = None


@declared
class AdaptiveMaxPool1D(InputLayer, _AdaptiveMaxPool, function=functional.adaptive_max_pool1d):
    """The largest over windows that divide the length into ``output_size`` parts."""


@declared
class AdaptiveMaxPool2D(_AdaptiveMaxPool, function=functional.adaptive_max_pool2d):
    """The largest over windows that divide the image into ``output_size`` parts."""


@declared
class AdaptiveMaxPool3D(_AdaptiveMaxPool, function=functional.adaptive_max_pool3d):
    """The largest over windows that divide the volume into ``output_size`` parts."""


# ---- the mean of each window -----------------------------------------------------------------------------------------
@declared
class AvgPool1D(_Pool, function=functional.avg_pool1d):
    """The mean of each window."""

    exclusive: bool = True
    ceil_mode: bool = False
    name: Name = None


@declared
class _AvgPool(_Pool):
    ceil_mode: bool = False
    exclusive: bool = True
    divisor_override: float | None = None
    data_format: str = "NCHW"
    name: Name = None


@declared
class AvgPool2D(_AvgPool, function=functional.avg_pool2d):
    """The mean of each window."""


@declared
class AvgPool3D(_AvgPool, function=functional.avg_pool3d):
    """The mean of each window."""

    data_format: str = "NCDHW"


@declared
class AdaptiveAvgPool1D(InputLayer, _Adaptive, function=functional.adaptive_avg_pool1d):
    """Means over windows that divide the length into ``output_size`` parts."""

    name: Name = None


@declared
class _AdaptiveAvgPool(_Adaptive):
    _shown = ("output_size",)

    data_format: str = "NCHW"
    name: Name = None


@declared
class AdaptiveAvgPool2D(_AdaptiveAvgPool, function=functional.adaptive_avg_pool2d):
    """Means over windows that divide the image into ``output_size`` parts."""


@declared
class AdaptiveAvgPool3D(_AdaptiveAvgPool, function=functional.adaptive_avg_pool3d):
    """Means over windows that divide the volume into ``output_size`` parts."""

    data_format: str = "NCDHW"


__getattr__ = _guard(globals())
