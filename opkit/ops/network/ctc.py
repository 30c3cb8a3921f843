"""Connectionist temporal classification: the likelihood of labels over all their alignments with a sequence.

Other losses of classes are in ``opkit.ops.network.cross_entropy``.
Source: OneFlow v0.4 (names of inputs, outputs and attributes); A. Graves et al. 2006, "Connectionist Temporal
Classification", sections 3 and 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ir import TensorDesc
from opkit.ops.core.define import define, quiet
from opkit.ops.core.inference import check_floating, shape_error
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Attrs, Descs, Values
from opkit.ops.core.value import Value, shape_of
from opkit.record import record

_INPUTS = "log_probs targets input_lengths target_lengths"
_ATTRS = "max_target_length:int64 blank:int32 zero_infinity:bool per_step:bool"


@record
class _Lattice:
    """The states of an alignment: blanks at even numbers, labels at odd ones.

    Args:
        emitted: ``(T, N, S)``, the logarithm of what each state emits at each step.
        labels: ``(N, S)``, the class of each state.
        may_skip: ``(N, S)``, whether a state may follow the one before the last.
        steps: ``(N,)``, how many steps count.
        last: ``(N,)``, the last state.
    """

    emitted: ndarray
    labels: ndarray
    may_skip: ndarray
    steps: ndarray
    last: ndarray


def _lattice(
    log_probs: ndarray, targets: ndarray, steps: ndarray, lengths: ndarray, width: int, blank: int
) -> _Lattice:
    count, classes = log_probs.shape[1:]
    if steps.max(initial=0) > len(log_probs) or lengths.max(initial=0) > min(width, targets.shape[1]):
        raise ShapeError(
            f"op 'ctc_loss': lengths up to {steps.max(initial=0)} and {lengths.max(initial=0)} for {len(log_probs)}"
            f" steps and {targets.shape[1]} labels",
            help="input_lengths is at most the number of steps, target_lengths at most the labels' width",
        )
    labels = np.full((count, 2 * width + 1), blank, np.int64)
    used = np.arange(width) < lengths[:, None]
    labels[:, 1::2] = np.where(used, targets[:, :width], blank)
    if count and not 0 <= labels.min() <= labels.max() < classes:
        raise ShapeError(f"op 'ctc_loss': a label lies outside of the {classes} classes")
    may_skip = np.zeros(labels.shape, bool)
    may_skip[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    emitted = np.take_along_axis(log_probs.astype(np.float64), labels[None], 2)
    return _Lattice(emitted, labels, may_skip, steps.astype(np.int64), 2 * lengths.astype(np.int64))


def _moved(logs: ndarray, by: int) -> ndarray:
    """Return the states' logarithms moved by some states to the right, or to the left where negative."""
    moved = np.full_like(logs, -np.inf)
    if by > 0:
        moved[:, by:] = logs[:, :-by]
    else:
        moved[:, :by] = logs[:, -by:]
    return moved


def _forward(lattice: _Lattice) -> ndarray:
    """Return ``(T, N, S)``, the logarithm of the likelihood of all beginnings that end in a state."""
    alpha = np.full(lattice.emitted.shape, -np.inf)
    if not len(alpha):
        return alpha
    alpha[0, :, :2] = lattice.emitted[0, :, :2]
    alpha[0, lattice.last == 0, 1:2] = -np.inf
    for t in range(1, len(alpha)):
        before = alpha[t - 1]
        skipped = np.where(lattice.may_skip, _moved(before, 2), -np.inf)
        alpha[t] = np.logaddexp(np.logaddexp(before, _moved(before, 1)), skipped) + lattice.emitted[t]
    return alpha


def _backward(lattice: _Lattice) -> ndarray:
    """Return ``(T, N, S)``, the logarithm of the likelihood of all that may follow a state."""
    beta = np.full(lattice.emitted.shape, -np.inf)
    states = np.arange(lattice.labels.shape[1])
    ends = (states == lattice.last[:, None]) | (states == lattice.last[:, None] - 1)
    for t in range(len(beta) - 1, -1, -1):
        if t + 1 < len(beta):
            after = beta[t + 1] + lattice.emitted[t + 1]
            skipped = _moved(np.where(lattice.may_skip, after, -np.inf), -2)
            beta[t] = np.logaddexp(np.logaddexp(after, _moved(after, -1)), skipped)
        beta[t] = np.where((lattice.steps == t + 1)[:, None], np.where(ends, 0.0, -np.inf), beta[t])
    return beta


def _likelihood(lattice: _Lattice, alpha: ndarray) -> ndarray:
    """Return ``(N,)``, the logarithm of the likelihood of the labels."""
    rows = np.arange(alpha.shape[1])
    if not len(alpha):
        return np.where(lattice.last == 0, 0.0, -np.inf)
    final = alpha[np.maximum(lattice.steps - 1, 0), rows]
    blank, label = final[rows, lattice.last], final[rows, np.maximum(lattice.last - 1, 0)]
    found = np.logaddexp(blank, np.where(lattice.last > 0, label, -np.inf))
    return np.where(lattice.steps > 0, found, np.where(lattice.last == 0, 0.0, -np.inf))


@quiet
def _ctc(
    log_probs: ndarray, targets: ndarray, input_lengths: ndarray, target_lengths: ndarray, **attrs: Any
) -> tuple[ndarray, ndarray]:
    lattice = _lattice(log_probs, targets, input_lengths, target_lengths, attrs["max_target_length"], attrs["blank"])
    alpha = _forward(lattice)
    loss = 0.0 - _likelihood(lattice, alpha)
    if attrs["zero_infinity"]:
        loss = np.where(np.isinf(loss), 0.0, loss)
    kind = log_probs.dtype
    return loss.astype(kind), np.ascontiguousarray(alpha.transpose(1, 0, 2)).astype(kind)


@quiet
def _ctc_slope(
    grad_out: ndarray,
    log_probs: ndarray,
    targets: ndarray,
    input_lengths: ndarray,
    target_lengths: ndarray,
    **attrs: Any,
) -> ndarray:
    lattice = _lattice(log_probs, targets, input_lengths, target_lengths, attrs["max_target_length"], attrs["blank"])
    alpha = _forward(lattice)
    whole = _likelihood(lattice, alpha)[None, :, None]
    share = np.exp(alpha + _backward(lattice) - whole)
    if attrs["zero_infinity"]:
        share = np.where(np.isinf(whole), 0.0, share)
    slope = np.zeros(log_probs.shape)
    steps, rows = np.arange(len(slope))[:, None, None], np.arange(len(lattice.labels))[None, :, None]
    np.add.at(slope, (steps, rows, lattice.labels[None]), share)
    scale = grad_out / np.maximum(lattice.steps, 1) if attrs["per_step"] else grad_out
    return np.asarray(0.0 - slope * scale[None, :, None]).astype(log_probs.dtype)


def _infer(descs: Descs, attrs: Attrs) -> Descs:
    x, targets, *lengths = descs
    check_floating("ctc_loss", descs[:1])
    if x.ndim != 3 or targets.ndim != 2 or any(item.ndim != 1 for item in lengths):
        raise shape_error("ctc_loss", descs, "it takes (T, N, classes), (N, labels) and two vectors of N lengths")
    if len({item.shape[0] for item in (targets, *lengths)} | {x.shape[1]} - {-1}) > 1 and -1 not in x.shape:
        raise shape_error("ctc_loss", descs, "its inputs differ in the size of the batch")
    states = 2 * attrs["max_target_length"] + 1
    return [TensorDesc((x.shape[1],), x.dtype), TensorDesc((x.shape[1], x.shape[0], states), x.dtype)]


def _rule(applied: Any, douts: Values) -> Values:
    slope = perform(CTC_LOSS_GRAD, douts[0], *applied.inputs, **applied.attrs)
    return slope, None, None, None


_COMMON: dict[str, Any] = {"attrs": _ATTRS, "defaults": {"blank": 0, "zero_infinity": False, "per_step": False}}
CTC_LOSS_GRAD = define(
    "ctc_loss_grad", f"grad_out {_INPUTS}", "grad", _ctc_slope, infer=lambda descs, attrs: [descs[1]], **_COMMON
)
CTC_LOSS = define("ctc_loss", _INPUTS, "loss alpha", _ctc, infer=_infer, grad=_rule, reads=_INPUTS, **_COMMON)


def ctc_loss(
    log_probs: Value,
    targets: Value,
    input_lengths: Value,
    target_lengths: Value,
    blank: int = 0,
    zero_infinity: bool = False,
    per_step: bool = False,
) -> Value:
    """Return, per sequence, minus the logarithm of the likelihood of its labels.

    Args:
        log_probs: ``(T, N, classes)``, logarithms of probabilities.
        targets: ``(N, labels)``, integers.
        input_lengths: ``(N,)``, how many steps of a sequence count.
        target_lengths: ``(N,)``, how many of its labels count.
        blank: the class between labels.
        zero_infinity: the loss of labels that no alignment gives, and its gradient, are 0.
        per_step: the gradient, but not the loss, is divided by the sequence's number of steps.
    """
    attrs = {
        "max_target_length": shape_of(targets)[1],
        "blank": int(blank),
        "zero_infinity": bool(zero_infinity),
        "per_step": bool(per_step),
    }
    loss, _ = perform(CTC_LOSS, log_probs, targets, input_lengths, target_lengths, **attrs)
    return loss
