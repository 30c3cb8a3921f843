"""Layers that rearrange, resize, pad and cut images; each calls its function in ``nn.functional``."""

from __future__ import annotations

from typing import Any

from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.tensor import layout
from opkit.paddle.tensor.checks import ints

__all__ = [
    "ChannelShuffle",
    "Fold",
    "Pad1D",
    "Pad2D",
    "Pad3D",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingNearest2D",
    "ZeroPad2D",
]


class _Rearranged(Layer):
    _function = ""
    _argument = ""

    def __init__(self, count: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        self._count, self._format = count, data_format

    def forward(self, x: Any) -> Any:
        """Rearrange the elements."""
        return getattr(functional, self._function)(x, self._count, self._format)

    def extra_repr(self) -> str:
        """Return the settings."""
        text = f"{self._argument}={self._count}"
        return text if self._format == "NCHW" else f"{text}, data_format={self._format}"


class PixelShuffle(_Rearranged):
    """Makes images r times as high and wide from r * r times as many channels."""

    _function, _argument = "pixel_shuffle", "upscale_factor"

    def __init__(self, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(upscale_factor, data_format)


class PixelUnshuffle(_Rearranged):
    """Makes r * r times as many channels from images whose height and width it divides by r."""

    _function, _argument = "pixel_unshuffle", "downscale_factor"

    def __init__(self, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(downscale_factor, data_format)


class ChannelShuffle(_Rearranged):
    """Takes the channels of all groups in turn."""

    _function, _argument = "channel_shuffle", "groups"

    def __init__(self, groups: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(groups, data_format)


# ---- resizing --------------------------------------------------------------------------------------------------------
class Upsample(Layer):
    """Resizes images along their spatial axes."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool = False,
        align_mode: int = 0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode.lower()
        self.align_corners, self.align_mode, self.data_format = align_corners, align_mode, data_format

    def forward(self, x: Any) -> Any:
        """Resize."""
        return functional.interpolate(
            x, self.size, self.scale_factor, self.mode, self.align_corners, self.align_mode, self.data_format
        )

    def _main(self) -> str:
        return f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self._main()}, mode={self.mode}, align_corners={self.align_corners}, align_mode={self.align_mode}, "
            f"data_format={self.data_format}"
        )


class UpsamplingNearest2D(Upsample):
    """Resizes images, each pixel taking the nearest one's value."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__(size, scale_factor, "nearest", False, 0, data_format)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self._main()}, data_format={self.data_format}"


class UpsamplingBilinear2D(UpsamplingNearest2D):
    """Resizes images by bilinear interpolation, the corners staying where they are."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, data_format: str = "NCHW", name: str | None = None
    ) -> None:
        super().__init__(size, scale_factor, data_format)
        self.mode, self.align_corners = "bilinear", True


# ---- padding ---------------------------------------------------------------------------------------------------------
class _Pad(Layer):
    _spatial = 2

    def __init__(self, padding: Any, mode: str, value: float, data_format: str) -> None:
        super().__init__()
        counts = ints(padding)
        self._pad = counts * (2 * self._spatial) if len(counts) == 1 else counts
        self._mode, self._value, self._format = mode, value, data_format

    def forward(self, x: Any) -> Any:
        """Pad."""
        return functional.pad(x, self._pad, self._mode, self._value, self._format)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"padding={self._pad}, mode={self._mode}, value={self._value}, data_format={self._format}"


class Pad1D(_Pad):
    """Pads (N, C, L) left and right."""

    _spatial = 1

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format)


class Pad2D(_Pad):
    """Pads images left, right, above and below."""

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format)


class Pad3D(_Pad):
    """Pads volumes at all sides."""

    _spatial = 3

    def __init__(
        self,
        padding: Any,
        mode: str = "constant",
        value: float = 0.0,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(padding, mode, value, data_format)


class ZeroPad2D(_Pad):
    """Adds zeros to images left, right, above and below."""

    def __init__(self, padding: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__(padding, "constant", 0.0, data_format)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"padding={self._pad}, data_format={self._format}"


# ---- windows ---------------------------------------------------------------------------------------------------------
class Unfold(Layer):
    """Takes the windows of images as columns."""

    def __init__(
        self,
        kernel_sizes: Any,
        dilations: Any = 1,
        paddings: Any = 0,
        strides: Any = 1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_sizes, self.dilations, self.paddings, self.strides = kernel_sizes, dilations, paddings, strides

    def forward(self, input: Any) -> Any:
        """Unfold."""
        return functional.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, padding={self.paddings}, "
            f"stride={self.strides}"
        )


class Fold(Unfold):
    """Adds windows up to images."""

    def __init__(
        self,
        output_sizes: Any,
        kernel_sizes: Any,
        dilations: Any = 1,
        paddings: Any = 0,
        strides: Any = 1,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_sizes, dilations, paddings, strides)
        self.output_sizes = output_sizes

    def forward(self, input: Any) -> Any:
        """Fold."""
        return functional.fold(input, self.output_sizes, self.kernel_sizes, self.strides, self.paddings, self.dilations)


class Unflatten(Layer):
    """Cuts one axis into several."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis, self.shape = axis, shape

    def forward(self, input: Any) -> Any:
        """Cut the axis."""
        return layout.unflatten(input, self.axis, self.shape)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"axis={self.axis}, shape={self.shape}"
