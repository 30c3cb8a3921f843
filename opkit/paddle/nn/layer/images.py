"""Layers that rearrange, resize, pad and cut images; each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Name
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.declared import InputLayer, MapLayer, declared
from opkit.paddle.tensor.checks import ints

__all__ = [
    "Pad1D",
    "Pad2D",
    "Pad3D",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingNearest2D",
]


# ---- rearranging -----------------------------------------------------------------------------------------------------
class _Rearranged(MapLayer):
    def extra_repr(self) -> str:
        """Return the settings; the format only where it is not NCHW."""
        return super().extra_repr().removesuffix(", data_format=NCHW")


@declared
class PixelShuffle(_Rearranged, function=functional.pixel_shuffle):
    """Makes images r times as high and wide from r * r times as many channels."""

    upscale_factor: int
    data_format: str = "NCHW"
    name: Name = None


@declared
class PixelUnshuffle(_Rearranged, function=functional.pixel_unshuffle):
    """Divides the height and width of images by r, and multiplies their channels by r * r."""

    downscale_factor: int
    data_format: str = "NCHW"
    name: Name = None


# ---- resizing --------------------------------------------------------------------------------------------------------
@declared
class _Resized(MapLayer):
    size: Any = None
    scale_factor: Any = None

    def extra_repr(self) -> str:
        """Return the scale or the size, and the other settings."""
        left_out = "size" if self.scale_factor is not None else "scale_factor"
        return ", ".join(f"{name}={value}" for name, value in self._arguments().items() if name != left_out)


@declared
class Upsample(_Resized, function=functional.interpolate):
    """Resizes images along their spatial axes."""

    mode: str = "nearest"
    align_corners: bool = False
    align_mode: int = 0
    data_format: str = "NCHW"
    name: Name = None

    def __post_init__(self) -> None:
        self.mode = self.mode.lower()


@declared
class UpsamplingNearest2D(_Resized):
    """Resizes images, each pixel taking the nearest one's value."""

    data_format: str = "NCHW"
    name: Name = None

    def forward(self, x: Any) -> Any:
        """Resize."""
        return functional.interpolate(x, mode="nearest", **self._arguments())


@declared
class UpsamplingBilinear2D(_Resized):
    """Resizes images by bilinear interpolation, the corners staying where they are."""

    data_format: str = "NCHW"
    name: Name = None

    def forward(self, x: Any) -> Any:
        """Resize."""
        return functional.interpolate(x, mode="bilinear", align_corners=True, **self._arguments())


# ---- padding ---------------------------------------------------------------------------------------------------------
@declared
class _Pad(MapLayer, function=functional.pad):
    _spatial = 2

    padding: Any
    mode: str = "constant"
    value: float = 0.0
    data_format: str = "NCHW"
    name: Name = None

    def __post_init__(self) -> None:
        counts = ints(self.padding)
        self.padding = counts * (2 * self._spatial) if len(counts) == 1 else counts


@declared
class Pad1D(_Pad):
    """Pads (N, C, L) left and right."""

    _spatial = 1

    data_format: str = "NCL"


class Pad2D(_Pad):
    """Pads images left, right, above and below."""


@declared
class Pad3D(_Pad):
    """Pads volumes at all sides."""

    _spatial = 3

    data_format: str = "NCDHW"


# ---- windows ---------------------------------------------------------------------------------------------------------
@declared
class Unfold(InputLayer):
    """Takes the windows of images as columns."""

    kernel_sizes: Any
    dilations: Any = 1
    paddings: Any = 0
    strides: Any = 1
    name: Name = None

    def forward(self, input: Any) -> Any:
        """Unfold."""
        return functional.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self) -> str:
        """Return the settings, by the names that Paddle prints."""
        return ", ".join(f"{name.removesuffix('s')}={value}" for name, value in self._arguments().items())
