"""Activations as layers: each calls the function of its name in ``nn.functional``."""

from __future__ import annotations

from typing import Any

from opkit.errors import ShapeError
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.layers import Layer

__all__: list[str] = ["PReLU", "RReLU", "Softmax2D"]


def _activation(name: str, function: str, **defaults: Any) -> type[Layer]:
    """Return the layer class of an activation; its arguments are the function's, with their defaults."""
    order = tuple(defaults)
    call = getattr(functional, function)

    def __init__(self: Any, *args: Any, name: str | None = None, **kwargs: Any) -> None:
        Layer.__init__(self)
        if len(args) > len(order):
            raise TypeError(f"{type(self).__name__} takes at most {len(order)} arguments, got {len(args)}")
        given = {**defaults, **dict(zip(order, args))}
        for key, value in kwargs.items():
            if key not in defaults:
                raise TypeError(f"{type(self).__name__} has no argument {key!r} (it has {', '.join(order) or 'none'})")
            given[key] = value
        object.__setattr__(self, "_arguments", given)

    def forward(self: Any, x: Any) -> Any:
        return call(x, **self._arguments)

    def extra_repr(self: Any) -> str:
        return ", ".join(f"{key}={value}" for key, value in self._arguments.items())

    forward.__doc__ = call.__doc__
    members = {
        "__init__": __init__,
        "forward": forward,
        "extra_repr": extra_repr,
        "__doc__": f"``nn.functional.{function}`` as a layer.",
        "__module__": __name__,
        "__qualname__": name,
    }
    __all__.append(name)
    return type(name, (Layer,), members)


CELU = _activation("CELU", "celu", alpha=1.0)
ELU = _activation("ELU", "elu", alpha=1.0)
GLU = _activation("GLU", "glu", axis=-1)
GELU = _activation("GELU", "gelu", approximate=False)
Hardshrink = _activation("Hardshrink", "hardshrink", threshold=0.5)
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid")
Hardswish = _activation("Hardswish", "hardswish")
Hardtanh = _activation("Hardtanh", "hardtanh", min=-1.0, max=1.0)
LeakyReLU = _activation("LeakyReLU", "leaky_relu", negative_slope=0.01)
LogSigmoid = _activation("LogSigmoid", "log_sigmoid")
LogSoftmax = _activation("LogSoftmax", "log_softmax", axis=-1)
Maxout = _activation("Maxout", "maxout", groups=None, axis=1)
Mish = _activation("Mish", "mish")
ReLU = _activation("ReLU", "relu")
ReLU6 = _activation("ReLU6", "relu6")
SELU = _activation("SELU", "selu", scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717)
Sigmoid = _activation("Sigmoid", "sigmoid")
Silu = _activation("Silu", "silu")
Softmax = _activation("Softmax", "softmax", axis=-1)
Softplus = _activation("Softplus", "softplus", beta=1, threshold=20)
Softshrink = _activation("Softshrink", "softshrink", threshold=0.5)
Softsign = _activation("Softsign", "softsign")
Swish = _activation("Swish", "swish")
Tanh = _activation("Tanh", "tanh")
Tanhshrink = _activation("Tanhshrink", "tanhshrink")
ThresholdedReLU = _activation("ThresholdedReLU", "thresholded_relu", threshold=1.0)


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
        name: str | None = None,
    ) -> None:
        super().__init__()
        from opkit.paddle.nn.initializer import Constant

        self._count, self._init, self._format = num_parameters, init, data_format
        self.weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: Any) -> Any:
        """Apply the function."""
        return functional.prelu(x, self.weight)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"num_parameters={self._count}, data_format={self._format}, init={self._init}, dtype={self._dtype}"


class RReLU(Layer):
    """x where positive, else x times a slope drawn from [lower, upper); their mean in evaluation."""

    def __init__(self, lower: float = 1.0 / 8.0, upper: float = 1.0 / 3.0, name: str | None = None) -> None:
        super().__init__()
        self._lower, self._upper = lower, upper

    def forward(self, x: Any) -> Any:
        """Apply the function."""
        return functional.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"lower={self._lower}, upper={self._upper}, training={self.training}, dtype={self._dtype}"


class Softmax2D(Layer):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, x: Any) -> Any:
        """Apply the function."""
        if len(x.shape) not in (3, 4):
            raise ShapeError(f"Softmax2D takes a tensor of 3 or 4 axes, got {list(x.shape)}")
        return functional.softmax(x, -3)
