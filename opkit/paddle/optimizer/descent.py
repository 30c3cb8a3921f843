"""Gradient descent, with and without memory: each names its update op, the state it keeps, and the op's attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Name
from opkit.paddle.optimizer.optimizer import NO_GROUP, Optimizer, StateSpec
from opkit.paddle.semantics import updates

__all__ = ["SGD", "Adadelta", "Adagrad", "Momentum", "RMSProp"]


class SGD(Optimizer):
    """``param -= lr * grad``."""

    update = updates.SGD

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: Name = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


class Momentum(Optimizer):
    """``v = momentum * v + grad; param -= lr * v``."""

    update = updates.MOMENTUM
    state = {"velocity": None}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: Name = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum = float(momentum)
        self._use_nesterov = bool(use_nesterov)
        self._rescale_grad = float(rescale_grad)

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        return {
            "mu": float(group.get("momentum", self._momentum)),
            "use_nesterov": bool(group.get("use_nesterov", self._use_nesterov)),
            "rescale_grad": float(group.get("rescale_grad", self._rescale_grad)),
            **self.decay_of(parameter),
        }


class RMSProp(Optimizer):
    """RMSProp (Hinton)."""

    update = updates.RMSPROP
    _rates = ("rho", "epsilon", "momentum", "centered")
    state = {"momentum": None, "mean_square": None, "mean_grad": None}

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1e-06,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: Name = None,
    ) -> None:
        if learning_rate is None or rho is None or epsilon is None or momentum is None:
            raise UsageError("RMSProp: learning_rate, rho, epsilon and momentum must be given")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rho, self._epsilon, self._momentum = float(rho), float(epsilon), float(momentum)
        self._centered = bool(centered)


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011)."""

    update = updates.ADAGRAD
    _rates = ("epsilon",)

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-06,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: Name = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = float(epsilon)
        self._first = float(initial_accumulator_value)

    def state_spec(self, group: Mapping[str, Any] = NO_GROUP) -> StateSpec:
        """Return the sum of squares."""
        return {"moment": ("full", float(group.get("initial_accumulator_value", self._first)))}


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012)."""

    update = updates.ADADELTA
    _rates = ("rho", "epsilon")
    state = {"_avg_squared_grad": None, "_avg_squared_update": None}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        epsilon: float = 1e-06,
        rho: float = 0.95,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: Name = None,
    ) -> None:
        if learning_rate is None or epsilon is None or rho is None:
            raise UsageError("Adadelta: learning_rate, epsilon and rho must be given")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon, self._rho = float(epsilon), float(rho)
