"""Special functions that numpy does not have, on arrays: erf, erfc, lgamma, digamma, polygamma.

Numerics only, no ops. Halves and singles are computed in double precision and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Shape
from opkit.ops.kernels.blocks import elementwise_blocks
from opkit.ops.kernels.small import ONE, clipped

#: Up to this many elements numpy's calls take longer than numbers one by one.
_FEW = 64


def _in_double(few: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: halves and singles become doubles first; ``few(list of numbers)`` is tried on a few."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def widened(x: ndarray, *, out: ndarray | None = None, **rest: Any) -> ndarray:
            try:
                result = few(x.reshape(-1).tolist(), **rest) if x.size <= _FEW else None
            except (ArithmeticError, ValueError):  # where numpy has infinity
                result = None
            if result is not None:
                result = np.array(result, x.dtype).reshape(x.shape)
            else:
                result = np.asarray(function(x.astype(np.float64, copy=False), **rest)).astype(x.dtype, copy=False)
            if out is None:
                return result
            out[...] = result
            return out

        return widened

    return decorate


# ---- erf, erfc -------------------------------------------------------------------------------------------------------
class _Ratio:
    """A ratio of two polynomials of a vector, which go through Horner's scheme side by side.

    Args:
        dtype: of the coefficients.
        above, below: the coefficients, the lowest power first.
    """

    def __init__(self, dtype: str, above: tuple[float, ...], below: tuple[float, ...]) -> None:
        self._pairs = [np.array(pair, dtype) for pair in zip(above, below, strict=True)][::-1]
        self._wide: dict[Shape, list[ndarray]] = {}

    def __call__(self, x: ndarray) -> Any:
        # Equal shapes take numpy a third of the time of shapes that broadcast.
        shape = x.shape if x.size <= _FEW // 2 else (1,) * x.ndim
        if shape not in self._wide:
            self._wide[shape] = [np.tile(pair.reshape(2, *(1,) * x.ndim), shape) for pair in self._pairs]
        first, *others, last = self._wide[shape]
        both = np.empty((2, *x.shape), x.dtype)
        both[...] = x
        total = first * both
        for pair in others:
            total += pair
            total *= both
        total += last
        found = total[0, ...]
        found /= total[1]
        return found


# W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969), pp. 631-637: three
# ranges of |x|; numerator and denominator.
_SMALL = _Ratio(
    "float64",
    (
        3.20937758913846947e03,
        3.77485237685302021e02,
        1.13864154151050156e02,
        3.16112374387056560e00,
        1.85777706184603153e-1,
    ),
    (2.84423683343917062e03, 1.28261652607737228e03, 2.44024637934444173e02, 2.36012909523441209e01, 1.0),
)
_MIDDLE = _Ratio(
    "float64",
    (
        1.23033935479799725e03,
        2.05107837782607147e03,
        1.71204761263407058e03,
        8.81952221241769090e02,
        2.98635138197400131e02,
        6.61191906371416295e01,
        8.88314979438837594e00,
        5.64188496988670089e-1,
        2.15311535474403846e-8,
    ),
    (
        1.23033935480374942e03,
        3.43936767414372164e03,
        4.36261909014324716e03,
        3.29079923573345963e03,
        1.62138957456669019e03,
        5.37181101862009858e02,
        1.17693950891312499e02,
        1.57449261107098347e01,
        1.0,
    ),
)
_LARGE = _Ratio(
    "float64",
    (
        6.58749161529837803e-4,
        1.60837851487422766e-2,
        1.25781726111229246e-1,
        3.60344899949804439e-1,
        3.05326634961232344e-1,
        1.63153871373020978e-2,
    ),
    (
        2.33520497626869185e-3,
        6.05183413124413191e-2,
        5.27905102951428412e-1,
        1.87295284992346725e00,
        2.56852019228982242e00,
        1.0,
    ),
)


def _erfc_of_positive(x: ndarray) -> ndarray:
    """Return erfc for x >= 0.46875."""
    result = np.empty_like(x)
    middle = x <= 4
    near = x[middle]
    result[middle] = _MIDDLE(near)
    far = x[~middle]
    inverse = 1 / (far * far)
    result[~middle] = (1 / math.sqrt(math.pi) - inverse * _LARGE(inverse)) / far
    # exp(-x*x) in two factors: the rounding error of x*x would be multiplied by x*x
    head = np.trunc(x * 16) / 16
    with np.errstate(all="ignore"):
        result *= np.exp(-head * head) * np.exp(-(x - head) * (x + head))
    result[x > 27] = 0
    return result


def _erf(x: ndarray, complement: bool) -> ndarray:
    flat = np.atleast_1d(x)
    size = np.abs(flat)
    small = size <= 0.46875
    result = np.empty_like(flat)
    inner = flat[small]
    near = inner * _SMALL(inner * inner)
    result[small] = 1 - near if complement else near
    outer = flat[~small]
    tail = _erfc_of_positive(np.minimum(np.abs(outer), 100))
    if complement:
        result[~small] = np.where(outer < 0, 2 - tail, tail)
    else:
        result[~small] = np.copysign(1 - tail, outer)
    result[np.isnan(flat)] = np.nan
    return result.reshape(x.shape)


#: erf(x) / x for single precision, |x| <= 3.95, as a ratio of polynomials in x*x: fitted to the smallest relative
#: error (2e-9) on the interval; in singles it is within 7 units in the last place, within 1 on average.
_SINGLE = _Ratio(
    "float32",
    (
        1.128379225730896,
        0.18516939878463745,
        0.05427475646138191,
        0.003843377809971571,
        0.00037793468800373375,
        4.640367023966974e-06,
        -1.2966729912022856e-08,
    ),
    (
        1.0,
        0.4974355101585388,
        0.11391109228134155,
        0.01544372458010912,
        0.0013040612684562802,
        6.269187724683434e-05,
        0.0,
    ),
)


#: From here on erf is 1 in single precision.
_HIGH = np.array(3.95, "float32")
_LOW, _LESS_ONE = np.array(-3.95, "float32"), np.array(-1, "float32")


@elementwise_blocks
def erf_of(x: ndarray) -> Any:
    """Return the error function: in doubles to 2 units in the last place, in singles to 7."""
    kind = x.dtype.char
    if kind != "f":
        return erf_of(x.astype("f")).astype(kind) if kind == "e" else _erf(x, complement=False)
    inner = clipped(x, _LOW, _HIGH)
    ratio = _SINGLE(inner * inner)
    ratio *= inner
    return clipped(ratio, _LESS_ONE, ONE[x.dtype])


@_in_double(lambda numbers: None)
def erfc_of(x: ndarray) -> ndarray:
    """Return 1 - erf, accurate where it is tiny."""
    return _erf(x, complement=True)


# ---- gamma functions -------------------------------------------------------------------------------------------------
def _safe_lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


_lgamma = np.frompyfunc(_safe_lgamma, 1, 1)


#: Bernoulli numbers B2, B4, ... of the asymptotic series.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)


_DIGAMMA = [_BERNOULLI[k - 1] / (2 * k) for k in range(len(_BERNOULLI), 0, -1)]


# Whole numbers with a point: the interpreter is slower where it has to convert.
def _digamma_parts(x: float) -> tuple[float, float, float]:
    total, series = 0.0, 0.0
    while x < 10.0:
        total -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    for coefficient in _DIGAMMA:
        series = (series + coefficient) * inverse
    return total, x, series


def _digamma_of_few(numbers: list[float]) -> list[float]:
    parts = [_digamma_parts(x if x > 0.0 else 1.0 - x) for x in numbers]
    logs = np.log([moved for _, moved, _ in parts]).tolist()
    found = [total + (log - 0.5 / moved - series) for log, (total, moved, series) in zip(logs, parts)]
    if not min(numbers) > 0.0:
        slopes = np.tan([math.pi * x for x in numbers]).tolist()
        found = [value - math.pi / slope if x <= 0.0 else value for value, slope, x in zip(found, slopes, numbers)]
    return found


def _trigamma(x: float) -> float:
    if not x > 0.0:
        return math.nan
    total = 0.0
    while x < 11.0:
        total += 1.0 / (x * x)
        x += 1.0
    power, square = x, x * x
    total += 1.0 / x + 1.0 / (2.0 * square)
    for bernoulli in _BERNOULLI:
        power *= square
        total += bernoulli / power
    return total


@_in_double(lambda numbers: [math.lgamma(x) for x in numbers])
def lgamma_of(x: ndarray) -> ndarray:
    """Return log(abs(gamma(x)))."""
    return np.asarray(_lgamma(x)).astype(np.float64)


def _digamma_of_positive(x: ndarray) -> Any:
    total, moved, series = np.zeros_like(x), x, np.zeros_like(x)
    for _ in range(10):
        low = moved < 10
        total -= np.where(low, 1 / moved, 0)
        moved = np.where(low, moved + 1, moved)
    inverse = 1 / (moved * moved)
    for coefficient in _DIGAMMA:
        series = (series + coefficient) * inverse
    return total + (np.log(moved) - 0.5 / moved - series)


@_in_double(_digamma_of_few)
def digamma_of(x: ndarray) -> Any:
    """Return the logarithmic derivative of gamma, where numpy's warnings are off.

    Source: the recurrence to x >= 10, then the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18); negative
    arguments by reflection (6.3.7).
    """
    low = x <= 0
    if not np.count_nonzero(low):
        return _digamma_of_positive(x)
    total = _digamma_of_positive(np.where(low, 1 - x, x))
    return np.where(low, total - math.pi / np.tan(math.pi * x), total)


@_in_double(lambda numbers, n: [_trigamma(x) for x in numbers] if n == 1 else None)
def polygamma_of(x: ndarray, n: int) -> ndarray:
    """Return the n-th derivative of digamma for positive x (NaN elsewhere), where numpy's warnings are off.

    Source: the recurrence to x >= 10 + n, then the asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.11).
    """
    moved, total = x, np.zeros_like(x)
    for _ in range(10 + n):
        low = moved < 10 + n
        total += np.where(low, math.factorial(n) / moved ** (n + 1), 0)
        moved = np.where(low, moved + 1, moved)
    power, square = moved**n, moved * moved
    total += math.factorial(n - 1) / power + math.factorial(n) / (2 * moved ** (n + 1))
    for k, bernoulli in enumerate(_BERNOULLI, start=1):
        power = power * square
        total += bernoulli * (math.factorial(2 * k + n - 1) / math.factorial(2 * k)) / power
    return np.where(x > 0, total if n % 2 else -total, np.nan)
