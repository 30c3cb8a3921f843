"""``paddle.nn.utils``: gradients clipped by hand, parameters as one vector, weights by direction and length."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from opkit.eager import Tensor, wrap
from opkit.errors import UnsupportedError, UsageError
from opkit.ops.core.mode import local
from opkit.ops.core.types import Name
from opkit.paddle.semantics import builders as ops
from opkit.shim.missing import guard

__all__ = [
    "parameters_to_vector",
    "vector_to_parameters",
    "clip_grad_norm_",
    "clip_grad_value_",
    "remove_weight_norm",
    "spectral_norm",  # noqa: F822 - imported when it is asked for
    "weight_norm",
]


class DynamicOnlyError(UnsupportedError):
    """A function needs data while a graph is built (a RuntimeError, which Paddle raises)."""


# ---- gradients -------------------------------------------------------------------------------------------------------
def _with_gradients(function: str, parameters: Any) -> list[Any]:
    if local.mode.is_static:
        raise DynamicOnlyError(
            f"{function} changes gradients that are there, and a graph has none until it runs",
            help="give the optimizer a grad_clip, such as paddle.nn.ClipGradByGlobalNorm",
        )
    items = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [item for item in items if item.grad is not None]


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Scale the gradients of parameters down, in place, so that their joint norm is at most max_norm; return the norm.

    Raises:
        RuntimeError: the norm is not finite and ``error_if_nonfinite``; static mode is on.
    """
    held = _with_gradients("clip_grad_norm_", parameters)
    if norm_type not in (math.inf, 0, 1, 2):
        raise UsageError(f"clip_grad_norm_: norm_type is 0, 1, 2 or inf, got {norm_type!r}")
    if not held:
        return wrap(np.array(0.0, np.float32))
    norms = np.array([np.linalg.norm(item.grad._data.reshape(-1), norm_type) for item in held])
    total = norms.max() if norm_type == math.inf else np.linalg.norm(norms, norm_type)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(f"clip_grad_norm_: the norm of order {norm_type} of the gradients is {total}")
    factor = min(float(max_norm) / (float(total) + 1e-6), 1.0)
    for item in held:
        item.grad._data = (item.grad._data * item.grad._data.dtype.type(factor)).astype(item.grad._data.dtype)
    return wrap(np.array(total, held[0].grad._data.dtype))


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Cut the gradients of parameters off at plus and minus a value, in place.

    Raises:
        RuntimeError: static mode is on.
        ValueError: the value is negative.
    """
    if float(clip_value) < 0:
        raise UsageError(f"clip_grad_value_: clip_value is not negative, got {clip_value}")
    for item in _with_gradients("clip_grad_value_", parameters):
        item.grad._data = np.clip(item.grad._data, -float(clip_value), float(clip_value))


# ---- vectors ---------------------------------------------------------------------------------------------------------


# ---- weight norm -----------------------------------------------------------------------------------------------------
class _WeightNorm:
    """Makes a weight of its direction v and its length g before each forward (Salimans and Kingma 2016)."""

    def __init__(self, name: str, axis: int | None) -> None:
        self.name, self.axis = name, axis

    def _length(self, v: Any) -> Any:
        axes = None if self.axis is None else tuple(k for k in range(v.ndim) if k != self.axis)
        return ops.norm(v, 2.0, axes, True)

    def weight(self, layer: Any) -> Any:
        v, g = getattr(layer, f"{self.name}_v"), getattr(layer, f"{self.name}_g")
        shape = [1] * v.ndim if self.axis is None else [-1 if k == self.axis else 1 for k in range(v.ndim)]
        return ops.mul(v, ops.div(ops.reshape(g, shape), self._length(v)))

    def split(self, layer: Any) -> None:
        held = getattr(layer, self.name)
        length = ops.reshape(self._length(held.detach()), [] if self.axis is None else [-1])
        del layer._parameters[self.name]
        for suffix, value in (("v", held.detach()), ("g", length)):
            made = layer.create_parameter(list(value.shape), dtype=held._data.dtype)
            made.set_value(value._data)
            layer.add_parameter(f"{self.name}_{suffix}", made)
        object.__setattr__(layer, self.name, self.weight(layer))

    def __call__(self, layer: Any, inputs: Any) -> None:
        object.__setattr__(layer, self.name, self.weight(layer))


def weight_norm(layer: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Compose a layer's weight of a direction and a length, per slice along ``dim`` (None or -1: of the whole).

    Source: Paddle 2.6.2, paddle.nn.utils.weight_norm, where -1 stands for None and is not the last axis.
    """
    kind = _WeightNorm(name, None if dim is None or dim == -1 else dim % getattr(layer, name).ndim)
    kind.split(layer)
    layer.__dict__[f"_weight_norm_{name}"] = kind, layer.register_forward_pre_hook(kind)
    return layer


def remove_weight_norm(layer: Any, name: str = "weight") -> Any:
    """Make a layer's weight one parameter again.

    Raises:
        UsageError: it has no weight norm.
    """
    held = layer.__dict__.pop(f"_weight_norm_{name}", None)
    if held is None:
        raise UsageError(f"remove_weight_norm: {name!r} of {type(layer).__name__} has no weight norm")
    kind, hook = held
    hook.remove()
    value = kind.weight(layer).detach()
    for suffix in ("v", "g"):
        del layer._parameters[f"{name}_{suffix}"]
    layer.__dict__.pop(name, None)
    made = layer.create_parameter(list(value.shape), dtype=value._data.dtype)
    made.set_value(value._data)
    layer.add_parameter(name, made)
    return layer


# The hook needs layers, which import this module's package.
__getattr__ = guard(globals(), later={"spectral_norm": "opkit.paddle.nn.spectral"})


def parameters_to_vector(parameters: Iterable[Any], name: Name = None) -> Any:
    """Return all elements of parameters as one vector."""
    return ops.concat([ops.reshape(item, [-1]) for item in parameters], 0)


def vector_to_parameters(vec: Any, parameters: Iterable[Any], name: Name = None) -> None:
    """Write the elements of a vector into parameters, in place.

    Raises:
        UsageError: it has not as many elements as they.
    """
    items = list(parameters)
    data = np.asarray(vec)
    if data.size != sum(item.size for item in items):
        raise UsageError(f"vector_to_parameters: {data.size} elements for {sum(item.size for item in items)}")
    start = 0
    for item in items:
        item.set_value(data[start : start + item.size].reshape(item.shape).astype(item._data.dtype))
        start += item.size
