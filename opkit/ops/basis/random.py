"""Random tensors, and the one generator of the process that they draw from.

Each call draws fresh numbers; in static mode each run does. Dropout itself is in ``opkit.ops.network.layers``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ir import TensorDesc, canonical_dtype
from opkit.ops.basis.creation import to_shape
from opkit.ops.core.define import define
from opkit.ops.core.mode import local, perform
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Descs, Function, Ints
from opkit.ops.core.value import Value

_current = [np.random.Generator(np.random.PCG64())]


def seed(value: int) -> None:
    """Restart the process's generator from a seed.

    Args:
        value: an integer; negative ones count modulo 2**64.
    """
    try:
        number = int(value.__index__())
    except AttributeError:
        raise UsageError(f"a seed is an integer, got {value!r}") from None
    _current[0] = np.random.Generator(np.random.PCG64(number % 2**64))


def generator() -> np.random.Generator:
    """Return the process's generator."""
    return _current[0]


def generator_state() -> Attrs:
    """Return the state of the process's generator, for ``set_generator_state``."""
    state: Attrs = _current[0].bit_generator.state
    return state


def set_generator_state(state: Attrs) -> None:
    """Put the process's generator back into a state."""
    _current[0].bit_generator.state = state


def _rng(seed: int) -> np.random.Generator:
    # An op with a seed of its own draws the same numbers every time; 0 and -1: none. Source: Paddle 2.6, OneFlow v0.4.
    return _current[0] if seed in (0, -1) else np.random.Generator(np.random.PCG64(seed % 2**64))


# ---- distributions ---------------------------------------------------------------------------------------------------
def _declared(descs: Descs, attrs: Attrs) -> Descs:
    return [TensorDesc(tuple(attrs["shape"]), attrs["dtype"])]


def _source(name: str, kernel: Function, attrs: str) -> OpDef:
    spec = f"shape:shape dtype:data_type seed:int64 {attrs}".strip()
    return define(name, "", "out", kernel, infer=_declared, attrs=spec, random=True)


def _uniform(shape: Ints, dtype: str, seed: int, low: float, high: float) -> ndarray:
    rng = _rng(seed)
    if dtype == "float32":  # drawn in single precision: a double rounded to single could be the excluded upper end
        drawn: ndarray = np.asarray(rng.random(tuple(shape), np.float32))
    else:
        drawn = np.asarray(rng.random(tuple(shape)))
    return (drawn * (high - low) + low).astype(dtype, copy=False)


def _normal(shape: Ints, dtype: str, seed: int, mean: float, std: float) -> ndarray:
    return np.asarray(_rng(seed).standard_normal(tuple(shape)) * std + mean).astype(dtype)


UNIFORM = _source("uniform", _uniform, "low:double high:double")
NORMAL = _source("normal", _normal, "mean:double std:double")
RANDINT = _source(
    "randint",
    lambda shape, dtype, seed, low, high: np.asarray(_rng(seed).integers(low, high, tuple(shape))).astype(dtype),
    "low:int64 high:int64",
)
RANDPERM = _source("randperm", lambda shape, dtype, seed: _rng(seed).permutation(shape[0]).astype(dtype), "")


def _draw(opdef: OpDef, shape: Any, dtype: Any, seed: int, **attrs: Any) -> Value:
    common = {"shape": to_shape(shape), "dtype": canonical_dtype(dtype), "seed": int(seed)}
    return local.mode.apply(opdef, (), {**common, **attrs})


def uniform(shape: Any, low: float = 0.0, high: float = 1.0, dtype: Any = "float32", seed: int = 0) -> Value:
    """Return numbers drawn evenly from ``[low, high)``."""
    return _draw(UNIFORM, shape, dtype, seed, low=float(low), high=float(high))


def normal(shape: Any, mean: float = 0.0, std: float = 1.0, dtype: Any = "float32", seed: int = 0) -> Value:
    """Return normally distributed numbers."""
    return _draw(NORMAL, shape, dtype, seed, mean=float(mean), std=float(std))


def randint(low: int, high: int, shape: Any, dtype: Any = "int64", seed: int = 0) -> Value:
    """Return integers drawn evenly from ``[low, high)``.

    Raises:
        UsageError: the range is empty.
    """
    if high <= low:
        raise UsageError(f"op 'randint': the range from {low} up to {high} is empty")
    return _draw(RANDINT, shape, dtype, seed, low=int(low), high=int(high))


def randperm(count: int, dtype: Any = "int64", seed: int = 0) -> Value:
    """Return the integers below ``count`` in random order."""
    return _draw(RANDPERM, (int(count),), dtype, seed)


# ---- masks and choices: of another tensor's shape --------------------------------------------------------------------
def _bernoulli(x: ndarray, seed: int, has_seed: bool, dtype: str) -> ndarray:
    rng = _rng(seed if has_seed else 0)
    return (rng.random(x.shape) < x).astype(dtype)


def _multinomial(x: ndarray, num_samples: int, replacement: bool) -> ndarray:
    rng = _rng(0)
    rows = x.reshape(-1, x.shape[-1]).astype(np.float64)
    drawn = [rng.choice(len(row), num_samples, replacement, row / row.sum()) for row in rows]
    return np.array(drawn, np.int64).reshape(*x.shape[:-1], num_samples)


POISSON = define(
    "poisson",
    "x",
    "out",
    lambda x: np.asarray(_rng(0).poisson(x.astype(np.float64))).astype(x.dtype),
    infer=lambda descs, attrs: [descs[0]],
    random=True,
)
MASK_LIKE = define(
    "random_mask_like",
    "=like",
    "out",
    lambda like, rate, seed: (_rng(seed).random(like.shape, np.float32) >= rate).astype(np.int8),
    infer=lambda descs, attrs: [TensorDesc(descs[0].shape, "int8")],
    attrs="rate:float seed:int64",
    random=True,
)
BERNOULLI = define(
    "bernoulli",
    "in",
    "out",
    _bernoulli,
    infer=lambda descs, attrs: [TensorDesc(descs[0].shape, attrs["dtype"])],
    attrs="seed:int64 has_seed:bool dtype:data_type",
    defaults={"seed": -1},
    random=True,
)
MULTINOMIAL = define(
    "multinomial",
    "x",
    "out",
    _multinomial,
    infer=lambda descs, attrs: [TensorDesc((*descs[0].shape[:-1], attrs["num_samples"]), "int64")],
    attrs="num_samples:int64 replacement:bool",
    random=True,
)


def random_mask_like(like: Value, rate: float, seed: int = 0) -> Value:
    """Return an int8 tensor of the shape of another: 0 with probability ``rate``, else 1."""
    return perform(MASK_LIKE, like, rate=float(rate), seed=int(seed))


def bernoulli(probability: Value, dtype: Any = None) -> Value:
    """Return 1 with the probability given per element, else 0; in the dtype of the probabilities."""
    wanted = canonical_dtype(probability._data.dtype if dtype is None else dtype)
    return perform(BERNOULLI, probability, seed=-1, has_seed=False, dtype=wanted)


def multinomial(weights: Value, count: int = 1, replacement: bool = False) -> Value:
    """Return indices drawn from the rows of weights, ``count`` per row."""
    attrs = {"num_samples": int(count), "replacement": bool(replacement)}
    return perform(MULTINOMIAL, weights, **attrs)


def poisson(rate: Value) -> Value:
    """Return counts drawn from Poisson distributions, one per element of the rates, in their dtype."""
    return perform(POISSON, rate)
