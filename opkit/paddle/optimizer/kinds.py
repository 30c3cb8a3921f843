"""The kinds of optimizers: each names its update op, the state it keeps, and the op's attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opkit.errors import UsageError
from opkit.paddle.optimizer.optimizer import Optimizer, StateSpec
from opkit.paddle.semantics import updates

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Momentum", "RMSProp"]


def _between(kind: str, name: str, value: Any) -> float:
    if not 0 <= float(value) < 1:
        raise UsageError(f"{kind}: {name} must be at least 0 and below 1, got {value!r}")
    return float(value)


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
        name: str | None = None,
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
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum = float(momentum)
        self._use_nesterov = bool(use_nesterov)
        self._rescale_grad = float(rescale_grad)

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        return {
            "mu": self._momentum,
            "use_nesterov": self._use_nesterov,
            "rescale_grad": self._rescale_grad,
            **self.decay_of(parameter, group),
        }


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015)."""

    update = updates.ADAM

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1 = _between(type(self).__name__, "beta1", beta1)
        self._beta2 = _between(type(self).__name__, "beta2", beta2)
        self._epsilon = float(epsilon)

    def state_spec(self) -> StateSpec:
        """Return the moments and the running powers of the betas."""
        return {"moment1": None, "moment2": None, "beta1_pow_acc": self._beta1, "beta2_pow_acc": self._beta2}

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        return {**self._betas(), **self.decay_of(parameter, group)}

    def _betas(self) -> dict[str, Any]:
        return {"beta1": self._beta1, "beta2": self._beta2, "epsilon": self._epsilon}


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    Args:
        apply_decay_param_fun: ``fn(parameter name)`` says whether it decays.
        lr_ratio: ``fn(parameter)`` returns a factor on its learning rate.
    """

    update = updates.ADAMW

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = 0.01,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        if not isinstance(weight_decay, (int, float)):
            raise TypeError(f"AdamW: weight_decay is a number, got {type(weight_decay).__name__}")
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip)
        self._coeff = float(weight_decay)
        self._lr_ratio = lr_ratio
        self._decays = apply_decay_param_fun

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        decays = self._decays is None or self._decays(parameter.name)
        coeff = float(group.get("weight_decay", self._coeff))
        return {**self._betas(), "coeff": coeff if decays else 0.0}

    def _update(self, parameter: Any, gradient: Any, rate: float, group: Mapping[str, Any]) -> None:
        factor = 1.0 if self._lr_ratio is None else self._lr_ratio(parameter)
        super()._update(parameter, gradient, rate * factor, group)


class RMSProp(Optimizer):
    """RMSProp (Hinton)."""

    update = updates.RMSPROP
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
        name: str | None = None,
    ) -> None:
        if learning_rate is None or rho is None or epsilon is None or momentum is None:
            raise UsageError("RMSProp: learning_rate, rho, epsilon and momentum must be given")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rho, self._epsilon, self._momentum = float(rho), float(epsilon), float(momentum)
        self._centered = bool(centered)

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        return {
            "rho": self._rho,
            "epsilon": self._epsilon,
            "momentum": self._momentum,
            "centered": self._centered,
            **self.decay_of(parameter, group),
        }


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011)."""

    update = updates.ADAGRAD

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-06,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = float(epsilon)
        self._first = float(initial_accumulator_value)

    def state_spec(self) -> StateSpec:
        """Return the sum of squares."""
        return {"moment": ("full", self._first)}

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        return {"epsilon": self._epsilon, **self.decay_of(parameter, group)}
