"""First values of variables: a distribution, and how its width depends on a shape.

Plain numpy; no Tensor and no graph here. Facades give these functions their own names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.record import record

#: Standard deviation of a unit normal cut off at two standard deviations.
_TRUNCATED_STD = 0.87962566103423978

Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]


@record
class Initializer:
    """A named recipe for the first value of a variable.

    Args:
        name: what it is called in messages.
        draw: ``draw(rng, shape)`` -> float64 or integer array of that shape.
        seed: where given, the values are drawn from it alone, whatever ``rng`` is.
    """

    name: str
    draw: Draw
    seed: int | None = None

    def __call__(self, rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> ndarray:
        """Return a new C-contiguous array of ``shape`` and ``dtype``."""
        sizes = tuple(int(size) for size in shape)
        if self.seed is not None:
            rng = np.random.default_rng(self.seed)
        return np.array(np.broadcast_to(self.draw(rng, sizes), sizes), dtype=dtype, order="C")


def constant(value: Any) -> Initializer:
    """Every element is ``value`` (a scalar, or an array of the variable's shape)."""
    return Initializer(f"constant({value!r})", lambda rng, shape: np.asarray(value))


def uniform(low: float, high: float, *, is_integer: bool = False) -> Initializer:
    """Uniform over [low, high); whole numbers where ``is_integer``."""
    if is_integer:
        return Initializer(f"uniform({low}, {high})", lambda rng, shape: rng.integers(int(low), int(high), shape))
    return Initializer(f"uniform({low}, {high})", lambda rng, shape: rng.uniform(low, high, shape))


def normal(mean: float, std: float, seed: int | None = None) -> Initializer:
    """Normal with the given mean and standard deviation; a seed fixes the values."""
    return Initializer(f"normal({mean}, {std})", lambda rng, shape: rng.normal(mean, std, shape), seed)


def truncated_normal(mean: float, std: float) -> Initializer:
    """Normal with the given mean and standard deviation, redrawn beyond two standard deviations."""
    return Initializer(f"truncated_normal({mean}, {std})", lambda rng, shape: mean + std * _draw_truncated(rng, shape))


def variance_scaling(scale: float, mode: str, distribution: str, *, channels_first: bool = True) -> Initializer:
    """Zero-mean values whose variance is ``scale / fan``.

    Args:
        scale: numerator of the variance.
        mode: "fan_in", "fan_out" or "fan_avg".
        distribution: "random_uniform", "random_normal" or "truncated_normal".
        channels_first: layout of a convolution's filter, as ``fans`` reads it.

    Source: He et al. 2015, Glorot and Bengio 2010; OneFlow v0.4.0's variance_scaling_initializer.
    """
    if mode not in ("fan_in", "fan_out", "fan_avg"):
        raise UsageError(f"mode is one of fan_in, fan_out and fan_avg, got {mode!r}")
    if distribution not in ("random_uniform", "random_normal", "truncated_normal"):
        raise UsageError(
            f"distribution is one of random_uniform, random_normal and truncated_normal, got {distribution!r}"
        )

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        fan_in, fan_out = fans(shape, channels_first=channels_first)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
        std = math.sqrt(scale / fan)
        if distribution == "random_uniform":
            limit = math.sqrt(3.0) * std
            return rng.uniform(-limit, limit, shape)
        if distribution == "random_normal":
            return rng.normal(0.0, std, shape)
        return std / _TRUNCATED_STD * _draw_truncated(rng, shape)

    return Initializer(f"variance_scaling({scale}, {mode}, {distribution})", draw)


def fans(shape: Sequence[int], *, channels_first: bool = True, rows_are_outputs: bool = True) -> tuple[float, float]:
    """Return (fan_in, fan_out) of a weight.

    Args:
        shape: (outputs, inputs) of a dense weight, (outputs, inputs, *window) of a filter, or
            (outputs, *window, inputs) where ``channels_first`` is false.
        channels_first: which axis of a filter is its input channels.
        rows_are_outputs: false where a dense weight is (inputs, outputs).

    Raises:
        UsageError: the shape has fewer than two axes, so that it has no fans.
    """
    if len(shape) < 2:
        raise UsageError(f"an initializer that scales with fan needs a shape of two or more axes, got {tuple(shape)}")
    if len(shape) == 2:
        outputs, inputs = (shape[0], shape[1]) if rows_are_outputs else (shape[1], shape[0])
        return float(inputs), float(outputs)
    window = math.prod(shape[2:] if channels_first else shape[1:-1])
    inputs = shape[1] if channels_first else shape[-1]
    return float(inputs * window), float(shape[0] * window)


def gain_of(nonlinearity: str | None, negative_slope: float = 0.01) -> float:
    """Return the factor on the standard deviation that keeps the variance through an activation (He et al. 2015).

    Raises:
        UsageError: the activation is not known.
    """
    gains = {
        None: 1.0,
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3.0,
        "relu": math.sqrt(2.0),
        "selu": 0.75,
        "leaky_relu": math.sqrt(2.0 / (1.0 + negative_slope**2)),
    }
    if nonlinearity is not None and nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity not in gains:
        raise UsageError(f"no gain is known for {nonlinearity!r} (known: {', '.join(str(key) for key in gains)})")
    return gains[nonlinearity]


def _draw_truncated(rng: np.random.Generator, shape: tuple[int, ...]) -> ndarray:
    """Draw unit normals, each redrawn until it lies within two."""
    values = rng.standard_normal(math.prod(shape))
    outside = np.flatnonzero(np.abs(values) > 2.0)
    while outside.size:
        values[outside] = rng.standard_normal(outside.size)
        outside = outside[np.abs(values[outside]) > 2.0]
    return values.reshape(shape)
