"""Adam and the optimizers like it: each names its update op, the state it keeps, and the op's attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Name
from opkit.paddle.optimizer.optimizer import NO_GROUP, Optimizer, StateSpec
from opkit.paddle.semantics import updates
from opkit.shim.missing import guard as _guard

__all__ = ["Adam", "AdamW", "Adamax", "Lamb"]


class _WithBetas(Optimizer):
    """What optimizers with running moments of the gradient share: the rates of the moments, and their state."""

    _rates = ("beta1", "beta2", "epsilon")

    def _set_betas(self, beta1: Any, beta2: Any, epsilon: float) -> None:
        self._beta1, self._beta2 = self._between("beta1", beta1), self._between("beta2", beta2)
        self._epsilon = float(epsilon)

    def _between(self, name: str, value: Any) -> float:
        if not 0 <= float(value) < 1:
            raise UsageError(f"{type(self).__name__}: {name} must be at least 0 and below 1, got {value!r}")
        return float(value)

    def state_spec(self, group: Mapping[str, Any] = NO_GROUP) -> StateSpec:
        """Return the moments and the running powers of the betas."""
        rates = self._rates_of(group)
        return {"moment1": None, "moment2": None, "beta1_pow_acc": rates["beta1"], "beta2_pow_acc": rates["beta2"]}


class Adam(_WithBetas):
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
        name: Name = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._set_betas(beta1, beta2, epsilon)


class AdamW(_WithBetas):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    Args:
        apply_decay_param_fun: ``fn(parameter name)`` says whether it decays.
        lr_ratio: ``fn(parameter)`` returns a factor on its learning rate.
    """

    update = updates.ADAMW
    adds_decay = groups_regularize = False

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
        name: Name = None,
    ) -> None:
        if not isinstance(weight_decay, (int, float)):
            raise TypeError(f"AdamW: weight_decay is a number, got {type(weight_decay).__name__}")
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        self._set_betas(beta1, beta2, epsilon)
        self._coeff = float(weight_decay)
        self._lr_ratio = lr_ratio
        self._decays = apply_decay_param_fun

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        decays = self._decays is None or self._decays(parameter.name)
        coeff = float(group.get("weight_decay", self._coeff))
        return {**self._rates_of(group), "coeff": coeff if decays else 0.0}

    def _rate_factor(self, parameter: Any) -> float:
        factor = 1.0 if self._lr_ratio is None else self._lr_ratio(parameter)
        return super()._rate_factor(parameter) * factor


class Adamax(_WithBetas):
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
        name: Name = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._set_betas(beta1, beta2, epsilon)

    def state_spec(self, group: Mapping[str, Any] = NO_GROUP) -> StateSpec:
        """Return the moment, the largest gradient and the running power of beta1."""
        return {"moment": None, "inf_norm": None, "beta1_pow_acc": self._rates_of(group)["beta1"]}


class Lamb(_WithBetas):
    """LAMB (You et al. 2020).

    Args:
        lamb_weight_decay: decay of the parameters.
        exclude_from_weight_decay_fn: ``fn(parameter)`` says which do not decay.
        always_adapt: scale the step of those too.
    """

    update = updates.LAMB
    adds_decay = is_elementwise = False

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
        name: Name = None,
    ) -> None:
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        self._set_betas(beta1, beta2, epsilon)
        self._decay = float(lamb_weight_decay)
        self._excludes, self._always_adapt = exclude_from_weight_decay_fn, bool(always_adapt)

    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes."""
        excludes = group.get("exclude_from_weight_decay_fn", self._excludes)
        is_excluded = excludes is not None and excludes(parameter)
        return {
            **self._rates_of(group),
            "decay": 0.0 if is_excluded else float(group.get("lamb_weight_decay", self._decay)),
            "always_adapt": self._always_adapt,
        }


__getattr__ = _guard(globals())
