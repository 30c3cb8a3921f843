"""Activations that are composed of ops: with settings per call, over groups of channels, with noise.

Attention: weights of the values from products of queries and keys (Vaswani et al. 2017).

One step of recurrent networks: from an input's and a state's linear maps to the new state.

Further kinds of dropout: whole slices, and what keeps the mean and variance of SELU's outputs.
"""

from __future__ import annotations

import math

import numpy as np

from opkit.ops import following as ops
from opkit.ops.core.types import Ints
from opkit.ops.core.value import Value

#: From here on float32 rounds log(1 + exp(x)) to x and its derivative to 1: exp(-x) is an eighth of its precision.
_SAME = 18.0


def leaky_by_channel(x: Value, weight: Value, axis: int | None) -> Value:
    """Return ``x`` where positive, else ``weight * x``.

    Args:
        x: any shape.
        weight: a vector, of one element or of the size of the axis.
        axis: of the channels; None for a weight of one element.
    """
    slope = ops.reshape(weight, [weight.shape[0] if i == axis else 1 for i in range(len(x.shape))])
    return ops.sub(ops.relu(x), ops.mul(slope, ops.relu(ops.neg(x))))


def glu(x: Value, axis: int) -> Value:
    """Return the first half of ``x`` along an axis times the sigmoid of the second."""
    first, second = ops.split(x, 2, axis)
    return ops.mul(first, ops.sigmoid(second))


def scaled_softplus(x: Value, beta: float, threshold: float) -> Value:
    """Return ``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` exceeds the threshold."""
    if beta == 1 and threshold >= _SAME and x._data.dtype.char in "ef":
        return ops.softplus(x)
    scaled = x if beta == 1 else ops.mul(x, float(beta))
    smooth = ops.softplus(scaled)
    smooth = smooth if beta == 1 else ops.div(smooth, float(beta))
    return ops.where(ops.greater(scaled, float(threshold)), x, smooth)


def gumbel_softmax(x: Value, temperature: float, axis: int, *, hard: bool) -> Value:
    """Return softmax of ``x`` and Gumbel noise over a temperature; ``hard``: one-hot, with the soft one's gradient.

    Source: Jang et al. 2017, "Categorical reparameterization with Gumbel-softmax".
    """
    even = ops.sub(1.0, ops.uniform(list(x.shape), 0.0, 1.0, x._data.dtype.name))
    noise = ops.neg(ops.log(ops.add(ops.neg(ops.log(even)), 1e-20)))
    soft = ops.softmax(ops.div(ops.add(x, noise), temperature), axis)
    if not hard:
        return soft
    last = len(x.shape) - 1
    at = axis % (last + 1)
    chosen = ops.one_hot(ops.argmax(soft, at), x.shape[at], x._data.dtype.name)
    if at != last:
        chosen = ops.transpose(chosen, [*range(at), last, *range(at, last)])
    gap = ops.sub(chosen, soft)
    gap.stop_gradient = True
    return ops.add(soft, gap)


def by_heads(x: Value) -> Value:
    """Return ``(N, length, heads, size)`` as ``(N, heads, length, size)``, or the other way round."""
    return ops.transpose(x, [0, 2, 1, 3])


def attention_weights(query: Value, key: Value, mask: Value | None, *, is_causal: bool) -> Value:
    """Return ``softmax(query @ key / sqrt(size) + mask)`` per head.

    Args:
        query: ``(N, heads, length, size)``.
        key: ``(N, heads, other length, size)``.
        mask: added to the products; of booleans, where to attend; None: everywhere.
        is_causal: no position attends to a later one; the mask does not count then.
    """
    scores = ops.mul(ops.matmul(query, key, False, True), 1.0 / math.sqrt(query.shape[-1]))
    if is_causal:
        allowed = np.tri(query.shape[2], key.shape[2], dtype=bool)
        scores = ops.where(ops.literal(allowed), scores, -math.inf)
    elif mask is not None:
        is_choice = mask._data.dtype.kind == "b"
        scores = ops.where(mask, scores, -math.inf) if is_choice else ops.add(scores, mask)
    return ops.softmax(scores, -1)


def linear_map(x: Value, weight: Value, bias: Value) -> Value:
    """Return ``x @ weight.T + bias``."""
    return ops.add(ops.matmul(x, weight, False, True), bias)


def lstm_step(gates: Value, cell: Value) -> tuple[Value, Value]:
    """Return the states h and c of long short-term memory (Hochreiter and Schmidhuber 1997).

    Args:
        gates: the sums of both linear maps, with the gates i, f, g and o along the last axis.
        cell: the state c before.
    """
    i, f, g, o = ops.split(gates, 4, -1)
    new_cell = ops.add(ops.mul(ops.sigmoid(f), cell), ops.mul(ops.sigmoid(i), ops.tanh(g)))
    return ops.mul(ops.sigmoid(o), ops.tanh(new_cell)), new_cell


def gru_step(from_input: Value, from_state: Value, state: Value) -> Value:
    """Return the state of a gated recurrent unit (Cho et al. 2014).

    Args:
        from_input: the linear map of the input, with the gates r, z and c along the last axis.
        from_state: that of the state.
        state: the state before.
    """
    x_r, x_z, x_c = ops.split(from_input, 3, -1)
    h_r, h_z, h_c = ops.split(from_state, 3, -1)
    reset, update = ops.sigmoid(ops.add(x_r, h_r)), ops.sigmoid(ops.add(x_z, h_z))
    fresh = ops.tanh(ops.add(x_c, ops.mul(reset, h_c)))
    return ops.add(ops.mul(ops.sub(state, fresh), update), fresh)


def drop_along(x: Value, axes: Ints, rate: float) -> Value:
    """Return ``x`` with slices set to 0 with probability ``rate``; the choice varies along these axes only."""
    others = [axis for axis in range(len(x.shape)) if axis not in axes]
    like = ops.slice(x, others, [0] * len(others), [1] * len(others))  # sizes may be unknown until the program runs
    return ops.mul(x, ops.cast_like(ops.random_mask_like(like, rate), x))
