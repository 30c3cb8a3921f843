"""First values of parameters: Paddle's names for those of ``opkit.ops``, and which one is taken by default."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.ops.kernels.initializer import (
    Initializer,
    constant,
    gain_of,
    normal,
    truncated_normal,
    uniform,
    variance_scaling,
)

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "default_for",
    "global_or",
    "set_global_initializer",
]

_global: dict[str, Any] = {"weight": None, "bias": None}


def _scaled(scale: float, mode: str, distribution: str) -> Initializer:
    """Return a scaled initializer that takes vectors too: their fans are their size, as Paddle has it."""
    full = variance_scaling(scale, mode, distribution, rows_are_outputs=False)

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        if len(shape) >= 2:
            return full.draw(rng, shape)
        std = float(np.sqrt(scale / max(1, int(np.prod(shape)))))
        if distribution == "random_normal":
            return rng.normal(0.0, std, shape)
        return rng.uniform(-np.sqrt(3.0) * std, np.sqrt(3.0) * std, shape)

    return Initializer(full.name, draw)


def Constant(value: float = 0.0) -> Initializer:
    """Every element is ``value``."""
    return constant(value)


def Uniform(low: float = -1.0, high: float = 1.0, name: str | None = None) -> Initializer:
    """Uniform over [low, high)."""
    return uniform(low, high)


def Normal(mean: float = 0.0, std: float = 1.0, name: str | None = None) -> Initializer:
    """Normal with the given mean and standard deviation."""
    return normal(mean, std)


def TruncatedNormal(
    mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
) -> Initializer:
    """Normal, redrawn beyond two standard deviations."""
    return truncated_normal(mean, std)


def XavierUniform(fan_in: float | None = None, fan_out: float | None = None, name: str | None = None) -> Initializer:
    """Uniform with the variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."""
    if fan_in is not None and fan_out is not None:
        bound = float(np.sqrt(6.0 / (fan_in + fan_out)))
        return uniform(-bound, bound)
    return _scaled(1.0, "fan_avg", "random_uniform")


def XavierNormal(fan_in: float | None = None, fan_out: float | None = None, name: str | None = None) -> Initializer:
    """Normal with the variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."""
    if fan_in is not None and fan_out is not None:
        return normal(0.0, float(np.sqrt(2.0 / (fan_in + fan_out))))
    return _scaled(1.0, "fan_avg", "random_normal")


def KaimingUniform(fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> Initializer:
    """Uniform with the variance gain**2 / fan_in (He et al. 2015)."""
    gain = gain_of(nonlinearity, negative_slope)
    if fan_in is not None:
        bound = gain * float(np.sqrt(3.0 / fan_in))
        return uniform(-bound, bound)
    return _scaled(gain**2, "fan_in", "random_uniform")


def KaimingNormal(fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> Initializer:
    """Normal with the variance gain**2 / fan_in (He et al. 2015)."""
    gain = gain_of(nonlinearity, negative_slope)
    if fan_in is not None:
        return normal(0.0, gain / float(np.sqrt(fan_in)))
    return _scaled(gain**2, "fan_in", "random_normal")


def Assign(value: Any, name: str | None = None) -> Initializer:
    """The given array, list or Tensor."""
    return constant(np.array(value))


def Orthogonal(gain: float = 1.0, name: str | None = None) -> Initializer:
    """Orthonormal rows or columns, times a gain (Saxe et al. 2014); the axes behind the first count as one."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        if len(shape) < 2:
            raise UsageError(f"Orthogonal needs a shape of two or more axes, got {list(shape)}")
        rows, columns = shape[0], int(np.prod(shape[1:]))
        q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
        q = q * np.sign(np.diag(r))
        return gain * (q.T if rows < columns else q).reshape(shape)

    return Initializer(f"orthogonal({gain})", draw)


def Dirac(groups: int = 1, name: str | None = None) -> Initializer:
    """Filters that hand their channel on: a 1 at the centre of filter i's channel i, per group."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        if len(shape) not in (3, 4, 5) or shape[0] % groups:
            raise UsageError(f"Dirac: the shape {list(shape)} does not fit a filter of {groups} groups")
        value = np.zeros(shape)
        size = shape[0] // groups
        centre = tuple(length // 2 for length in shape[2:])
        for group in range(groups):
            for k in range(min(size, shape[1])):
                value[(group * size + k, k) + centre] = 1.0  # noqa: RUF005
        return value

    return Initializer(f"dirac({groups})", draw)


def Bilinear() -> Initializer:
    """Filters of a transposed convolution that resize by bilinear interpolation."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        if len(shape) != 4 or shape[2] != shape[3]:
            raise UsageError(f"Bilinear: the shape {list(shape)} does not fit a square filter")
        factor = -(-shape[3] // 2)
        centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        line = 1 - np.abs(np.arange(shape[3]) / factor - centre)
        return np.broadcast_to(np.outer(line, line), shape)

    return Initializer("bilinear", draw)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended gain for an activation."""
    return gain_of(nonlinearity, 0.01 if param is None else param)


def set_global_initializer(weight_init: Any, bias_init: Any = None) -> None:
    """Choose what parameters without an initializer of their own start from; None restores the default."""
    _global.update(weight=weight_init, bias=bias_init)


def default_for(is_bias: bool) -> Initializer:
    """Return the default initializer of a parameter: zeros for a bias, Xavier's for a weight."""
    chosen: Initializer | None = _global["bias" if is_bias else "weight"]
    if chosen is not None:
        return chosen
    return constant(0.0) if is_bias else XavierUniform()


def global_or(default: Initializer, is_bias: bool) -> Initializer:
    """Return the global initializer where one is set, else a layer's own default."""
    return _global["bias" if is_bias else "weight"] or default
