"""The inverse of the error function.

erf and erfc themselves are in ``opkit.ops.pointwise.elementwise``, their numerics in ``opkit.ops.kernels.special``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ops.basis.arithmetic import mul, scalar_mul
from opkit.ops.core.define import define, first_only
from opkit.ops.core.inference import unchanged_floats
from opkit.ops.core.mode import perform
from opkit.ops.core.types import Out
from opkit.ops.core.value import Value
from opkit.ops.kernels.special import erf_of, erfc_of
from opkit.ops.pointwise.elementwise import exp, square

_ROOT_PI = math.sqrt(math.pi)


def _first_guess(x: ndarray, rest: ndarray) -> Any:
    """Return the inverse to two digits (S. Winitzki 2008: erf as a root of 1 - exp of a rational of x*x)."""
    a = 0.147
    log = np.log(rest * (2 - rest))
    half = 2 / (math.pi * a) + log / 2
    return np.copysign(np.sqrt(np.maximum(np.sqrt(half * half - log / a) - half, 0)), x)


def _erfinv(x: ndarray, out: Out = None) -> Any:
    """Return y with erf(y) = x; in double precision, refined by Halley's steps on erf, near the ends on erfc."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        rest = 1 - np.abs(wide)
        y = _first_guess(wide, rest)
        near_end = np.abs(wide) > 0.5
        for _ in range(3):
            miss = np.where(near_end, np.sign(wide) * (rest - erfc_of(np.abs(y))), erf_of(y) - wide)
            step = miss / (2 / _ROOT_PI * np.exp(-y * y))
            y = y - step / (1 + y * step)
        y = np.where(rest <= 0, np.copysign(np.inf, wide), y)
        y = np.where(wide == 0, wide, y)
    if out is None:
        return np.asarray(y).astype(x.dtype)
    out[...] = y
    return out


def _rule(applied: Any, dout: Value) -> Value:
    return mul(dout, scalar_mul(exp(square(applied.outputs[0])), _ROOT_PI / 2))


ERFINV = define(
    "erfinv",
    "x",
    "y",
    _erfinv,
    infer=unchanged_floats("erfinv"),
    grad=first_only(_rule),
    reads="y",
    out=_erfinv,
    elementwise=True,
)


def erfinv(x: Value) -> Value:
    """Return y with ``erf(y) = x``: infinite at -1 and 1 and beyond."""
    return perform(ERFINV, x)
