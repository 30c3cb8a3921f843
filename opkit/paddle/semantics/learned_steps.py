"""Quantisation with a learned step size: values and slopes, as Paddle 2.6 computes them.

The layers are in ``opkit.paddle.nn.quant``.
Source: S. Esser et al. 2020, "Learned Step Size Quantization"; Y. Bhalgat et al. 2020, "LSQ+"; Paddle 2.6,
paddle.nn.quant.lsq.
"""

from __future__ import annotations

from typing import Any

from opkit.paddle.semantics import builders as ops

__all__ = ["Levels", "quantised", "rounded", "slopes", "spread_of", "steps_of"]

#: The least and the largest level.
Levels = tuple[int, int]


def rounded(x: Any) -> Any:
    """Return the nearest integers; halves go away from 0."""
    return ops.mul(ops.sign(x), ops.floor(ops.add(ops.abs(x), 0.5)))


def steps_of(x: Any, step: Any, axis: int | None) -> Any:
    """Return x in steps: of one size, or of one size for each part along an axis (its rows after a reshape)."""
    if axis is None:
        return ops.div(x, step)
    rows = ops.reshape(x, [x.shape[axis], -1])
    return ops.reshape(ops.div(rows, ops.expand_dims(step, 1)), x.shape)


def quantised(x: Any, step: Any, levels: Levels, axis: int | None) -> Any:
    """Return x rounded to multiples of the step between the levels."""
    level = ops.clip(rounded(steps_of(x, step, axis)), *levels)
    if axis is None:
        return ops.mul(level, step)
    rows = ops.reshape(level, [x.shape[axis], -1])
    return ops.reshape(ops.mul(rows, ops.expand_dims(step, 1)), x.shape)


def slopes(steps: Any, dy: Any, scale: Any, levels: Levels) -> tuple[Any, Any, Any]:
    """Return the slopes of x, and per element those of the step and of an offset, which ``scale`` multiplies.

    Args:
        steps: x in steps.
        dy: the incoming gradient.
        scale: of the gradients of step and offset.
        levels: where x is cut off; there its slope is 0.
    """
    below, above = (ops.cast(item, "float32") for item in (ops.less(steps, levels[0]), ops.greater(steps, levels[1])))
    inside = ops.sub(ops.sub(1.0, below), above)
    cut = ops.add(ops.mul(below, float(levels[0])), ops.mul(above, float(levels[1])))
    missed = ops.sub(ops.mul(inside, rounded(steps)), ops.mul(inside, steps))
    by_step = ops.mul(ops.mul(ops.add(cut, missed), dy), scale)
    by_offset = ops.mul(ops.mul(ops.add(below, above), dy), scale)
    return ops.mul(inside, dy), by_step, by_offset


def spread_of(weight: Any, axis: int | None) -> Any:
    """Return the larger distance from 0 of the mean plus or minus three standard deviations."""
    from opkit.paddle.semantics.spread import std

    mean, deviation = ops.reduce_mean(weight, axis), ops.mul(std(weight, axis, True, False), 3.0)
    return ops.maximum(ops.abs(ops.sub(mean, deviation)), ops.abs(ops.add(mean, deviation)))
