"""Activations as layers: each calls the function of its name in ``nn.functional``."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Name
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Constant
from opkit.paddle.nn.layer.declared import FunctionLayer, MapLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.shim.missing import guard as _guard

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softplus",
    "Softsign",
    "Swish",
    "Tanh",
]


@declared
class _PlainActivation(FunctionLayer):
    """An activation without arguments."""

    name: Name = None

    def forward(self, x: Any) -> Any:
        """Apply the function."""
        return self._function(x)


# ---- without arguments -----------------------------------------------------------------------------------------------
class Hardsigmoid(_PlainActivation, function=functional.hardsigmoid):
    """``nn.functional.hardsigmoid`` as a layer."""


class Hardswish(_PlainActivation, function=functional.hardswish):
    """``nn.functional.hardswish`` as a layer."""


class LogSigmoid(_PlainActivation, function=functional.log_sigmoid):
    """``nn.functional.log_sigmoid`` as a layer."""


class Mish(_PlainActivation, function=functional.mish):
    """``nn.functional.mish`` as a layer."""


class ReLU(_PlainActivation, function=functional.relu):
    """``nn.functional.relu`` as a layer."""


class ReLU6(_PlainActivation, function=functional.relu6):
    """``nn.functional.relu6`` as a layer."""


class Sigmoid(_PlainActivation, function=functional.sigmoid):
    """``nn.functional.sigmoid`` as a layer."""


class Silu(_PlainActivation, function=functional.silu):
    """``nn.functional.silu`` as a layer."""


class Softsign(_PlainActivation, function=functional.softsign):
    """``nn.functional.softsign`` as a layer."""


class Swish(_PlainActivation, function=functional.swish):
    """``nn.functional.swish`` as a layer."""


class Tanh(_PlainActivation, function=functional.tanh):
    """``nn.functional.tanh`` as a layer."""


# ---- with arguments --------------------------------------------------------------------------------------------------


@declared
class ELU(MapLayer, function=functional.elu):
    """``nn.functional.elu`` as a layer."""

    alpha: float = 1.0
    name: Name = None


@declared
class GLU(MapLayer, function=functional.glu):
    """``nn.functional.glu`` as a layer."""

    axis: int = -1
    name: Name = None


@declared
class GELU(MapLayer, function=functional.gelu):
    """``nn.functional.gelu`` as a layer."""

    approximate: bool = False
    name: Name = None


@declared
class Hardshrink(MapLayer, function=functional.hardshrink):
    """``nn.functional.hardshrink`` as a layer."""

    threshold: float = 0.5
    name: Name = None


@declared
class Hardtanh(MapLayer, function=functional.hardtanh):
    """``nn.functional.hardtanh`` as a layer."""

    min: float = -1.0
    max: float = 1.0
    name: Name = None


@declared
class LeakyReLU(MapLayer, function=functional.leaky_relu):
    """``nn.functional.leaky_relu`` as a layer."""

    negative_slope: float = 0.01
    name: Name = None


@declared
class LogSoftmax(MapLayer, function=functional.log_softmax):
    """``nn.functional.log_softmax`` as a layer."""

    axis: int = -1
    name: Name = None


@declared
class SELU(MapLayer, function=functional.selu):
    """``nn.functional.selu`` as a layer."""

    scale: float = 1.0507009873554804934193349852946
    alpha: float = 1.6732632423543772848170429916717
    name: Name = None


@declared
class Softmax(MapLayer, function=functional.softmax):
    """``nn.functional.softmax`` as a layer."""

    axis: int = -1
    name: Name = None


@declared
class Softplus(MapLayer, function=functional.softplus):
    """``nn.functional.softplus`` as a layer."""

    beta: float = 1
    threshold: float = 20
    name: Name = None


# ---- with a weight, a random slope, or over channels -----------------------------------------------------------------
class PReLU(Layer):
    """``max(0, x) + weight * min(0, x)`` with a learned weight.

    Args:
        num_parameters: 1, or the number of channels.
        init: the weight's first value.
        weight_attr: how the weight is made.
        data_format: where the channels stand.
        name: of the layer.
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: Name = None,
    ) -> None:
        super().__init__()
        self._count, self._init, self._format = num_parameters, init, data_format
        self.weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: Any) -> Any:
        """Apply the function."""
        return functional.prelu(x, self.weight)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"num_parameters={self._count}, data_format={self._format}, init={self._init}, dtype={self._dtype}"


__getattr__ = _guard(globals())
