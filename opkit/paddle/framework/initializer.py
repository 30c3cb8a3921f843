"""First values of parameters: Paddle's classes for the recipes of ``opkit.ops``, and which one is taken by default.

What parameters are made of is in ``parameter``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.eager import Tensor
from opkit.errors import UsageError
from opkit.ir import Shape
from opkit.ops.basis.random import generator
from opkit.ops.core.types import Name
from opkit.ops.kernels import initializer as recipes
from opkit.ops.kernels.initializer import gain_of

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
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
    "is_own",
    "recipe_of",
    "set_global_initializer",
]

_global: dict[str, Any] = {"weight": None, "bias": None}


class Initializer:
    """A first value for parameters; calling it with a Tensor fills that Tensor, in place.

    A subclass of the user's defines ``forward(param, block)``, which gives the parameter its value.

    Source: Paddle 2.6.2, paddle.nn.initializer.Initializer.
    """

    recipe: recipes.Initializer | None = None

    def __call__(self, param: Any, block: Any = None) -> Any:
        """Give a parameter, or any Tensor, its first value."""
        return self.forward(param, block)

    def forward(self, param: Any, block: Any = None) -> Any:
        """Fill a Tensor in place, whether it takes a gradient or not.

        Raises:
            UsageError: it is a parameter of a graph, or the class has no value to give.
        """
        if self.recipe is None:
            raise UsageError(f"{type(self).__name__}: an initializer's class defines forward(param, block)")
        if not isinstance(param, Tensor):
            raise UsageError(
                f"{type(self).__name__}: a call fills a Tensor, got {type(param).__name__}",
                help="in a graph, name the initializer where the parameter is made: ParamAttr(initializer=...)",
            )
        param.set_value(self.recipe(generator(), tuple(param.shape), param._data.dtype))  # type: ignore[attr-defined]
        return None


def is_own(initializer: Any) -> bool:
    """Return whether a user's code gives the value: a subclass that defines how, or a function of (param, block)."""
    if isinstance(initializer, Initializer):
        kind = type(initializer)
        return kind.forward is not Initializer.forward or kind.__call__ is not Initializer.__call__
    return callable(initializer) and not isinstance(initializer, recipes.Initializer)


class InitializerError(UsageError, TypeError):
    """Something cannot give a parameter its first value (Paddle raises TypeError)."""


def recipe_of(initializer: Any) -> recipes.Initializer:
    """Return what draws the values.

    Raises:
        InitializerError: a user's code gives them, or it is not an initializer.
    """
    if isinstance(initializer, recipes.Initializer):
        return initializer
    if isinstance(initializer, Initializer) and initializer.recipe is not None and not is_own(initializer):
        return initializer.recipe
    raise InitializerError(
        f"a parameter of a graph starts from one of paddle.nn.initializer, got {type(initializer).__name__}",
        help="paddle.nn.initializer.Assign takes any array",
    )


def _fans(shape: Shape) -> tuple[float, float]:
    """Return (fan_in, fan_out); those of a vector are its size, as Paddle has it."""
    if len(shape) >= 2:
        return recipes.fans(shape, rows_are_outputs=False)
    size = float(max(1, int(np.prod(shape))))
    return size, size


def _wide(distribution: str, variance: float, shape: Shape, rng: np.random.Generator) -> Any:
    if distribution == "normal":
        return rng.normal(0.0, np.sqrt(variance), shape)
    bound = float(np.sqrt(3.0 * variance))
    return rng.uniform(-bound, bound, shape)


def _xavier(distribution: str, fan_in: float | None, fan_out: float | None) -> recipes.Initializer:
    def draw(rng: np.random.Generator, shape: Shape) -> Any:
        own = _fans(shape)
        total = (own[0] if fan_in is None else fan_in) + (own[1] if fan_out is None else fan_out)
        return _wide(distribution, 2.0 / total, shape, rng)

    return recipes.Initializer(f"xavier_{distribution}({fan_in}, {fan_out})", draw)


def _kaiming(distribution: str, fan_in: float | None, slope: float, nonlinearity: str) -> recipes.Initializer:
    gain = gain_of(nonlinearity, slope)

    def draw(rng: np.random.Generator, shape: Shape) -> Any:
        return _wide(distribution, gain**2 / (_fans(shape)[0] if fan_in is None else fan_in), shape, rng)

    return recipes.Initializer(f"kaiming_{distribution}({fan_in}, {gain:g})", draw)


class Constant(Initializer):
    """Every element is ``value``.

    Raises:
        ValueError: the value is None.
    """

    def __init__(self, value: float = 0.0) -> None:
        if value is None:
            raise UsageError("Constant: the value is a number, got None")
        self.recipe = recipes.constant(value)


class Uniform(Initializer):
    """Uniform over [low, high)."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: Name = None) -> None:
        if high < low:
            raise UsageError(f"Uniform: low is at most high, got {low} and {high}")
        self.recipe = recipes.uniform(low, high)


class Normal(Initializer):
    """Normal with the given mean and standard deviation."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: Name = None) -> None:
        self.recipe = recipes.normal(mean, std)


class TruncatedNormal(Initializer):
    """Normal, redrawn beyond two standard deviations."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: Name = None) -> None:
        self.recipe = recipes.truncated_normal(mean, std)


class XavierUniform(Initializer):
    """Uniform with the variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, name: Name = None) -> None:
        self.recipe = _xavier("uniform", fan_in, fan_out)


class XavierNormal(Initializer):
    """Normal with the variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, name: Name = None) -> None:
        self.recipe = _xavier("normal", fan_in, fan_out)


class KaimingUniform(Initializer):
    """Uniform with the variance gain**2 / fan_in (He et al. 2015)."""

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> None:
        self.recipe = _kaiming("uniform", fan_in, negative_slope, nonlinearity)


class KaimingNormal(Initializer):
    """Normal with the variance gain**2 / fan_in (He et al. 2015)."""

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> None:
        self.recipe = _kaiming("normal", fan_in, negative_slope, nonlinearity)


class Assign(Initializer):
    """The given array, list or Tensor."""

    def __init__(self, value: Any, name: Name = None) -> None:
        self.recipe = recipes.constant(np.array(value))


class Orthogonal(Initializer):
    """Orthonormal rows or columns, times a gain (Saxe et al. 2014); the axes behind the first count as one."""

    def __init__(self, gain: float = 1.0, name: Name = None) -> None:
        def draw(rng: np.random.Generator, shape: Shape) -> Any:
            if len(shape) < 2:
                raise UsageError(f"Orthogonal needs a shape of two or more axes, got {list(shape)}")
            rows, columns = shape[0], int(np.prod(shape[1:]))
            q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
            q = q * np.sign(np.diag(r))
            return gain * (q.T if rows < columns else q).reshape(shape)

        self.recipe = recipes.Initializer(f"orthogonal({gain})", draw)


class Bilinear(Initializer):
    """Filters of a transposed convolution that resize by bilinear interpolation."""

    def __init__(self) -> None:
        self.recipe = recipes.Initializer("bilinear", _bilinear)


def _bilinear(rng: np.random.Generator, shape: Shape) -> Any:
    if len(shape) != 4 or shape[2] != shape[3]:
        raise UsageError(f"Bilinear: the shape {list(shape)} does not fit a square filter")
    factor = -(-shape[3] // 2)
    centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
    line = 1 - np.abs(np.arange(shape[3]) / factor - centre)
    return np.broadcast_to(np.outer(line, line), shape)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended gain for an activation."""
    return gain_of(nonlinearity, 0.01 if param is None else param)


def set_global_initializer(weight_init: Any, bias_init: Any = None) -> None:
    """Choose what parameters without an initializer of their own start from; None restores the default."""
    _global.update(weight=weight_init, bias=bias_init)


def default_for(is_bias: bool) -> Any:
    """Return the default initializer of a parameter: zeros for a bias, Xavier's for a weight."""
    chosen = _global["bias" if is_bias else "weight"]
    if chosen is not None:
        return chosen
    return Constant(0.0) if is_bias else XavierUniform()


def global_or(default: Any, is_bias: bool) -> Any:
    """Return the global initializer where one is set, else a layer's own default."""
    return _global["bias" if is_bias else "weight"] or default
