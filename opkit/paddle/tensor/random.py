"""Random tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.eager import Tensor, become, check_inplace
from opkit.errors import UsageError
from opkit.ir import canonical_dtype
from opkit.ops.core.types import Name
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.semantics import builders as ops
from opkit.paddle.tensor.checks import needed, plain_shape
from opkit.shim.missing import guard as _guard

__all__ = [
    "bernoulli",
    "get_rng_state",
    "multinomial",
    "normal",
    "normal_",
    "poisson",
    "rand",
    "randint",
    "randint_like",
    "randn",
    "randperm",
    "seed",
    "set_rng_state",
    "standard_normal",
    "uniform",
    "uniform_",
]


def seed(seed: int) -> Any:
    """Restart the random number generator; return it."""
    ops.seed(seed)
    return ops.generator()


def _dtype(dtype: Any) -> str:
    return default_dtype() if dtype is None else canonical_dtype(dtype)


def randn(shape: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return numbers drawn from the standard normal distribution."""
    return ops.normal(plain_shape("randn", shape), 0.0, 1.0, _dtype(dtype))


def standard_normal(shape: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return numbers drawn from the standard normal distribution."""
    return randn(shape, dtype)


def rand(shape: Any, dtype: Any = None, name: Name = None) -> Any:
    """Return numbers drawn evenly from [0, 1)."""
    return ops.uniform(plain_shape("rand", shape), 0.0, 1.0, _dtype(dtype))


def uniform(
    shape: Any, dtype: Any = None, min: float = -1.0, max: float = 1.0, seed: int = 0, name: Name = None
) -> Any:
    """Return numbers drawn evenly from [min, max); a seed other than 0 fixes them."""
    return ops.uniform(plain_shape("uniform", shape), float(min), float(max), _dtype(dtype), seed)


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: Name = None) -> Any:
    """Return numbers drawn from normal distributions; mean and std may be tensors that give the shape."""
    if shape is None:
        like = mean if hasattr(mean, "_data") else std
        shape = list(like.shape) if hasattr(like, "_data") else [1]
    noise = ops.normal(plain_shape("normal", shape), 0.0, 1.0, default_dtype())
    return ops.add(ops.mul(noise, std), mean)


def randint(low: int = 0, high: int | None = None, shape: Any = (1,), dtype: Any = None, name: Name = None) -> Any:
    """Return integers drawn evenly from [low, high), or from [0, low)."""
    if high is None:
        low, high = 0, low
    kind = "int64" if dtype is None else canonical_dtype(dtype)
    return ops.randint(int(low), int(high), plain_shape("randint", shape), kind)


def randint_like(x: Any, low: int = 0, high: int | None = None, dtype: Any = None, name: Name = None) -> Any:
    """Return integers of the shape (and, where none is given, the dtype) of x."""
    needed(x)
    return randint(low, high, list(x.shape), x._data.dtype.name if dtype is None else dtype)


def randperm(n: int, dtype: Any = "int64", name: Name = None) -> Any:
    """Return the numbers below n in random order."""
    return ops.randperm(int(n), canonical_dtype(dtype))


def bernoulli(x: Any, name: Name = None) -> Any:
    """Return ones with the probabilities in x, else zeros."""
    return ops.bernoulli(needed(x))


def multinomial(x: Any, num_samples: int = 1, replacement: bool = False, name: Name = None) -> Any:
    """Return positions drawn with the (unnormalised) probabilities in the last axis of x."""
    return ops.multinomial(needed(x), num_samples, replacement)


def poisson(x: Any, name: Name = None) -> Any:
    """Return counts drawn from Poisson distributions with the rates in x."""
    return ops.poisson(needed(x))


def get_rng_state(device: str | None = None) -> list[Any]:
    """Return the state of the random number generator, for ``set_rng_state``."""
    return [ops.generator_state()]


def set_rng_state(state_list: Any, device: str | None = None) -> None:
    """Put the random number generator back into a state."""
    if not isinstance(state_list, (list, tuple)) or len(state_list) != 1:
        raise UsageError("set_rng_state takes what get_rng_state returned: a list of one state on the CPU")
    ops.set_generator_state(state_list[0])


class InPlaceInGraphError(UsageError, TypeError, AssertionError):
    """Something that is not a Tensor was to be filled in place (in a graph Paddle raises AssertionError)."""


# ---- in place --------------------------------------------------------------------------------------------------------
def _filled(x: Tensor, draw: Callable[[], Any], what: str) -> Tensor:
    if not isinstance(x, Tensor):
        raise InPlaceInGraphError(f"{what} fills a Tensor, got {type(x).__name__}", help="in graphs draw a new one")
    check_inplace(x, what)
    return become(x, ops.cast(draw(), x._data.dtype), what)


def uniform_(x: Tensor, min: float = -1.0, max: float = 1.0, seed: int = 0, name: Name = None) -> Tensor:
    """Fill x with numbers drawn evenly from [min, max)."""
    return _filled(x, lambda: ops.uniform(x._data.shape, float(min), float(max), x._data.dtype, seed), "uniform_")


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, name: Name = None) -> Tensor:
    """Fill x with numbers drawn from a normal distribution."""
    return _filled(x, lambda: ops.normal(x._data.shape, float(mean), float(std), x._data.dtype), "normal_")


__getattr__ = _guard(globals())
