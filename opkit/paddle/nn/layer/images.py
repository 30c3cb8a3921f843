"""Layers that rearrange, resize, pad and cut images; each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any

from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
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
class _Rearranged(DeclaredLayer):
    def extra_repr(self) -> str:
        """Return the settings; the format only where it is not NCHW."""
        return super().extra_repr().removesuffix(", data_format=NCHW")


@declared
class PixelShuffle(_Rearranged):
    """Makes images r times as high and wide from r * r times as many channels."""

    upscale_factor: int
    data_format: str = "NCHW"
    name: str | None = None

    def forward(self, x: Any) -> Any:
        """Rearrange the elements."""
        return functional.pixel_shuffle(x, self.upscale_factor, self.data_format)


@declared
class PixelUnshuffle(_Rearranged):
    """Divides the height and width of images by r, and multiplies their channels by r * r."""

    downscale_factor: int
    data_format: str = "NCHW"
    name: str | None = None

    def forward(self, x: Any) -> Any:
        """Rearrange the elements."""
        return functional.pixel_unshuffle(x, self.downscale_factor, self.data_format)


# ---- resizing --------------------------------------------------------------------------------------------------------
@declared
class _Resized(DeclaredLayer):
    size: Any = None
    scale_factor: Any = None

    def extra_repr(self) -> str:
        """Return the scale or the size, and the other settings."""
        left_out = "size" if self.scale_factor is not None else "scale_factor"
        return ", ".join(f"{name}={value}" for name, value in self._arguments().items() if name != left_out)


@declared
class Upsample(_Resized):
    """Resizes images along their spatial axes."""

    mode: str = "nearest"
    align_corners: bool = False
    align_mode: int = 0
    data_format: str = "NCHW"
    name: str | None = None

    def __post_init__(self) -> None:
        self.mode = self.mode.lower()

    def forward(self, x: Any) -> Any:
        """Resize."""
        return functional.interpolate(x, *self._values(self))


@declared
class UpsamplingNearest2D(_Resized):
    """Resizes images, each pixel taking the nearest one's value."""

    data_format: str = "NCHW"
    name: str | None = None

    def forward(self, x: Any) -> Any:
        """Resize."""
        return functional.interpolate(x, mode="nearest", **self._arguments())


@declared
class UpsamplingBilinear2D(_Resized):
    """Resizes images by bilinear interpolation, the corners staying where they are."""

    data_format: str = "NCHW"
    name: str | None = None

    def forward(self, x: Any) -> Any:
        """Resize."""
        return functional.interpolate(x, mode="bilinear", align_corners=True, **self._arguments())


# ---- padding ---------------------------------------------------------------------------------------------------------
@declared
class _Padded(DeclaredLayer):
    _spatial = 2

    padding: Any

    def __post_init__(self) -> None:
        counts = ints(self.padding)
        self.padding = counts * (2 * self._spatial) if len(counts) == 1 else counts


@declared
class _Pad(_Padded):
    mode: str = "constant"
    value: float = 0.0
    data_format: str = "NCHW"
    name: str | None = None

    def forward(self, x: Any) -> Any:
        """Pad."""
        return functional.pad(x, self.padding, self.mode, self.value, self.data_format)


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
class _Windows(DeclaredLayer):
    def extra_repr(self) -> str:
        """Return the settings of the windows."""
        names = {"kernel_size": "kernel_sizes", "dilation": "dilations", "padding": "paddings", "stride": "strides"}
        return ", ".join(f"{name}={vars(self)[field]}" for name, field in names.items())


@declared
class Unfold(_Windows):
    """Takes the windows of images as columns."""

    kernel_sizes: Any
    dilations: Any = 1
    paddings: Any = 0
    strides: Any = 1
    name: str | None = None

    def forward(self, input: Any) -> Any:
        """Unfold."""
        return functional.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)
