"""``flow.optimizer``: optimizers, learning-rate schedulers, warm-up and gradient clipping under OneFlow's names (v0.4).

The formulas are in ``semantics.schedules`` and the update ops; only names, argument order and defaults are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opkit.errors import UsageError
from opkit.listed import listed
from opkit.oneflow.semantics import schedules
from opkit.oneflow.semantics.schedules import (
    CosineScheduler,
    ExponentialScheduler,
    InverseTimeScheduler,
    LrScheduler,
    PiecewiseConstantScheduler,
    PiecewiseScalingScheduler,
    PolynomialScheduler,
)
from opkit.oneflow.semantics.training import UpdateRecipe
from opkit.oneflow.session import session
from opkit.shim.missing import guard

__all__ = [
    "SGD",
    "SGDW",
    "Adam",
    "AdamW",
    "CosineScheduler",
    "ExponentialScheduler",
    "InverseTimeScheduler",
    "LrScheduler",
    "Optimizer",
    "PiecewiseConstantScheduler",
    "PiecewiseScalingScheduler",
    "PolynomialScheduler",
    "RMSProp",
    "grad_clipping",
    "warmup",
]

Names = Sequence[str] | Callable[[], Sequence[str]] | None


# ---- warm-up and clipping --------------------------------------------------------------------------------------------
class warmup:
    """``flow.optimizer.warmup``."""

    constant = staticmethod(schedules.constant_warmup)
    linear = staticmethod(schedules.linear_warmup)


class by_global_norm:
    """Scale all gradients down together where their joint norm exceeds ``clip_norm``."""

    def __init__(self, clip_norm: float) -> None:
        if not clip_norm > 0:
            raise UsageError(f"clip_norm is a positive number, got {clip_norm!r}")
        self.clip_norm = float(clip_norm)


class grad_clipping:
    """``flow.optimizer.grad_clipping``."""

    by_global_norm = by_global_norm


#: OneFlow's own older spelling.
PolynomialSchduler = PolynomialScheduler


# ---- optimizers ------------------------------------------------------------------------------------------------------
class Optimizer:
    """Base of the optimizers.

    Args:
        rule: which update, "sgd", "momentum", "adam" or "rmsprop".
        hyper: the update's hyperparameters.
        lr_scheduler: where the learning rate comes from.
        loss_scale_factor: the loss is scaled by it and the gradients are scaled back.
        grad_clipping: ``grad_clipping.by_global_norm(...)`` or None.
        variables: names of the variables to train, or a function that returns them; all trainable ones of the job
            where it is None.
        decay: weight decay.
        includes: where given, only variables whose name contains one of these decay.
        excludes: where given, variables whose name contains one of these do not decay.
    """

    def __init__(
        self,
        rule: str,
        hyper: dict[str, Any],
        lr_scheduler: LrScheduler,
        loss_scale_factor: float | None,
        grad_clipping: by_global_norm | None,
        variables: Names,
        decay: float | None = None,
        includes: Sequence[str] | str | None = None,
        excludes: Sequence[str] | str | None = None,
    ) -> None:
        if not isinstance(lr_scheduler, LrScheduler):
            raise UsageError(
                f"an optimizer takes a learning-rate scheduler, got {type(lr_scheduler).__name__} {lr_scheduler!r}",
                help="write flow.optimizer.PiecewiseConstantScheduler([], [rate])",
            )
        if includes is not None and excludes is not None:
            raise UsageError("give weight_decay_includes or weight_decay_excludes, not both")
        self.lr_scheduler = lr_scheduler
        self.recipe = UpdateRecipe(
            rule=rule,
            hyper=hyper,
            schedule=lr_scheduler,
            loss_scale=1.0 if loss_scale_factor is None else float(loss_scale_factor),
            clip_norm=None if grad_clipping is None else grad_clipping.clip_norm,
            variables=variables,
            weight_decay=0.0 if decay is None else float(decay),
            decay_includes=_texts(includes),
            decay_excludes=_texts(excludes),
        )

    def _rule(self) -> tuple[str, dict[str, Any]]:
        """Return the update and its hyperparameters, from the arguments of a kind."""
        raise NotImplementedError(f"{type(self).__name__} defines no update")

    def minimize(self, loss: Any) -> None:
        """Train the job's variables to reduce the loss; gradients and updates are appended when the job is complete.

        Args:
            loss: a blob of any shape, or a list of them.

        Raises:
            UsageError: it is called outside a train job.
        """
        losses = listed(loss)
        session().current_job("minimize()").minimize(losses, self.recipe)


# The kinds are dataclasses, whose arguments are their fields: those of the last base first, of the first base last.
@dataclass(eq=False, repr=False)
class _Kind(Optimizer):
    """The last arguments of every kind of optimizer, and how they are used."""

    grad_clipping: by_global_norm | None = None
    train_step_lbn: str | None = None
    loss_scale_policy: Any = None
    variables: Names = None

    def __post_init__(self) -> None:
        given = vars(self)
        common = [given[name] for name in ("lr_scheduler", "loss_scale_factor", "grad_clipping", "variables")]
        decay = [given[name] for name in _DECAY if name in given]
        Optimizer.__init__(self, *self._rule(), *common, *decay)  # ``super`` would be the next kind of arguments


_DECAY = ("weight_decay", "weight_decay_includes", "weight_decay_excludes")


@dataclass(eq=False, repr=False)
class _Decaying(Optimizer):
    """The arguments of the kinds with weight decay."""

    weight_decay: float | None = None
    weight_decay_includes: Sequence[str] | str | None = None
    weight_decay_excludes: Sequence[str] | str | None = None


@dataclass(eq=False, repr=False)
class _Descent(Optimizer):
    lr_scheduler: LrScheduler
    loss_scale_factor: float | None = None
    momentum: float = 0.9

    def _rule(self) -> tuple[str, dict[str, Any]]:
        return ("momentum", {"beta": self.momentum}) if self.momentum else ("sgd", {})


@dataclass(eq=False, repr=False)
class _Adam(Optimizer):
    lr_scheduler: LrScheduler
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    do_bias_correction: bool = False
    loss_scale_factor: float | None = None

    def _rule(self) -> tuple[str, dict[str, Any]]:
        rates = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
        return "adam", {**rates, "do_bias_correction": self.do_bias_correction}


@dataclass(eq=False, repr=False)
class _RMSProp(Optimizer):
    lr_scheduler: LrScheduler
    decay_rate: float = 0.99
    epsilon: float = 1e-8
    centered: bool = False
    loss_scale_factor: float | None = None

    def _rule(self) -> tuple[str, dict[str, Any]]:
        return "rmsprop", {"decay_rate": self.decay_rate, "epsilon": self.epsilon, "centered": self.centered}


@dataclass(eq=False, repr=False)
class SGD(_Kind, _Descent):
    """Gradient descent with momentum: ``m = momentum*m - lr*g; w += m``."""


@dataclass(eq=False, repr=False)
class SGDW(_Kind, _Decaying, _Descent):
    """Gradient descent with momentum and weight decay: ``w -= lr*weight_decay*w`` besides."""


@dataclass(eq=False, repr=False)
class Adam(_Kind, _Adam):
    """Adam (Kingma and Ba 2015); without bias correction unless ``do_bias_correction``."""


@dataclass(eq=False, repr=False)
class AdamW(_Kind, _Decaying, _Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""


@dataclass(eq=False, repr=False)
class RMSProp(_Kind, _RMSProp):
    """RMSProp (Hinton 2012): ``w -= lr*g/sqrt(s + epsilon)``."""


def _texts(names: Sequence[str] | str | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(names)


__getattr__ = guard("flow.optimizer", __all__)
