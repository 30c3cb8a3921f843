"""Training as OneFlow v0.4 does it: from losses and a recipe to gradients, clipping and model updates.

Order, as in its sources: gradients of the losses (seeded with ones), divided by the loss's element count, unscaled,
regularised, clipped, applied. Works on values of either mode through ``ops``; the function that differentiates is an
argument.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy import ndarray

from opkit import ops
from opkit.errors import UsageError
from opkit.ir import TensorDesc
from opkit.oneflow.semantics.schedules import LrScheduler
from opkit.ops import ArgDef, AttrDef, OpDef, apply
from opkit.ops.core.value import desc_of
from opkit.ops.update import ADAM_UPDATE, MOMENTUM_UPDATE, RMSPROP_UPDATE, SGD_UPDATE
from opkit.record import record
from opkit.static.site import user_site

#: Update op and names of the state that it keeps per variable.
_RULES: dict[str, tuple[OpDef, tuple[str, ...]]] = {
    "sgd": (SGD_UPDATE, ()),
    "momentum": (MOMENTUM_UPDATE, ("momentum",)),
    "adam": (ADAM_UPDATE, ("m", "v")),
    "rmsprop": (RMSPROP_UPDATE, ("mean_square", "mean_gradient")),
}


@record
class UpdateRecipe:
    """How an optimizer changes variables.

    Args:
        rule: "sgd", "momentum", "adam" or "rmsprop".
        schedule: the learning rate by step.
        hyper: the rule's hyperparameters by OneFlow's attribute names.
        loss_scale: the losses' cotangents are multiplied by it and the gradients divided again.
        clip_norm: bound on the joint norm of all gradients, or None.
        variables: names of the variables to train, or a function that returns them; None for all trainable ones.
        weight_decay: decoupled weight decay.
        decay_includes: where given, only names in which one of these patterns is found decay.
        decay_excludes: where given, names in which one of these patterns is found do not decay.
    """

    rule: str
    schedule: LrScheduler
    hyper: Mapping[str, Any] = field(default_factory=dict)
    loss_scale: float = 1.0
    clip_norm: float | None = None
    variables: Any = None
    weight_decay: float = 0.0
    decay_includes: tuple[str, ...] | None = None
    decay_excludes: tuple[str, ...] | None = None

    def decay_of(self, name: str) -> float:
        """Return the weight decay of a variable."""
        if self.decay_includes is not None:
            return self.weight_decay if any(re.search(item, name) for item in self.decay_includes) else 0.0
        if self.decay_excludes is not None:
            return 0.0 if any(re.search(item, name) for item in self.decay_excludes) else self.weight_decay
        return self.weight_decay


@record
class Trained:
    """A variable that is trained.

    Args:
        name: its name.
        value: what stands for it in the current mode.
        l1: weight of the L1 term of its regularizer.
        l2: weight of the L2 term of its regularizer.
    """

    name: str
    value: Any
    l1: float = 0.0
    l2: float = 0.0


#: ``differentiate(losses, seeds, values)`` -> one gradient or None per value.
Differentiate = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]
#: ``new_state(name, desc)`` -> a value of zeros that lives as long as the variables.
NewState = Callable[[str, TensorDesc], Any]


def step_name(job: str) -> str:
    """Return the name of the variable that counts a job's train steps."""
    return f"System-Train-TrainStep-{job}"


# ---- the step and the rate -------------------------------------------------------------------------------------------
def _learning_rate(step: ndarray, *, schedule: LrScheduler, correction: tuple[float, float] | None) -> ndarray:
    now = int(step.reshape(-1)[0])
    rate = schedule.rate(now)
    if correction is not None:
        beta1, beta2 = correction
        rate = np.float32(float(rate) * math.sqrt(1.0 - beta2 ** (now + 1)) / (1.0 - beta1 ** (now + 1)))
    return np.array([rate], np.float32)


def _count_step(step: ndarray) -> tuple[()]:
    step += 1
    return ()


#: The learning rate of the current step: (1,) float32 from the step counter; with ``correction`` = (beta1, beta2)
#: it carries Adam's bias correction.
LEARNING_RATE = OpDef(
    "learning_rate",
    (ArgDef("train_step"),),
    (ArgDef("out"),),
    _learning_rate,
    infer=lambda descs, attrs: [TensorDesc((1,), "float32")],
    attrs=(AttrDef("schedule", "object"), AttrDef("correction", "object")),
)


class LossWarning(UserWarning):
    """A loss became NaN or infinite; reported once per job, with the step."""


def _check_loss(loss: ndarray, step: ndarray, *, job: str, told: list[str]) -> tuple[()]:
    if not told and not np.isfinite(loss).all():
        kind = "NaN" if np.isnan(loss).any() else "infinite"
        told.append(job)
        file, line, _ = user_site() or ("<unknown>", 0, "")
        warnings.warn_explicit(
            f"job {job!r}: the loss is {kind} at step {int(step.reshape(-1)[0])}; "
            "flow.config.enable_debug_mode(True) before the job is called names the op that made it",
            LossWarning,
            file,
            line,
        )
    return ()


#: Warns when a loss is not finite.
CHECK_LOSS = OpDef(
    "check_loss",
    (ArgDef("loss"), ArgDef("train_step")),
    (),
    _check_loss,
    infer=lambda descs, attrs: [],
    attrs=(AttrDef("job", "string"), AttrDef("told", "object")),
    has_side_effect=True,
)
#: Adds one to the step counter, in place.
COUNT_STEP = OpDef(
    "count_step", (ArgDef("train_step"),), (), _count_step, infer=lambda descs, attrs: [], writes=("train_step",)
)


def append_training(
    job: str,
    losses: Sequence[Any],
    recipe: UpdateRecipe,
    trained: Sequence[Trained],
    differentiate: Differentiate,
    new_state: NewState,
    copies: int = 1,
) -> dict[str, Any]:
    """Differentiate the losses and update the variables by a recipe; the caller advances the step counter.

    Args:
        job: the job's name, for messages and the names of its state.
        losses: floating-point values of one shape and dtype.
        recipe: the optimizer.
        trained: the variables.
        differentiate: the mode's gradient function.
        new_state: makes or finds optimizer state by name.
        copies: how many devices compute losses of their own, in the mirrored view.

    Returns:
        {variable name: its gradient, as the losses have it}; variables that no loss depends on are left out.

    Raises:
        UsageError: no loss depends on any variable, or the losses differ in shape or dtype.
    """
    count = _loss_count(job, losses)
    seeds = [ops.full_like(loss, recipe.loss_scale) for loss in losses]
    found = differentiate(losses, seeds, [item.value for item in trained])
    pairs = [(item, gradient) for item, gradient in zip(trained, found) if gradient is not None]
    if not pairs:
        names = ", ".join(repr(item.name) for item in trained) or "none"
        raise UsageError(
            f"job {job!r}: the loss depends on no trainable variable (the job's variables: {names})",
            help="compute the loss from flow.get_variable(...) or layers, or leave out minimize() in a predict job",
        )
    step = new_state(step_name(job), TensorDesc((1,), "int64"))
    for loss in losses:
        apply(CHECK_LOSS, (loss, step), {"job": job, "told": []})
    rate = apply(LEARNING_RATE, (step,), {"schedule": recipe.schedule, "correction": _correction(recipe)})
    scale = 1.0 / ((count or 1) * copies * recipe.loss_scale)
    returned = {item.name: gradient for item, gradient in pairs}
    if count is None:
        pairs = _per_element(losses[0], pairs)
    if recipe.clip_norm is None:
        for item, gradient in pairs:
            _update(recipe, item, gradient, rate, new_state, scale, item.l1, item.l2)
    else:
        for item, gradient in _clipped(recipe.clip_norm, pairs, scale):
            _update(recipe, item, gradient, rate, new_state, 1.0, 0.0, 0.0)
    return returned


def _per_element(loss: Any, pairs: Sequence[tuple[Trained, Any]]) -> list[tuple[Trained, Any]]:
    """Return the gradients divided by how many elements a loss of a size that varies has in this run."""
    count = ops.reduce_sum(ops.full_like(ops.cast(loss, "float32"), 1.0))
    return [(item, ops.div(gradient, ops.cast(count, desc_of(gradient).dtype))) for item, gradient in pairs]


def _loss_count(job: str, losses: Sequence[Any]) -> int | None:
    """Return how many elements each loss has; None where that varies from run to run."""
    descs = [desc_of(loss) for loss in losses]
    for desc in descs:
        if desc.dtype not in ("float16", "float32", "float64"):
            raise UsageError(f"job {job!r}: a loss is a floating-point blob, got {desc}")
        if desc != descs[0]:
            raise UsageError(f"job {job!r}: all losses must have the same shape and dtype, got {descs[0]} and {desc}")
    return None if -1 in descs[0].shape else math.prod(descs[0].shape)


def _correction(recipe: UpdateRecipe) -> tuple[float, float] | None:
    if recipe.rule == "adam" and recipe.hyper.get("do_bias_correction"):
        return float(recipe.hyper["beta1"]), float(recipe.hyper["beta2"])
    return None


def _clipped(clip_norm: float, pairs: Sequence[tuple[Trained, Any]], scale: float) -> list[tuple[Trained, Any]]:
    """Return the gradients, scaled, regularised, and scaled down together to the norm where they exceed it."""
    ready = []
    for item, gradient in pairs:
        value = ops.scalar_mul(gradient, scale) if scale != 1.0 else gradient
        if item.l1:
            value = ops.add(value, ops.scalar_mul(ops.sign(item.value), item.l1))
        if item.l2:
            value = ops.add(value, ops.scalar_mul(item.value, item.l2))
        ready.append((item, value))
    squares = [ops.reshape(ops.reduce_sum(ops.square(value)), (1,)) for _, value in ready]
    norm = ops.sqrt(ops.add_n([ops.cast(square, "float32") for square in squares]))
    factor = ops.minimum(ops.div(ops.full_like(norm, clip_norm), norm), ops.ones_like(norm))
    return [(item, ops.mul(value, ops.cast(factor, desc_of(value).dtype))) for item, value in ready]


def _update(
    recipe: UpdateRecipe,
    item: Trained,
    gradient: Any,
    rate: Any,
    new_state: NewState,
    scale: float,
    l1: float,
    l2: float,
) -> None:
    opdef, states = _RULES[recipe.rule]
    hyper = {name: value for name, value in recipe.hyper.items() if name != "do_bias_correction"}
    if recipe.rule == "rmsprop" and not hyper.get("centered"):
        states = states[:1]
    held = [new_state(f"{item.name}-{state}", desc_of(item.value)) for state in states]
    if recipe.rule == "rmsprop" and len(held) == 1:
        held.append(None)
    decay = 0.0 if recipe.rule == "rmsprop" else recipe.decay_of(item.name)
    attrs = {**hyper, "scale": scale, "l1": l1, "l2": l2, "weight_decay": decay}
    apply(opdef, (item.value, gradient, rate, *held), attrs)
