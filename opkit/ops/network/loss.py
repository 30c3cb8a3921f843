"""Losses per element: cross entropies of probabilities and of logits, and smooth l1, with their gradient ops.

Cross entropies over classes are in ``opkit.ops.network.cross_entropy``; reductions are the facades' concern.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.basis.arithmetic import div, mul, neg, scalar_div, scalar_mul, sub
from opkit.ops.basis.creation import cast_like, full_like
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_floating, merge_shapes
from opkit.ops.core.mode import local, perform
from opkit.ops.core.types import Attrs, Descs, Values
from opkit.ops.core.value import Value
from opkit.ops.pointwise.compare import greater, less, maximum
from opkit.ops.pointwise.elementwise import abs as absolute
from opkit.ops.pointwise.elementwise import log, sigmoid, sigmoid_of


# ---- sigmoid cross entropy -------------------------------------------------------------------------------------------
@quiet
def _sigmoid_ce(prediction: ndarray, label: ndarray) -> Any:
    z = label.astype(prediction.dtype, copy=False)
    return np.maximum(prediction, 0) - prediction * z + np.log1p(np.exp(-np.abs(prediction)))


@quiet
def _sigmoid_ce_slope(prediction: ndarray, loss_diff: ndarray, label: ndarray) -> Any:
    slope = sigmoid_of(prediction)
    slope -= label.astype(prediction.dtype, copy=False)
    slope *= loss_diff
    return slope


def _sigmoid_ce_grad(applied: Any, douts: Values) -> Values:
    prediction, label = applied.inputs
    need_prediction, need_label = applied.needs
    return (
        perform(SIGMOID_CE_GRAD, prediction, douts[0], label) if need_prediction else None,
        neg(mul(douts[0], prediction)) if need_label else None,
    )


def _sigmoid_ce_slope_grad(applied: Any, douts: Values) -> Values:
    prediction, dy, label = applied.inputs
    need_prediction, need_dy, need_label = applied.needs
    both, s = mul(douts[0], dy), sigmoid(prediction)
    return (
        mul(both, mul(s, sigmoid(neg(prediction)))) if need_prediction else None,
        mul(douts[0], sub(s, cast_like(label, s))) if need_dy else None,
        neg(both) if need_label else None,
    )


def _infer_with_label(op: str) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_floating(op, [descs[0]])
        return [TensorDesc(merge_shapes(op, descs), descs[0].dtype)]

    return infer


SIGMOID_CE_GRAD = define(
    "sigmoid_cross_entropy_grad",
    "prediction loss_diff label",
    "prediction_diff",
    _sigmoid_ce_slope,
    infer=_infer_with_label("sigmoid_cross_entropy_grad"),
    grad=_sigmoid_ce_slope_grad,
    reads="prediction loss_diff label",
    elementwise=True,
)
SIGMOID_CE = define(
    "sigmoid_cross_entropy",
    "prediction label",
    "loss",
    _sigmoid_ce,
    infer=_infer_with_label("sigmoid_cross_entropy"),
    grad=_sigmoid_ce_grad,
    reads="prediction label",
    elementwise=True,
)


# ---- cross entropy of probabilities ----------------------------------------------------------------------------------
@quiet
def _binary_ce(prediction: ndarray, label: ndarray, limit: float, floor: float) -> Any:
    least = prediction.dtype.type(-limit)
    first = np.maximum(np.log(prediction), least)
    second = np.maximum(np.log1p(-prediction), least)
    return -(label * first + (1 - label) * second)


@quiet
def _binary_ce_slope(prediction: ndarray, loss_diff: ndarray, label: ndarray, limit: float, floor: float) -> Any:
    spread = np.maximum((1 - prediction) * prediction, prediction.dtype.type(floor))
    return loss_diff * (prediction - label) / spread


def _logarithms(prediction: Value, limit: float) -> Value:
    """Return ``log(1 - p) - log(p)``, each of at least minus the limit: how the loss grows with the label."""
    least = full_like(prediction, -limit)
    return sub(maximum(log(sub(1.0, prediction)), least), maximum(log(prediction), least))


def _binary_ce_grad(applied: Any, douts: Values) -> Values:
    prediction, label = applied.inputs
    need_prediction, need_label = applied.needs
    slope = perform(BINARY_CE_GRAD, prediction, douts[0], label, **applied.attrs) if need_prediction else None
    by_label = mul(douts[0], _logarithms(prediction, applied.attrs["limit"])) if need_label else None
    return slope, by_label


def _binary_ce_slope_grad(applied: Any, douts: Values) -> Values:
    prediction, dy, label = applied.inputs
    floor = float(applied.attrs["floor"])
    area = mul(sub(1.0, prediction), prediction)
    spread = maximum(area, full_like(prediction, floor))
    gap = sub(prediction, label)
    # The derivative of the spread is 1 - 2p where it is not the floor.
    bent = mul(cast_like(greater(area, floor), prediction), sub(1.0, scalar_mul(prediction, 2.0)))
    by_prediction = sub(div(dy, spread), div(mul(mul(dy, gap), bent), mul(spread, spread)))
    return (mul(douts[0], by_prediction), div(mul(douts[0], gap), spread), neg(div(mul(douts[0], dy), spread)))


BINARY_CE_GRAD = define(
    "binary_cross_entropy_grad",
    "prediction loss_diff label",
    "prediction_diff",
    _binary_ce_slope,
    infer=_infer_with_label("binary_cross_entropy_grad"),
    attrs="limit:float floor:float",
    grad=_binary_ce_slope_grad,
    reads="prediction loss_diff label",
    elementwise=True,
)
BINARY_CE = define(
    "binary_cross_entropy",
    "prediction label",
    "loss",
    _binary_ce,
    infer=_infer_with_label("binary_cross_entropy"),
    attrs="limit:float floor:float",
    grad=_binary_ce_grad,
    reads="prediction label",
    elementwise=True,
)


def binary_cross_entropy(prediction: Value, label: Value, limit: float = 100.0, floor: float = 1e-12) -> Value:
    """Return the cross entropy of probabilities with labels in [0, 1], per element.

    Args:
        prediction: probabilities.
        label: of the same shape and dtype.
        limit: logarithms are of at least its negative.
        floor: in the gradient ``p * (1 - p)``, by which is divided, is at least this.
    """
    attrs = {"limit": float(limit), "floor": float(floor)}
    return local.mode.apply(BINARY_CE, (prediction, label), attrs)


# ---- smooth l1 -------------------------------------------------------------------------------------------------------
# Within beta of the label: d*d / (2*beta); beyond it: |d| - beta/2.
@quiet
def _smooth_l1(prediction: ndarray, label: ndarray, beta: float) -> Any:
    size = np.abs(prediction - label)
    if beta == 0:
        return size
    return np.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta).astype(prediction.dtype, copy=False)


@quiet
def _smooth_l1_slope(dy: ndarray, prediction: ndarray, label: ndarray, beta: float) -> ndarray:
    d = prediction - label
    slope = np.sign(d) if beta == 0 else np.clip(d * (1 / beta), -1, 1)
    return np.asarray(dy * slope)


def _smooth_l1_grad(applied: Any, douts: Values) -> Values:
    prediction, label = applied.inputs
    need_prediction, need_label = applied.needs
    slope = perform(SMOOTH_L1_GRAD, douts[0], prediction, label, **applied.attrs)
    return slope if need_prediction else None, neg(slope) if need_label else None


def _smooth_l1_slope_grad(applied: Any, douts: Values) -> Values:
    dy, prediction, label = applied.inputs
    beta = applied.attrs["beta"]
    by_dy = perform(SMOOTH_L1_GRAD, douts[0], prediction, label, **applied.attrs)
    if beta == 0:
        return by_dy, None, None
    inside = cast_like(less(absolute(sub(prediction, label)), float(beta)), dy)
    through = scalar_div(mul(mul(douts[0], dy), inside), float(beta))
    return by_dy, through, neg(through)


SMOOTH_L1_GRAD = define(
    "smooth_l1_loss_grad",
    "loss_grad prediction label",
    "prediction_grad",
    _smooth_l1_slope,
    infer=_infer_with_label("smooth_l1_loss_grad"),
    attrs="beta:float",
    grad=_smooth_l1_slope_grad,
    reads="loss_grad prediction label",
    elementwise=True,
)
SMOOTH_L1 = define(
    "smooth_l1_loss",
    "prediction label",
    "loss",
    _smooth_l1,
    infer=_infer_with_label("smooth_l1_loss"),
    attrs="beta:float",
    grad=_smooth_l1_grad,
    reads="prediction label",
    elementwise=True,
)


def smooth_l1_loss(prediction: Value, label: Value, beta: float = 1.0) -> Value:
    """Return d*d / (2*beta) where the distance d is below beta, else d - beta/2, per element."""
    return local.mode.apply(SMOOTH_L1, (prediction, label), {"beta": float(beta)})
