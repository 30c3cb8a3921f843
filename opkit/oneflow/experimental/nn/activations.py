"""Activations as modules (``oneflow.experimental.nn``, v0.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from opkit.oneflow import math as flow_math
from opkit.oneflow import nn
from opkit.oneflow.experimental.nn.module import Module, Parameter
from opkit.oneflow.experimental.tensors import Tensor, lifted
from opkit.oneflow.user_op import call
from opkit.ops.composed.layers import scaled_softplus
from opkit.ops.core.types import Function

__all__ = [
    "ELU",
    "GELU",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "PReLU",
    "ReLU",
    "ReLU6",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
]


def _plain(name: str, function: Callable[[Any], Any], doc: str) -> type[Module]:
    """Return the class of an activation without settings."""
    applied = lifted(function)

    def __init__(self: Module, inplace: bool = False) -> None:
        Module.__init__(self)

    members = {"__init__": __init__, "forward": lambda self, x: applied(x), "__doc__": doc, "__module__": __name__}
    return type(name, (Module,), members)


ReLU = _plain("ReLU", flow_math.relu, "``max(x, 0)``; ``inplace`` is accepted, the input stays.")
ReLU6 = _plain("ReLU6", nn.relu6, "``min(max(x, 0), 6)``.")
Tanh = _plain("Tanh", flow_math.tanh, "The hyperbolic tangent.")
GELU = _plain("GELU", flow_math.gelu, "``x`` times the normal distribution's share below it.")
Sigmoid = _plain("Sigmoid", flow_math.sigmoid, "``1 / (1 + exp(-x))``.")
Hardsigmoid = _plain("Hardsigmoid", nn.hardsigmoid, "``min(max(x / 6 + 1 / 2, 0), 1)``.")
Hardswish = _plain("Hardswish", nn.hardswish, "``x * min(max(x / 6 + 1 / 2, 0), 1)``.")
LogSigmoid = _plain("LogSigmoid", flow_math.log_sigmoid, "The logarithm of the sigmoid.")


class _Activation(Module):
    """An activation of some settings, which ``repr`` shows and its function takes in that order."""

    _applied: ClassVar[Function]

    def __init_subclass__(cls, function: Function, settings: tuple[str, ...], **others: Any) -> None:
        super().__init_subclass__(**others)
        cls._applied, cls._shown = staticmethod(lifted(function)), settings

    def forward(self, x: Tensor) -> Any:
        """Return the result."""
        return self._applied(x, *(getattr(self, name) for name in self._shown))


class ELU(_Activation, function=nn.elu, settings=("alpha",)):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha


class LeakyReLU(_Activation, function=nn.leaky_relu, settings=("negative_slope",)):
    """``x`` where positive, else ``negative_slope * x``."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope


class Hardtanh(_Activation, function=nn.hardtanh, settings=("min_val", "max_val")):
    """``x``, held between two bounds; ``min_value`` and ``max_value`` are their older names."""

    def __init__(
        self,
        min_val: float = -1,
        max_val: float = 1,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value


class Softplus(_Activation, function=scaled_softplus, settings=("beta", "threshold")):
    """``log(1 + exp(beta * x)) / beta``; ``x`` where ``beta * x`` is above the threshold."""

    def __init__(self, beta: float = 1, threshold: float = 20) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold


class Softmax(_Activation, function=nn.softmax, settings=("dim",)):
    """The softmax along an axis, the last where left out."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class LogSoftmax(_Activation, function=nn.logsoftmax, settings=("dim",)):
    """The logarithm of the softmax along an axis."""

    def __init__(self, dim: int | None = 1) -> None:
        super().__init__()
        self.dim = dim


class PReLU(Module):
    """``x`` where positive, else ``weight * x``; one weight, or one per channel of (batch, channels, height, width)."""

    _shown = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(Tensor(num_parameters, 1, 1).fill_(init))

    def forward(self, x: Tensor) -> Any:
        """Return the result."""

        def prelu(value: Any, weight: Any) -> Any:
            return call("prelu", value, weight)

        return lifted(prelu)(x, self.weight)
