"""Activations that are composed of ops: with settings per call, over groups of channels, with noise."""

from __future__ import annotations

from opkit.ops import following as ops
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
