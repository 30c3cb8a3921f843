"""Values: the regimes of numbers that cases are filled with.

Arrays of one shape only; which domain an op takes is found out in roles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from opkit.checker.model.numbers import is_square

Make: TypeAlias = Callable[[np.random.Generator, int], np.ndarray]


def _signs(rng: np.random.Generator, size: int) -> np.ndarray:
    found: np.ndarray = rng.choice([-1.0, 1.0], size)
    return found


def _partly_zero(rng: np.random.Generator, size: int) -> np.ndarray:
    values = rng.uniform(-2, 2, size)
    values[:: 2 if size > 1 else 1] = 0.0
    return values


def _one_zero(rng: np.random.Generator, size: int) -> np.ndarray:
    """Zeros four or five apart, so that a row of a small matrix has one."""
    values: np.ndarray = rng.uniform(0.5, 2, size) * _signs(rng, size)
    values[1::5] = 0.0
    return values


def _between(low: float, high: float) -> Make:
    return lambda rng, n: rng.uniform(low, high, n)


def _signed(low: float, high: float) -> Make:
    """Sizes between these bounds, of both signs."""
    return lambda rng, n: _signs(rng, n) * rng.uniform(low, high, n)


#: name -> values of one array. The first is what shapes and attributes are tried with.
REGIMES: dict[str, Make] = {
    "normal": _between(-2, 2),
    "positive": _between(0.2, 2.5),
    "negative": _between(-2.5, -0.2),
    "wide": lambda rng, n: _signs(rng, n) * 10 ** rng.uniform(-3, 2.5, n),
    "moderate": _between(-6, 6),
    "large": _signed(4, 15),
    "saturated": _signed(25, 60),
    "steep": _signed(90, 300),
    "huge": _signed(700, 1000),
    "1e5": _signed(0.5e5, 2e5),
    "small": _signed(0.5e-2, 2e-2),
    "tiny": _signed(0.5e-6, 2e-6),
    "offset": _between(1e3 - 2, 1e3 + 2),
    "far offset": _between(1e6 - 2, 1e6 + 2),
    "ascending": lambda rng, n: np.sort(rng.uniform(-3, 3, n)),
    "descending": lambda rng, n: np.sort(rng.uniform(-3, 3, n))[::-1].copy(),
    "ties": lambda rng, n: rng.integers(-1, 3, n).astype(float),
    "equal": lambda rng, n: np.full(n, float(rng.uniform(0.5, 0.9))),
    "partly zero": _partly_zero,
    "one zero": _one_zero,
    "zeros": lambda _, n: np.zeros(n),
}
#: Regimes around numbers that occur in the kernels' source.
ANCHORED = ("near constants", "at constants")


def _into_unit(values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        found: np.ndarray = np.clip(1.0 / (1.0 + np.exp(-values)), 1e-5, 1 - 1e-5)
    return found


#: name -> how a regime's values are brought into a domain, tried in this order.
DOMAINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "real": lambda values: values,
    "positive": lambda values: np.maximum(np.abs(values), 1e-12),
    "symmetric": lambda values: np.tanh(np.clip(values, -12, 12) * 0.7),
    "unit": _into_unit,
    "above one": lambda values: 1.0 + np.maximum(np.abs(values), 1e-9),
    "negative": lambda values: -np.maximum(np.abs(values), 1e-12),
}

#: name -> the open interval that a domain is.
LIMITS: dict[str, tuple[float, float]] = {
    "real": (-np.inf, np.inf),
    "positive": (0.0, np.inf),
    "unit": (0.0, 1.0),
    "symmetric": (-1.0, 1.0),
    "above one": (1.0, np.inf),
    "negative": (-np.inf, 0.0),
}


def beyond(domain: str) -> list[str]:
    """Return the domains that reach beyond one."""
    low, high = LIMITS[domain]
    return [name for name, (least, most) in LIMITS.items() if least < low or most > high]


def _shares(values: np.ndarray) -> np.ndarray:
    sizes = np.abs(values) + np.finfo(values.dtype).tiny
    found: np.ndarray = sizes / sizes.sum(axis=-1, keepdims=True) if values.ndim else sizes
    return found


def _symmetric(values: np.ndarray) -> np.ndarray:
    return np.tril(values) + np.swapaxes(np.tril(values, -1), -1, -2) if is_square(values) else values


def _definite(values: np.ndarray) -> np.ndarray:
    if not is_square(values):
        return values
    size = values.shape[-1]
    found: np.ndarray = values @ np.swapaxes(values, -1, -2) / max(size, 1) + np.eye(size, dtype=values.dtype)
    return found


#: name -> how values are brought into a structure of their last axis, or of their last two where these are equal.
STRUCTURES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "shares": _shares,
    "symmetric": _symmetric,
    "definite": _definite,
    "ascending": lambda values: np.sort(values, axis=-1) if values.ndim else values,
}


def fill(shape: Sequence[int], regime: str, domain: str, rng: np.random.Generator, dtype: str) -> np.ndarray:
    """Return an array of a shape with a regime's values brought into a domain.

    Args:
        shape: sizes; () makes a 0-d array.
        regime: a key of REGIMES.
        domain: a key of DOMAINS.
        rng: source of randomness.
        dtype: a float dtype's name.
    """
    size = int(np.prod(shape, dtype=np.int64))
    values = DOMAINS[domain](REGIMES[regime](rng, size))
    return np.asarray(values, dtype=dtype).reshape(tuple(shape))


def near_constants(
    constants: Sequence[float], shape: Sequence[int], exact: bool, domain: str, rng: np.random.Generator, dtype: str
) -> np.ndarray:
    """Return values at (``exact``) or on both sides of numbers that occur in the kernels' source."""
    size = int(np.prod(shape, dtype=np.int64))
    anchors = np.array([sign * value for value in constants for sign in (1.0, -1.0)])
    low, high = LIMITS[domain]
    inside = anchors[(anchors > low) & (anchors < high)]
    anchors = inside if inside.size else DOMAINS[domain](anchors)
    rng.shuffle(anchors)
    picked = np.resize(anchors, size)
    if not exact:
        room = np.minimum(np.minimum(picked - low, high - picked), np.maximum(np.abs(picked), 0.1))
        picked = picked + _signs(rng, size) * room * rng.uniform(0.02, 0.3, size)
    return np.asarray(picked, dtype=dtype).reshape(tuple(shape))
