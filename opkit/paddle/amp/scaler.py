"""``GradScaler``: losses times a factor that adapts, so that small gradients of half precision do not vanish.

In Paddle 2.6.2 it switches itself off on the CPU; here it does what it would do on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opkit.eager import Tensor, wrap
from opkit.errors import AutogradError, UsageError


class GradScaler:
    """A factor on losses: ``scale``, ``unscale_``, ``step``, ``update``, or ``minimize`` for the last three.

    Args:
        enable: without it every method leaves what it gets as it is.
        init_loss_scaling: the first factor.
        incr_ratio: the factor's own factor after ``incr_every_n_steps`` finite steps; greater than 1.
        decr_ratio: that after ``decr_every_n_nan_or_inf`` steps with NaN or infinity; less than 1.
        incr_every_n_steps: finite steps, one after the other.
        decr_every_n_nan_or_inf: steps that are not finite, one after the other.
        use_dynamic_loss_scaling: whether the factor changes.

    Raises:
        UsageError: a ratio is on the wrong side of 1.

    Source: Paddle 2.6, paddle.amp.GradScaler.
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 2.0**16,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        self._enable = bool(enable)
        self._use_dynamic_loss_scaling = bool(use_dynamic_loss_scaling)
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_count = self._decr_count = 0
        self._found_inf = False
        #: optimizers that were unscaled, and those that made their step, since the last update
        self._unscaled: set[int] = set()
        self._stepped: set[int] = set()
        if not incr_ratio > 1.0:
            raise RatioError(f"incr_ratio must be greater than 1, got {incr_ratio}")
        if not decr_ratio < 1.0:
            raise RatioError(f"decr_ratio must be less than 1, got {decr_ratio}")
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        self._begin(init_loss_scaling)

    def _begin(self, factor: float) -> None:
        """Set the first factor."""
        self._init_loss_scaling = factor
        self._scale = wrap(np.array([factor], np.float32))

    # ---- a step ------------------------------------------------------------------------------------------------------
    def scale(self, var: Any) -> Any:
        """Return a loss times the factor.

        Raises:
            TypeError: it is not a Tensor.
        """
        if not isinstance(var, Tensor):
            raise TypeError(f"GradScaler.scale takes a Tensor, got {type(var).__name__}")
        return var * self._scale if self._enable else var  # type: ignore[operator]

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients if that was not done, take the optimizer's step if they are finite, and update."""
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        result = (None, None) if self._found_inf else optimizer.minimize(*args, **kwargs)
        self.update()
        return result

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the factor, before they are clipped, and see whether all are finite.

        Raises:
            AutogradError: that was done since the last update, or the step was taken.
        """
        if not self._enable:
            return
        if id(optimizer) in self._stepped:
            raise AutogradError("unscale_() is called after step()", help="call update() after each step()")
        if id(optimizer) in self._unscaled:
            raise AutogradError("unscale_() is called twice", help="call step() and update() before the next one")
        self._unscaled.add(id(optimizer))
        self._found_inf = False
        for parameter in optimizer._parameter_list or ():
            grad = parameter.grad
            if grad is not None:
                grad._data = (grad._data / grad._data.dtype.type(self._scale._data)).astype(grad._data.dtype)
                self._found_inf |= not bool(np.isfinite(grad._data).all())

    def update(self) -> None:
        """Change the factor by its rule, and forget which optimizers made their step."""
        if not self._enable:
            return
        self._unscaled.clear()
        self._stepped.clear()
        if not self._use_dynamic_loss_scaling:
            return
        if self._found_inf:
            self._incr_count, self._decr_count = 0, self._decr_count + 1
            if self._decr_count == self._decr_every_n_nan_or_inf:
                self._multiply(self._decr_ratio)
        else:
            self._incr_count, self._decr_count = self._incr_count + 1, 0
            if self._incr_count == self._incr_every_n_steps:
                self._multiply(self._incr_ratio)

    def _multiply(self, ratio: float) -> None:
        self._scale = wrap(self._scale._data * np.float32(ratio))
        self._incr_count = self._decr_count = 0

    def step(self, optimizer: Any) -> None:
        """Unscale the gradients if that was not done, and take the optimizer's step if they are finite.

        Raises:
            AutogradError: it was taken since the last update.
        """
        if not self._enable:
            optimizer.step()
            return
        if id(optimizer) in self._stepped:
            raise AutogradError("step() is called twice", help="call update() after each step()")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        if not self._found_inf:
            optimizer.step()
        self._stepped.add(id(optimizer))

    # ---- settings ----------------------------------------------------------------------------------------------------
    def is_enable(self) -> bool:
        """Return whether losses are scaled."""
        return self._enable

    # ---- state -------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Return the factor, its rule and its counts; nothing when not enabled."""
        if not self._enable:
            return {}
        names = ("incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf", "incr_count")
        state = {name: getattr(self, f"_{name}") for name in (*names, "decr_count", "use_dynamic_loss_scaling")}
        return {"scale": self._scale.numpy(), **state}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned.

        Raises:
            EmptyStateError: the state is empty: that scaler was not enabled.
        """
        if not self._enable:
            return
        if not state_dict:
            raise EmptyStateError("load_state_dict: the state is empty", help="its scaler was not enabled")
        self._begin(float(np.asarray(state_dict["scale"]).reshape(-1)[0]))
        for name, value in state_dict.items():
            if name != "scale":
                setattr(self, f"_{name}", value)

    set_state_dict = load_state_dict


class RatioError(UsageError, AssertionError):
    """A ratio is on the wrong side of 1 (Paddle raises AssertionError)."""


class EmptyStateError(UsageError, RuntimeError):
    """A state holds nothing to restore (Paddle raises RuntimeError)."""
