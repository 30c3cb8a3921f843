"""Model updates under their op names: they change a parameter and its state in place, block by block.

``d = scale * model_diff + l1 * sign(model) + l2 * model`` is the gradient that each rule uses. The learning rate is
an input of one float32 element. The facades choose the gradient, the rate and the parameters.

Source: OneFlow v0.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import ShapeError
from opkit.ops.core.define import define, quiet
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Arrays, Attrs, Descs, Function

#: Elements per block: its arrays and the scratch stay in a core's cache.
_BLOCK = 65536

_COMMON = "scale:double l1:float l2:float weight_decay:float"
_DEFAULTS: dict[str, Any] = {"scale": 1.0, "l1": 0.0, "l2": 0.0, "weight_decay": 0.0}


def blocks_of(*arrays: ndarray) -> Iterable[tuple[ndarray, ...]]:
    """Return matching flat pieces of arrays of one shape; writing to a piece writes to its array.

    Raises:
        ShapeError: the shapes differ.
    """
    shape = arrays[0].shape
    for array in arrays:
        if array.shape != shape:
            raise ShapeError(f"a model update takes arrays of one shape, got {[array.shape for array in arrays]}")
    flat = []
    for array in arrays:
        if not array.flags.c_contiguous:
            return (arrays,)  # a flat copy would not write to its array
        flat.append(array.reshape(-1))
    return (tuple(flat),) if flat[0].size <= _BLOCK else _cut(flat)


def _cut(flat: Arrays) -> Iterator[tuple[ndarray, ...]]:
    for start in range(0, flat[0].size, _BLOCK):
        yield tuple([array[start : start + _BLOCK] for array in flat])


def _gradient(model: ndarray, diff: ndarray, terms: Mapping[str, float]) -> ndarray:
    """Return the gradient of one block as a new array; the terms are the attributes that all updates have."""
    scale, l1, l2 = terms["scale"], terms["l1"], terms["l2"]
    result = diff.astype(model.dtype) if diff.dtype != model.dtype else diff * _like(scale, model)
    if diff.dtype != model.dtype and scale != 1.0:
        result *= _like(scale, model)
    if l1:
        result += _like(l1, model) * np.sign(model)
    if l2:
        result += _like(l2, model) * model
    return result


def _like(number: Any, model: ndarray) -> Any:
    return model.dtype.type(number)


def _rate(learning_rate: ndarray, model: ndarray) -> Any:
    return model.dtype.type(learning_rate.reshape(-1)[0])


def _descend(w: ndarray, step: ndarray, rate: Any, weight_decay: float) -> None:
    """Move one block by ``rate * (step + weight_decay * w)`` downhill; the step is used as scratch."""
    if weight_decay:
        step += _like(weight_decay, w) * w
    step *= rate
    np.subtract(w, step, out=w)


@quiet
def _sgd(model: ndarray, diff: ndarray, learning_rate: ndarray, **terms: float) -> tuple[()]:
    """``model -= lr * (d + weight_decay * model)``."""
    weight_decay = terms["weight_decay"]
    rate = _rate(learning_rate, model)
    if not (terms["l1"] or terms["l2"] or weight_decay) and diff.dtype == model.dtype:
        rate = _like(rate * _like(terms["scale"], model), model)
        for w, g in blocks_of(model, diff):
            np.subtract(w, g * rate, out=w)
        return ()
    for w, g in blocks_of(model, diff):
        step = _gradient(w, g, terms)
        _descend(w, step, rate, weight_decay)
    return ()


@quiet
def _momentum(
    model: ndarray, diff: ndarray, learning_rate: ndarray, momentum: ndarray, *, beta: float, **terms: float
) -> tuple[()]:
    """``momentum = beta * momentum - lr * d; model += momentum - lr * weight_decay * model``."""
    weight_decay = terms["weight_decay"]
    rate, keep = _rate(learning_rate, model), _like(beta, model)
    for w, g, m in blocks_of(model, diff, momentum):
        step = _gradient(w, g, terms)
        step *= rate
        np.multiply(m, keep, out=m)
        np.subtract(m, step, out=m)
        if weight_decay:
            np.multiply(w, _like(rate * weight_decay, w), out=step)
            np.subtract(w, step, out=w)
        np.add(w, m, out=w)
    return ()


@quiet
def _adam(
    model: ndarray,
    diff: ndarray,
    learning_rate: ndarray,
    m: ndarray,
    v: ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    **terms: float,
) -> tuple[()]:
    """``model -= lr * (m / (sqrt(v) + epsilon) + weight_decay * model)`` with the moments of Kingma and Ba 2015."""
    weight_decay = terms["weight_decay"]
    rate = _rate(learning_rate, model)
    keep1, new1 = _like(beta1, model), _like(1.0 - np.float32(beta1), model)
    keep2, new2 = _like(beta2, model), _like(1.0 - np.float32(beta2), model)
    small = _like(epsilon, model)
    for w, g, first, second in blocks_of(model, diff, m, v):
        step = _gradient(w, g, terms)
        np.multiply(first, keep1, out=first)
        first += new1 * step
        np.multiply(second, keep2, out=second)
        np.multiply(step, step, out=step)
        step *= new2
        second += step
        np.sqrt(second, out=step)
        step += small
        np.divide(first, step, out=step)
        _descend(w, step, rate, weight_decay)
    return ()


@quiet
def _rmsprop(
    model: ndarray,
    diff: ndarray,
    learning_rate: ndarray,
    mean_square: ndarray,
    mean_gradient: ndarray | None = None,
    *,
    decay_rate: float,
    epsilon: float,
    centered: bool,
    **terms: float,
) -> tuple[()]:
    """``model -= lr * d / sqrt(mean_square + epsilon)``; centred: minus the squared mean under the root."""
    rate, keep = _rate(learning_rate, model), _like(decay_rate, model)
    new, small = _like(1.0 - np.float32(decay_rate), model), _like(epsilon, model)
    held = [model, diff, mean_square] + ([mean_gradient] if centered and mean_gradient is not None else [])
    for w, g, s, *mean in blocks_of(*held):
        step = _gradient(w, g, terms)
        np.multiply(s, keep, out=s)
        s += new * step * step
        root = s.copy()
        for average in mean:
            np.multiply(average, keep, out=average)
            average += new * step
            root -= average * average
        root += small
        np.sqrt(root, out=root)
        step *= rate
        step /= root
        np.subtract(w, step, out=w)
    return ()


def _infer_nothing(descs: Descs, attrs: Attrs) -> Descs:
    model, diff = descs[0], descs[1]
    if model.shape != diff.shape:
        raise ShapeError(f"a model update takes a gradient of the model's shape, got {diff} for {model}")
    return []


def _assign(ref: ndarray, value: ndarray) -> tuple[()]:
    """Write the value into the array."""
    np.copyto(ref, value)
    return ()


def _update(name: str, state: str, attrs: str, defaults: Attrs, kernel: Function) -> OpDef:
    """Define an update, which writes the model and its state."""
    return define(
        name,
        f"model model_diff learning_rate {state}",
        "",
        kernel,
        infer=_infer_nothing,
        attrs=f"{attrs} {_COMMON}",
        defaults={**_DEFAULTS, **defaults},
        writes=f"model {state.replace('?', '')}",
    )


ASSIGN = define("assign", "ref value", "", _assign, infer=_infer_nothing, writes="ref")
SGD_UPDATE = _update("sgd_update", "", "", {}, _sgd)
MOMENTUM_UPDATE = _update("momentum_update", "momentum", "beta:float", {"beta": 0.9}, _momentum)
ADAM_UPDATE = _update(
    "adam_update",
    "m v",
    "beta1:float beta2:float epsilon:float",
    {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    _adam,
)
RMSPROP_UPDATE = _update(
    "rmsprop_update",
    "mean_square ?mean_gradient",
    "centered:bool epsilon:float decay_rate:float",
    {"epsilon": 1e-8, "decay_rate": 0.99},
    _rmsprop,
)
