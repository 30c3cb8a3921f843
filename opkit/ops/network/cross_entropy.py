"""Cross entropies over classes: of integer labels and of soft ones, from logits and from probabilities.

Losses per element are in ``opkit.ops.network.loss``; reductions and class weights are the facades' concern.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc, is_integer
from opkit.ops.arrange.indexing import IndexRangeError
from opkit.ops.arrange.shape import expand_dims
from opkit.ops.basis.arithmetic import mul, neg, plus, sub
from opkit.ops.basis.broadcasting import reduce_sum
from opkit.ops.basis.creation import cast_like, ones_like
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import (
    check_floating,
    check_same_dtype,
    dtype_error,
    is_same_size,
    merge_shapes,
    shape_error,
)
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import GradRule, Kept, Kernel, OpDef
from opkit.ops.core.types import Attrs, Descs, Out, Values
from opkit.ops.core.value import Value, shape_of
from opkit.ops.pointwise.compare import not_equal
from opkit.ops.pointwise.elementwise import square
from opkit.ops.reduce.log_space import SOFTMAX_GRAD, log_softmax, log_softmax_of


# ---- sparse labels: softmax and cross entropy in one -----------------------------------------------------------------
def _infer_sparse(op: str, outputs: str) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        prediction, label = descs[0], descs[1]
        check_floating(op, [prediction])
        if not is_integer(label.dtype):
            raise dtype_error(op, [prediction, label], "the labels must be integers")
        lead = prediction.shape[:-1]
        if label.ndim != len(lead) or not all(map(is_same_size, label.shape, lead)):
            raise shape_error(op, [prediction, label], f"the labels must have the shape {lead}")
        loss = TensorDesc(label.shape, prediction.dtype)
        return {"both": [prediction, loss], "loss": [loss], "diff": [prediction]}[outputs]

    return infer


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _rows(label: ndarray, classes: int, ignored: int, op: str) -> tuple[ndarray, ndarray | None]:
    """Return the labels as a vector, and where they are ignored (None: nowhere)."""
    flat = label.reshape(-1)
    # Read without a sign, a negative label is among the largest.
    if not flat.size or int(np.maximum.reduce(flat.view(_UNSIGNED[flat.itemsize]))) < classes:
        return flat, flat == ignored if 0 <= ignored < classes else None
    mask = flat == ignored
    bad = flat[((flat < 0) | (flat >= classes)) & ~mask]
    if bad.size:
        raise IndexRangeError(f"op {op!r}: label {bad[0]} is not among the {classes} classes 0 to {classes - 1}")
    return np.where(mask, 0, flat), mask


@quiet
def _sparse(prediction: ndarray, label: ndarray, depth: int, ignore_index: int) -> tuple[ndarray, ndarray]:
    classes = prediction.shape[-1]
    flat, ignored = _rows(label, classes, ignore_index, "sparse_softmax_cross_entropy")
    shifted = prediction.reshape(-1, classes)
    shifted = shifted - np.maximum.reduce(shifted, 1, keepdims=True) if shifted.size else shifted.copy()
    picked = shifted[np.arange(flat.size), flat]
    np.exp(shifted, out=shifted)
    total = np.add.reduce(shifted, 1, keepdims=True)
    shifted /= total
    loss = np.log(total[:, 0])
    loss -= picked
    if ignored is not None:
        loss[ignored] = 0
    return shifted.reshape(prediction.shape), loss.reshape(label.shape)


def _sparse_slope(
    label: ndarray, dy: ndarray, prob: ndarray, depth: int, ignore_index: int, out: Out = None
) -> ndarray:
    classes = prob.shape[-1]
    flat, ignored = _rows(label, classes, ignore_index, "sparse_softmax_cross_entropy_grad")
    out = np.multiply(prob, dy[..., None], out=out)
    places = flat + np.arange(0, flat.size * classes, classes or 1)  # in memory order: half the time of two indices
    out.put(places, out.take(places) - dy.reshape(-1))
    if ignored is not None:
        out.reshape(-1, classes)[ignored] = 0
    return out


def _sparse_slopes(kept: Kept, douts: Any) -> Values:
    by_prob, by_loss = douts
    prob, total = kept.result(), None
    if by_loss is not None:
        total = _sparse_slope(kept.array(1), by_loss, prob, **kept.attrs)
    if by_prob is not None:
        through = SOFTMAX_GRAD.kernel(prob, by_prob)
        total = through if total is None else total + through
    return total, None


def _sparse_grad(applied: Any, douts: Values) -> Values:
    by_prob, by_loss = douts
    prob, label = applied.outputs[0], applied.inputs[1]
    total = None
    if by_loss is not None:
        total = perform(SPARSE_GRAD, label, by_loss, prob, **applied.attrs)
    if by_prob is not None:
        through = perform(SOFTMAX_GRAD, prob, by_prob)
        total = plus(total, through)
    return total, None


def _sparse_slope_grad(applied: Any, douts: Values) -> Values:
    # dx = (prob - one_hot(label)) * dy
    label, dy, prob = applied.inputs
    _, need_dy, need_prob = applied.needs
    wide = expand_dims(dy, -1)
    by_dy = None
    if need_dy:
        signed = perform(SPARSE_GRAD, label, ones_like(dy), prob, **applied.attrs)
        by_dy = reduce_sum(mul(douts[0], signed), -1)
    return None, by_dy, mul(_kept(douts[0], label, applied.attrs), wide) if need_prob else None


def _kept(cotangent: Value, label: Value, attrs: Attrs) -> Value:
    if attrs["ignore_index"] == NOTHING_IGNORED:
        return cotangent
    return mul(cotangent, expand_dims(cast_like(not_equal(label, attrs["ignore_index"]), cotangent), -1))


#: ``ignore_index`` where no label is ignored.
NOTHING_IGNORED = -(2**63)
_SPARSE_ATTRS: dict[str, Any] = {
    "attrs": "depth:int64 ignore_index:int64",
    "defaults": {"ignore_index": NOTHING_IGNORED},
}


def _define_slope(name: str, inputs: str, kernel: Kernel, grad: GradRule, **rest: Any) -> OpDef:
    """Define the gradient op of a loss by its logits, whose shape is that of the third input, the softmax."""
    return define(
        name, inputs, "prediction_diff", kernel, infer=lambda descs, attrs: [descs[2]], grad=grad, reads=inputs, **rest
    )


SPARSE = define(
    "sparse_softmax_cross_entropy",
    "prediction label",
    "prob out",
    _sparse,
    infer=_infer_sparse("sparse_softmax_cross_entropy", "both"),
    grad=_sparse_grad,
    grad_kernel=_sparse_slopes,
    reads="label prob",
    **_SPARSE_ATTRS,
)
SPARSE_GRAD = _define_slope(
    "sparse_softmax_cross_entropy_grad",
    "label dy prob",
    quiet(_sparse_slope),
    _sparse_slope_grad,
    out=quiet(_sparse_slope),
    **_SPARSE_ATTRS,
)


def sparse_softmax_cross_entropy(
    prediction: Value, label: Value, ignore_index: int | None = None
) -> tuple[Value, Value]:
    """Return the softmax of the prediction and the cross entropy with integer labels, one loss per row.

    Args:
        prediction: logits ``(..., classes)``.
        label: integers ``(...)`` in ``[0, classes)``.
        ignore_index: rows with this label lose 0 and get no gradient.

    Returns:
        ``(probabilities, loss)``.

    Raises:
        ShapeError: the shapes do not fit, or a label is not a class.
    """
    attrs = {
        "depth": shape_of(prediction)[-1],
        "ignore_index": NOTHING_IGNORED if ignore_index is None else int(ignore_index),
    }
    prob, loss = local.mode.apply(SPARSE, (prediction, label), attrs)
    return prob, loss


# ---- sparse labels: of probabilities ---------------------------------------------------------------------------------
_TINY = 1e-20


def _picked(prediction: ndarray, label: ndarray) -> tuple[ndarray, tuple[ndarray, ndarray]]:
    classes = prediction.shape[-1]
    flat, _ = _rows(label, classes, NOTHING_IGNORED, "sparse_cross_entropy")
    at = (np.arange(flat.size), flat)
    return prediction.reshape(-1, classes)[at], at


@quiet
def _sparse_plain(prediction: ndarray, label: ndarray, depth: int) -> Any:
    chosen, _ = _picked(prediction, label)
    return (-np.log(np.maximum(chosen, prediction.dtype.type(_TINY)))).reshape(label.shape)


@quiet
def _sparse_plain_slope(prediction: ndarray, label: ndarray, dy: ndarray, depth: int) -> ndarray:
    chosen, at = _picked(prediction, label)
    grad = np.zeros_like(prediction)
    grad.reshape(-1, prediction.shape[-1])[at] = -dy.reshape(-1) / np.maximum(chosen, prediction.dtype.type(_TINY))
    return grad


def _plain_grad(applied: Any, douts: Values) -> Values:
    prediction, label = applied.inputs
    return perform(PLAIN_GRAD, prediction, label, douts[0], **applied.attrs), None


def _plain_slope_grad(applied: Any, douts: Values) -> Values:
    # dx[label] = -dy / p, elsewhere 0
    prediction, label, dy = applied.inputs
    need_prediction, _, need_dy = applied.needs
    per_one = perform(PLAIN_GRAD, prediction, label, ones_like(dy), **applied.attrs)
    by_dy = reduce_sum(mul(douts[0], per_one), -1) if need_dy else None
    by_prediction = mul(mul(douts[0], square(per_one)), expand_dims(dy, -1)) if need_prediction else None
    return by_prediction, None, by_dy


PLAIN = define(
    "sparse_cross_entropy",
    "prediction label",
    "out",
    _sparse_plain,
    infer=_infer_sparse("sparse_cross_entropy", "loss"),
    attrs="depth:int64",
    grad=_plain_grad,
    reads="prediction label",
)
PLAIN_GRAD = define(
    "sparse_cross_entropy_grad",
    "prediction label dy",
    "prediction_diff",
    _sparse_plain_slope,
    infer=_infer_sparse("sparse_cross_entropy_grad", "diff"),
    attrs="depth:int64",
    grad=_plain_slope_grad,
    reads="prediction label dy",
)


# ---- soft labels -----------------------------------------------------------------------------------------------------
@quiet
def _soft(prediction: ndarray, label: ndarray) -> tuple[ndarray, ndarray]:
    log_prob = log_softmax_of(prediction)
    loss = -np.add.reduce(label * log_prob, -1)
    return np.exp(log_prob, out=log_prob), loss


@quiet
def _soft_slope(dy: ndarray, label: ndarray, prob: ndarray) -> Any:
    total = np.add.reduce(label, -1, keepdims=True)
    return (prob * total - label) * dy[..., None]


def _soft_grad(applied: Any, douts: Values) -> Values:
    by_prob, by_loss = douts
    prediction, label = applied.inputs
    prob = applied.outputs[0]
    need_prediction, need_label = applied.needs
    to_prediction = to_label = None
    if by_loss is not None:
        if need_prediction:
            to_prediction = perform(SOFT_GRAD, by_loss, label, prob)
        if need_label:
            to_label = neg(mul(expand_dims(by_loss, -1), log_softmax(prediction)))
    if by_prob is not None:
        through = perform(SOFTMAX_GRAD, prob, by_prob)
        to_prediction = plus(to_prediction, through)
    return to_prediction, to_label


def _soft_slope_grad(applied: Any, douts: Values) -> Values:
    # dx = (prob * sum(label) - label) * dy
    dy, label, prob = applied.inputs
    g, wide = douts[0], expand_dims(dy, -1)
    total = reduce_sum(label, -1, keepdims=True)
    by_dy = reduce_sum(mul(g, sub(mul(prob, total), label)), -1)
    by_label = mul(sub(reduce_sum(mul(g, prob), -1, keepdims=True), g), wide)
    return by_dy, by_label, mul(mul(g, total), wide)


def _infer_soft(op: str) -> Any:
    def infer(descs: Descs, attrs: Attrs) -> Descs:
        check_same_dtype(op, descs)
        check_floating(op, descs)
        shape = merge_shapes(op, descs)
        return [TensorDesc(shape, descs[0].dtype), TensorDesc(shape[:-1], descs[0].dtype)]

    return infer


SOFT_GRAD = _define_slope("softmax_cross_entropy_grad", "dy label prob", _soft_slope, _soft_slope_grad)
SOFT = define(
    "softmax_cross_entropy",
    "prediction label",
    "prob out",
    _soft,
    infer=_infer_soft("softmax_cross_entropy"),
    grad=_soft_grad,
    reads="prediction label prob",
)
