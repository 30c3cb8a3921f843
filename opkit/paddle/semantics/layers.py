"""Layers of graphs: parameters and the ops that use them, as Paddle 2.6's ``static.nn`` builds them.

The facade reads parameter attributes and passes one ``Spec`` per parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.ir import TensorDesc, Variable
from opkit.ops.core.types import Ints
from opkit.ops.kernels.initializer import Initializer, constant, normal
from opkit.paddle.semantics import builders as ops
from opkit.record import record
from opkit.static.builder import name_outputs
from opkit.static.names import unique_name
from opkit.static.parameters import create_parameter, create_state

__all__ = ["Spec", "batch_norm", "embedding", "fc", "filter_of", "layer_norm", "parameter_of", "running_average"]


@record
class Spec:
    """A user's settings for a parameter.

    Args:
        name: "" for the layer's own.
        initializer: None for the layer's own.
        trainable: whether optimizers change it.
        fields: further fields of the Variable.
    """

    name: str = ""
    initializer: Initializer | None = None
    trainable: bool = True
    fields: Mapping[str, Any] = field(default_factory=dict)


def parameter_of(layer: str, suffix: str, spec: Spec, shape: Ints, dtype: str, default: Initializer) -> Variable:
    """Return a layer's parameter, named ``LAYER.SUFFIX_0`` unless the user named it."""
    name = spec.name or unique_name(f"{layer}.{suffix}")
    initializer = spec.initializer or default
    return create_parameter(
        name, TensorDesc(tuple(shape), dtype), initializer, trainable=spec.trainable, **dict(spec.fields)
    )


def fc(
    x: Variable | Sequence[Variable],
    size: int,
    num_flatten_dims: int = 1,
    *,
    weights: Sequence[Spec],
    bias: Spec | None,
    activation: Callable[[Variable], Variable] | None,
    initializers: tuple[Initializer, Initializer],
    name: str = "",
) -> Variable:
    """Return ``activation(x @ w + b)``; several inputs have a weight each and are summed.

    Args:
        x: axes from ``num_flatten_dims`` on are flattened to one; their sizes must be known.
        size: width of the result.
        num_flatten_dims: axes that stay; negative ones count from the end.
        weights: one per input.
        bias: None for none.
        activation: None for none.
        initializers: of weight and bias where a Spec has none.
        name: of the layer, "" for a counted one.
    """
    inputs = [x] if isinstance(x, Variable) else list(x)
    layer = name or unique_name("fc")
    with name_outputs(layer):
        total = None
        for item, spec in zip(inputs, weights):
            part = _product(layer, item, size, num_flatten_dims, spec, initializers[0])
            total = part if total is None else ops.add(total, part)
        if bias is not None:
            assert total is not None
            dtype = total.desc.dtype
            total = ops.add(total, parameter_of(layer, "b", bias, (size,), dtype, initializers[1]))
        assert total is not None
        return total if activation is None else activation(total)


def _product(layer: str, x: Variable, size: int, keep: int, spec: Spec, default: Initializer) -> Variable:
    keep = keep + x.ndim if keep < 0 else keep
    if not 1 <= keep < x.ndim:
        raise ShapeError(
            f"fc takes num_flatten_dims from 1 to {x.ndim - 1} for a tensor of shape {x.shape}, got {keep}"
        )
    inner = x.shape[keep:]
    if -1 in inner:
        raise ShapeError(f"fc: the sizes of {x.name!r} from axis {keep} on must be known, got shape {x.shape}")
    width = math.prod(inner)
    weight = parameter_of(layer, "w", spec, (width, size), x.desc.dtype, default)
    if len(inner) == 1:
        return ops.matmul(x, weight)  # type: ignore[no-any-return]
    return ops.matmul(_flattened(x, keep, width), weight)  # type: ignore[no-any-return]


def _flattened(x: Variable, keep: int, width: int) -> Variable:
    unknown = [axis for axis in range(keep) if x.shape[axis] == -1]
    if len(unknown) > 1:
        raise ShapeError(f"fc: at most one size of {x.name!r} may be unknown to be flattened, got shape {x.shape}")
    return ops.reshape(x, (*x.shape[:keep], width))  # type: ignore[no-any-return]


def embedding(
    x: Variable, size: Ints, *, spec: Spec, initializer: Initializer, dtype: str, padding_idx: int | None
) -> Variable:
    """Return the rows of a table that integer indices name.

    Args:
        x: indices of any shape; a last axis of size 1 is dropped (as Paddle's ``static.nn.embedding`` does not).
        size: rows and columns of the table.
        spec: the table.
        initializer: where the Spec has none.
        dtype: of the table.
        padding_idx: a row that reads as zeros and takes no gradient, or None.
    """
    if len(size) != 2:
        raise UsageError(f"embedding takes a size of two numbers, rows and columns, got {list(size)}")
    layer = unique_name("embedding")
    with name_outputs(layer):
        table = parameter_of(layer, "w", spec, tuple(size), dtype, initializer)
        found = ops.gather(table, x, 0)
        if padding_idx is not None:
            row = padding_idx % size[0]
            kept = ops.cast(ops.not_equal(x, row), dtype)
            found = ops.mul(found, ops.expand_dims(kept, -1))
    return found  # type: ignore[no-any-return]


# ---- normalisation, convolution --------------------------------------------------------------------------------------
def running_average(layer: str, suffix: str, size: int, dtype: str, first: float, spec_name: str = "") -> Variable:
    """Return a persistable Variable that a layer keeps statistics in; it is saved with the parameters."""
    variable = create_state(spec_name or unique_name(f"{layer}.{suffix}"), TensorDesc((size,), dtype), first)
    variable.stop_gradient = True
    return variable


def batch_norm(
    x: Variable,
    *,
    axis: int,
    training: bool,
    momentum: float,
    epsilon: float,
    scale: Spec,
    shift: Spec,
    names: tuple[str, str],
    layer: str,
) -> Variable:
    """Return ``x`` normalised per channel; running mean and variance are persistable Variables.

    Args:
        x: any shape with an axis of channels of known size.
        axis: that axis.
        training: normalise by the batch and move the running statistics; otherwise by the running statistics.
        momentum: ``running * momentum + batch * (1 - momentum)``.
        epsilon: added to the variance.
        scale: the factor per channel.
        shift: the summand per channel.
        names: of running mean and variance, "" for the layer's own.
        layer: the layer's name.
    """
    size, dtype = x.shape[axis], x.desc.dtype
    gamma = parameter_of(layer, "w", scale, (size,), dtype, constant(1.0))
    beta = parameter_of(layer, "b", shift, (size,), dtype, constant(0.0))
    mean = running_average(layer, "w", size, dtype, 0.0, names[0])
    variance = running_average(layer, "w", size, dtype, 1.0, names[1])
    with name_outputs(layer):
        return ops.batch_norm(  # type: ignore[no-any-return]
            x, mean, variance, gamma, beta, training=training, momentum=momentum, epsilon=epsilon, axis=axis
        )


def layer_norm(
    x: Variable, begin: int, *, epsilon: float, scale: Spec | None, shift: Spec | None, layer: str
) -> Variable:
    """Return ``x`` normalised over the axes from ``begin`` on, scaled and shifted by vectors of their size."""
    tail = x.shape[begin:]
    if -1 in tail:
        raise ShapeError(f"layer_norm: the sizes of {x.name!r} from axis {begin} on must be known, got shape {x.shape}")
    count, dtype = math.prod(tail), x.desc.dtype
    gamma = None if scale is None else parameter_of(layer, "w", scale, (count,), dtype, constant(1.0))
    beta = None if shift is None else parameter_of(layer, "b", shift, (count,), dtype, constant(0.0))
    with name_outputs(layer):
        if gamma is not None and len(tail) > 1:
            gamma = ops.reshape(gamma, tail)
        if beta is not None and len(tail) > 1:
            beta = ops.reshape(beta, tail)
        return ops.layer_norm(x, gamma, beta, begin, epsilon)[0]  # type: ignore[no-any-return]


def filter_of(
    layer: str, spec: Spec, x: Variable, count: int, size: int | Ints, groups: int, *, channels_last: bool
) -> Variable:
    """Return a convolution's filter, ``(count, channels / groups, height, width)``."""
    channels = x.shape[-1 if channels_last else 1]
    if channels == -1 or channels % groups:
        raise ShapeError(
            f"conv2d: {x.name!r} of shape {x.shape} needs a known number of channels that {groups} divides"
        )
    window = (size, size) if isinstance(size, int) else tuple(size)
    shape = (count, channels // groups, *window)
    deviation = math.sqrt(2.0 / (math.prod(window) * channels))
    return parameter_of(layer, "w", spec, shape, x.desc.dtype, normal(0.0, deviation))
