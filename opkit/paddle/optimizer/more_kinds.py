"""Adamax, Adadelta and Lamb: each names its update op, the state it keeps, and the op's attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opkit.errors import UsageError
from opkit.paddle.optimizer.optimizer import Optimizer, StateSpec
from opkit.paddle.semantics import updates

__all__ = ["Adadelta", "Adamax", "Lamb"]


def _beta(kind: str, name: str, value: Any) -> float:
    if not 0 <= float(value) < 1:
        raise UsageError(f"{kind}: {name} must be at least 0 and below 1, got {value!r}")
    return float(value)


class Adamax(Optimizer):
    """Adamax (Kingma and Ba 2015)."""

    update = updates.ADAMAX

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1, self._beta2 = _beta("Adamax", "beta1", beta1), _beta("Adamax", "beta2", beta2)
        self._epsilon = float(epsilon)

    def state_spec(self) -> StateSpec:
        """Return the moment, the largest gradient and the running power of beta1."""
        return {"moment": None, "inf_norm": None, "beta1_pow_acc": self._beta1}

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        decay = self.decay_of(parameter, group)
        return {"beta1": self._beta1, "beta2": self._beta2, "epsilon": self._epsilon, **decay}


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012)."""

    update = updates.ADADELTA
    state = {"_avg_squared_grad": None, "_avg_squared_update": None}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        epsilon: float = 1e-06,
        rho: float = 0.95,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        if learning_rate is None or epsilon is None or rho is None:
            raise UsageError("Adadelta: learning_rate, epsilon and rho must be given")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon, self._rho = float(epsilon), float(rho)

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        return {"rho": self._rho, "epsilon": self._epsilon, **self.decay_of(parameter, group)}


class Lamb(Optimizer):
    """LAMB (You et al. 2020).

    Args:
        lamb_weight_decay: decay of the parameters.
        exclude_from_weight_decay_fn: ``fn(parameter)`` says which do not decay.
        always_adapt: scale the step of those too.
    """

    update = updates.LAMB

    def __init__(
        self,
        learning_rate: Any = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        parameters: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Any], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        self._beta1, self._beta2 = _beta("Lamb", "beta1", beta1), _beta("Lamb", "beta2", beta2)
        self._epsilon, self._decay = float(epsilon), float(lamb_weight_decay)
        self._excludes, self._always_adapt = exclude_from_weight_decay_fn, bool(always_adapt)

    def state_spec(self) -> StateSpec:
        """Return the moments and the running powers of the betas."""
        return {"moment1": None, "moment2": None, "beta1_pow_acc": self._beta1, "beta2_pow_acc": self._beta2}

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        is_excluded = self._excludes is not None and self._excludes(parameter)
        return {
            "beta1": self._beta1,
            "beta2": self._beta2,
            "epsilon": self._epsilon,
            "decay": 0.0 if is_excluded else float(group.get("lamb_weight_decay", self._decay)),
            "always_adapt": self._always_adapt,
        }
