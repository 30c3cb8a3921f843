"""Optimizers of dynamic mode (``oneflow.experimental.optim``, v0.4); the update ops are ``opkit.ops``'s."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.oneflow.experimental.nn.module import Parameter
from opkit.ops import ADAM_UPDATE, MOMENTUM_UPDATE, RMSPROP_UPDATE, SGD_UPDATE
from opkit.ops.core.observers import run_kernel


class ParamGroup:
    """Parameters that share settings.

    Attributes:
        parameters: the parameters.
        options: the settings by name.
    """

    def __init__(self, parameters: Iterable[Parameter], options: Mapping[str, Any]) -> None:
        self.parameters = list(parameters)
        self.options = dict(options)
        for item in self.parameters:
            if not isinstance(item, Parameter) or not item.is_leaf:
                raise UsageError(f"an optimizer takes flow.nn.Parameter objects, got {type(item).__name__}")


class Optimizer:
    """Base of the optimizers.

    Args:
        parameters: parameters, or dicts with "params" and settings of their own.
        options: the settings of all others.
    """

    def __init__(self, parameters: Iterable[Any], options: Mapping[str, Any]) -> None:
        given = list(parameters)
        if any(isinstance(item, Mapping) for item in given):
            self._param_groups = [self._group(item, options) for item in given]
        else:
            self._param_groups = [ParamGroup(given, options)]
        self._state: dict[Any, Any] = {"step": 0}

    @property
    def param_groups(self) -> list[ParamGroup]:
        """The groups of parameters with their settings."""
        return self._param_groups

    def _group(self, item: Any, options: Mapping[str, Any]) -> ParamGroup:
        if not isinstance(item, Mapping) or "params" not in item:
            raise UsageError('an optimizer takes parameters, or dicts with "params"', help="do not mix both")
        return ParamGroup(item["params"], {**options, **{name: item[name] for name in options if name in item}})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; return what the closure, called first, returns."""
        loss = None if closure is None else closure()
        for group in self._param_groups:
            for parameter in group.parameters:
                gradient = parameter._value.grad
                if gradient is not None:
                    self._update(parameter, gradient._data, group.options)
        self._state["step"] += 1
        return loss

    def _update(self, parameter: Parameter, gradient: ndarray, options: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _kept(self, parameter: Parameter, names: Iterable[str]) -> list[ndarray]:
        """Return the arrays that an update keeps per parameter, zeros at first."""
        held = self._state.setdefault(parameter, {})
        return [held.setdefault(name, np.zeros_like(parameter._value._data)) for name in names]

    def _run(self, opdef: Any, parameter: Parameter, gradient: Any, rate: float, kept: list[Any], attrs: Any) -> None:
        model = parameter._value._data
        given = [model, gradient, np.array([rate], np.float32), *kept]
        run_kernel(opdef, given, {"l1": 0.0, "l2": 0.0, "weight_decay": 0.0, **attrs})

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Fill the gradients with zeros, or forget them; a warning where no parameter has one."""
        parameters = [item for group in self._param_groups for item in group.parameters]
        if all(item.grad is None for item in parameters):
            warnings.warn(
                "zero_grad: no parameter of the optimizer has a gradient; was backward() called?", stacklevel=2
            )
        for item in parameters:
            if item.grad is not None:
                if set_to_none:
                    item.grad = None
                else:
                    item.grad.zeros_()


class SGD(Optimizer):
    """Steps against the gradient, with momentum where asked for; gradients are multiplied by ``scale``."""

    def __init__(self, parameters: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0, scale: float = 1.0) -> None:
        _not_negative("SGD", lr=lr, momentum=momentum, scale=scale)
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "scale": scale})

    def _update(self, parameter: Parameter, gradient: ndarray, options: Mapping[str, Any]) -> None:
        attrs: dict[str, Any] = {"scale": options["scale"]}
        if options["momentum"] == 0.0:
            self._run(SGD_UPDATE, parameter, gradient, options["lr"], [], attrs)
            return
        kept = self._kept(parameter, ["momentum_buf"])
        self._run(MOMENTUM_UPDATE, parameter, gradient, options["lr"], kept, {**attrs, "beta": options["momentum"]})


class Adam(Optimizer):
    """Adam without correction of its bias, as in v0.4; ``weight_decay`` is added to the gradient."""

    _decay = "l2"

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        scale: float = 1.0,
    ) -> None:
        name = type(self).__name__
        _not_negative(name, lr=lr, eps=eps, weight_decay=weight_decay, scale=scale)
        if amsgrad or not all(0 <= beta < 1 for beta in betas):
            raise UsageError(
                f"flow.optim.{name}: betas lie in [0, 1), and amsgrad is not supported, as in OneFlow v0.4"
            )
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "scale": scale}
        super().__init__(parameters, options)

    def _update(self, parameter: Parameter, gradient: ndarray, options: Mapping[str, Any]) -> None:
        beta1, beta2 = options["betas"]
        attrs = {"scale": options["scale"], "beta1": beta1, "beta2": beta2, "epsilon": options["eps"]}
        attrs[self._decay] = options["weight_decay"]
        kept = self._kept(parameter, ["exp_avg", "exp_avg_sq"])
        self._run(ADAM_UPDATE, parameter, gradient, options["lr"], kept, attrs)


class AdamW(Adam):
    """Adam whose ``weight_decay`` makes the parameters smaller apart from the gradient."""

    _decay = "weight_decay"


class RMSprop(Optimizer):
    """Steps divided by the root of the mean squared gradient; ``momentum`` has to be left out, as in v0.4."""

    def __init__(
        self,
        parameters: Iterable[Any],
        lr: float = 1e-3,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
        scale: float = 1.0,
    ) -> None:
        _not_negative("RMSprop", lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, scale=scale)
        if momentum:
            raise UsageError("flow.optim.RMSprop: momentum is not supported, as in OneFlow v0.4")
        options = {"lr": lr, "alpha": alpha, "eps": eps, "centered": centered, "scale": scale}
        super().__init__(parameters, {**options, "weight_decay": weight_decay})

    def _update(self, parameter: Parameter, gradient: ndarray, options: Mapping[str, Any]) -> None:
        is_centered = options["centered"]
        kept: list[Any] = self._kept(parameter, ["square_avg", "grad_avg"] if is_centered else ["square_avg"])
        attrs = {
            "scale": options["scale"],
            "epsilon": options["eps"],
            "decay_rate": options["alpha"],
            "centered": is_centered,
            "weight_decay": options["weight_decay"],
        }
        self._run(RMSPROP_UPDATE, parameter, gradient, options["lr"], kept if is_centered else [*kept, None], attrs)


def _not_negative(name: str, **given: float) -> None:
    for what, value in given.items():
        if value < 0:
            raise UsageError(f"flow.optim.{name}: {what} is not negative, got {value}")
