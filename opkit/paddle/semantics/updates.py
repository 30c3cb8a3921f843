"""Model updates with Paddle's formulas: they change a parameter and its state in place.

Each takes ``(param, grad, learning_rate, *state)``; the learning rate is an array of one element, in the dtype of the
state. The optimizer chooses parameters, gradients and rate. The formulas that other frameworks have too, and
the blocks in which all of them work, are in ``opkit.ops.update``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import TensorDesc
from opkit.ops.core.define import quiet
from opkit.ops.core.opdef import ArgDef, AttrDef, OpDef
from opkit.ops.core.types import Attrs, Function
from opkit.ops.update import blocks_of


def _scalar(array: ndarray, like: ndarray) -> Any:
    return like.dtype.type(array.reshape(-1)[0])


def _decayed(param: ndarray, grad: ndarray, l1: float, l2: float) -> ndarray:
    """Return the gradient with the regularisation terms added."""
    if grad.dtype != param.dtype:
        grad = grad.astype(param.dtype)
    if l2:
        grad = grad + param.dtype.type(l2) * param
    if l1:
        grad = grad + param.dtype.type(l1) * np.sign(param)
    return grad


@quiet
def _sgd(param: ndarray, grad: ndarray, rate: ndarray, *, l1: float, l2: float) -> tuple[()]:
    """``param -= lr * grad``."""
    step = _scalar(rate, param)
    for p, g in blocks_of(param, grad):
        np.subtract(p, step * _decayed(p, g, l1, l2), out=p)
    return ()


@quiet
def _momentum(
    param: ndarray,
    grad: ndarray,
    rate: ndarray,
    velocity: ndarray,
    *,
    mu: float,
    use_nesterov: bool,
    rescale_grad: float,
    l1: float,
    l2: float,
) -> tuple[()]:
    """``v = mu * v + grad; param -= lr * v``, or ``param -= lr * (grad + mu * v)`` with Nesterov's momentum."""
    step, keep = _scalar(rate, param), param.dtype.type(mu)
    for p, g, v in blocks_of(param, grad, velocity):
        if rescale_grad != 1.0:
            g = g * p.dtype.type(rescale_grad)
        g = _decayed(p, g, l1, l2)
        np.multiply(v, keep, out=v)
        np.add(v, g, out=v)
        np.subtract(p, step * (g + keep * v if use_nesterov else v), out=p)
    return ()


def _adam_step(
    param: ndarray,
    grad: ndarray,
    rate: ndarray,
    moment1: ndarray,
    moment2: ndarray,
    beta1_pow: ndarray,
    beta2_pow: ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    l1: float,
    l2: float,
) -> tuple[()]:
    """Adam (Kingma and Ba 2015), with epsilon scaled by the bias correction as Paddle has it."""
    kind = param.dtype.type
    root = np.sqrt(kind(1) - _scalar(beta2_pow, param))
    step = _scalar(rate, param) * root / (kind(1) - _scalar(beta1_pow, param))
    small = kind(epsilon) * root
    keep1, keep2 = kind(beta1), kind(beta2)
    for p, g, m, v in blocks_of(param, grad, moment1, moment2):
        g = _decayed(p, g, l1, l2)
        np.multiply(m, keep1, out=m)
        m += (kind(1) - keep1) * g
        np.multiply(v, keep2, out=v)
        v += (kind(1) - keep2) * g * g
        np.subtract(p, step * (m / (np.sqrt(v) + small)), out=p)
    beta1_pow *= beta1_pow.dtype.type(beta1)
    beta2_pow *= beta2_pow.dtype.type(beta2)
    return ()


_adam = quiet(_adam_step)


@quiet
def _adamw(
    param: ndarray,
    grad: ndarray,
    rate: ndarray,
    *state: ndarray,
    beta1: float,
    beta2: float,
    epsilon: float,
    coeff: float,
) -> tuple[()]:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019): ``param *= 1 - lr * coeff`` goes first."""
    if coeff:
        np.multiply(param, param.dtype.type(1) - _scalar(rate, param) * param.dtype.type(coeff), out=param)
    return _adam_step(param, grad, rate, *state, beta1=beta1, beta2=beta2, epsilon=epsilon, l1=0.0, l2=0.0)


@quiet
def _rmsprop(
    param: ndarray,
    grad: ndarray,
    rate: ndarray,
    momentum_acc: ndarray,
    mean_square: ndarray,
    mean_grad: ndarray,
    *,
    rho: float,
    epsilon: float,
    momentum: float,
    centered: bool,
    l1: float,
    l2: float,
) -> tuple[()]:
    """RMSProp (Hinton), with epsilon under the root as Paddle has it."""
    kind = param.dtype.type
    step = _scalar(rate, param)
    for p, g, u, s, mean in blocks_of(param, grad, momentum_acc, mean_square, mean_grad):
        g = _decayed(p, g, l1, l2)
        s[...] = kind(rho) * s + (kind(1) - kind(rho)) * g * g
        spread = s
        if centered:
            mean[...] = kind(rho) * mean + (kind(1) - kind(rho)) * g
            spread = s - mean * mean
        u[...] = kind(momentum) * u + step * g / np.sqrt(spread + kind(epsilon))
        np.subtract(p, u, out=p)
    return ()


@quiet
def _adagrad(
    param: ndarray, grad: ndarray, rate: ndarray, moment: ndarray, *, epsilon: float, l1: float, l2: float
) -> tuple[()]:
    """Adagrad (Duchi et al. 2011)."""
    step, small = _scalar(rate, param), param.dtype.type(epsilon)
    for p, g, m in blocks_of(param, grad, moment):
        g = _decayed(p, g, l1, l2)
        m += g * g
        np.subtract(p, step * g / (np.sqrt(m) + small), out=p)
    return ()


@quiet
def _adamax(
    param: ndarray,
    grad: ndarray,
    rate: ndarray,
    *state: ndarray,
    beta1: float,
    beta2: float,
    epsilon: float,
    l1: float,
    l2: float,
) -> tuple[()]:
    """Adamax (Kingma and Ba 2015, section 7.1), with epsilon added before the maximum as Paddle has it."""
    moment, inf_norm, beta1_pow = state
    kind = param.dtype.type
    step = _scalar(rate, param) / (kind(1) - _scalar(beta1_pow, param))
    for p, g, m, u in blocks_of(param, grad, moment, inf_norm):
        g = _decayed(p, g, l1, l2)
        m[...] = kind(beta1) * m + (kind(1) - kind(beta1)) * g
        np.maximum(np.abs(g), kind(beta2) * u + kind(epsilon), out=u)
        np.subtract(p, step * (m / u), out=p)
    beta1_pow *= beta1_pow.dtype.type(beta1)
    return ()


@quiet
def _adadelta(
    param: ndarray,
    grad: ndarray,
    rate: ndarray,
    squared_grad: ndarray,
    squared_update: ndarray,
    *,
    rho: float,
    epsilon: float,
    l1: float,
    l2: float,
) -> tuple[()]:
    """Adadelta (Zeiler 2012), its step times the learning rate."""
    kind = param.dtype.type
    step, keep, small = _scalar(rate, param), kind(rho), kind(epsilon)
    for p, g, s, d in blocks_of(param, grad, squared_grad, squared_update):
        g = _decayed(p, g, l1, l2)
        s[...] = keep * s + (kind(1) - keep) * g * g
        move = -np.sqrt((d + small) / (s + small)) * g
        d[...] = keep * d + (kind(1) - keep) * move * move
        np.add(p, step * move, out=p)
    return ()


@quiet
def _lamb(
    param: ndarray,
    grad: ndarray,
    rate: ndarray,
    *state: ndarray,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float,
    always_adapt: bool,
) -> tuple[()]:
    """LAMB (You et al. 2020): Adam's step with decay, scaled to the norm of the parameter."""
    moment1, moment2, beta1_pow, beta2_pow = state
    kind = param.dtype.type
    g = grad if grad.dtype == param.dtype else grad.astype(param.dtype)
    moment1[...] = kind(beta1) * moment1 + (kind(1) - kind(beta1)) * g
    moment2[...] = kind(beta2) * moment2 + (kind(1) - kind(beta2)) * g * g
    first = moment1 / (kind(1) - _scalar(beta1_pow, param))
    second = moment2 / (kind(1) - _scalar(beta2_pow, param))
    move = first / (np.sqrt(second) + kind(epsilon)) + kind(decay) * param
    size, length = np.linalg.norm(param), np.linalg.norm(move)
    trust = size / length if (decay or always_adapt) and size > 0 and length > 0 else 1.0
    np.subtract(param, _scalar(rate, param) * kind(trust) * move, out=param)
    beta1_pow *= beta1_pow.dtype.type(beta1)
    beta2_pow *= beta2_pow.dtype.type(beta2)
    return ()


def _nothing(descs: Sequence[TensorDesc], attrs: Attrs) -> Sequence[TensorDesc]:
    return []


def _update(name: str, kernel: Function, state: str, attrs: str) -> OpDef:
    return OpDef(
        name,
        tuple(ArgDef(item) for item in ("param", "grad", "learning_rate", *state.split())),
        (),
        kernel,
        infer=_nothing,
        attrs=tuple(AttrDef(item, "object") for item in attrs.split()),
        writes=("param", *state.split()),
    )


SGD = _update("paddle_sgd", _sgd, "", "l1 l2")
MOMENTUM = _update("paddle_momentum", _momentum, "velocity", "mu use_nesterov rescale_grad l1 l2")
ADAM = _update("paddle_adam", _adam, "moment1 moment2 beta1_pow beta2_pow", "beta1 beta2 epsilon l1 l2")
ADAMW = _update("paddle_adamw", _adamw, "moment1 moment2 beta1_pow beta2_pow", "beta1 beta2 epsilon coeff")
RMSPROP = _update(
    "paddle_rmsprop", _rmsprop, "momentum_acc mean_square mean_grad", "rho epsilon momentum centered l1 l2"
)
ADAGRAD = _update("paddle_adagrad", _adagrad, "moment", "epsilon l1 l2")
ADAMAX = _update("paddle_adamax", _adamax, "moment inf_norm beta1_pow", "beta1 beta2 epsilon l1 l2")
ADADELTA = _update("paddle_adadelta", _adadelta, "squared_grad squared_update", "rho epsilon l1 l2")
LAMB = _update("paddle_lamb", _lamb, "moment1 moment2 beta1_pow beta2_pow", "beta1 beta2 epsilon decay always_adapt")
