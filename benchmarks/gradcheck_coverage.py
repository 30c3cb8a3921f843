# ruff: noqa: E501 - a table reads better with one row a line
"""Coverage of the numeric derivative's error bound on a zoo of functions.

Prints, per function: points, share of points whose true error exceeds the bound, median relative bound, and what the
points were taken for. Exit status 1 when coverage over all points is below 99 %.

Run: python benchmarks/gradcheck_coverage.py
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.ladder import derivative

F = Callable[[np.ndarray], np.ndarray]
Row = tuple[str, F, F, tuple[float, float], float]

_erf = np.vectorize(math.erf, otypes=[float])
_lgamma = np.vectorize(math.lgamma, otypes=[float])


def _digamma(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, dtype=np.longdouble).copy()
    total = np.zeros_like(x)
    while (x < 30).any():
        small = x < 30
        total[small] -= 1 / x[small]
        x[small] += 1
    square = 1 / x**2
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return (total + np.log(x) - 0.5 / x - series).astype(float)


def _single(function: F) -> F:
    return lambda x: function(x.astype(np.float32)).astype(np.float64)


def _half(function: F) -> F:
    return lambda x: function(x.astype(np.float16)).astype(np.float64)


def _gelu32(x: np.ndarray) -> np.ndarray:
    inner = np.tanh((0.7978845608 * (x + 0.044715 * x**3)).astype(np.float32)).astype(np.float64)
    return 0.5 * x * (1 + inner)


def _dgelu(x: np.ndarray) -> np.ndarray:
    u = 0.7978845608 * (x + 0.044715 * x**3)
    t = np.tanh(u)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * x * x)


def _sech2(x: np.ndarray) -> np.ndarray:
    return 1 / np.cosh(np.clip(x, -350, 350)) ** 2


E = 2.3e-16
#: name, function, derivative, range of points, resolution of what it returns
ZOO: list[Row] = [
    # smooth
    ("sin", np.sin, np.cos, (-3, 3), E),
    ("exp", np.exp, np.exp, (-3, 3), E),
    ("tanh", np.tanh, _sech2, (-4, 4), E),
    ("x^3", lambda x: x**3, lambda x: 3 * x**2, (-2, 2), E),
    ("x*exp(-x^2)", lambda x: x * np.exp(-x * x), lambda x: (1 - 2 * x * x) * np.exp(-x * x), (-2, 2), E),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), lambda x: 0.25 / np.cosh(x / 2) ** 2, (-8, 8), E),
    ("softplus", lambda x: np.logaddexp(0, x), lambda x: 1 / (1 + np.exp(-x)), (-20, 20), E),
    ("erf", _erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x), (-2, 2), E),
    ("atan", np.arctan, lambda x: 1 / (1 + x * x), (-5, 5), E),
    ("lgamma", _lgamma, _digamma, (0.5, 9), 4 * E),
    ("identity", lambda x: x + 0.0, np.ones_like, (-2, 2), E),
    ("constant", lambda x: np.full_like(x, 3.0), np.zeros_like, (-2, 2), E),
    ("square", lambda x: x * x, lambda x: 2 * x, (-1e-3, 1e-3), E),
    # steep and oscillating
    ("tanh(1e3(x-.3))", lambda x: np.tanh(1e3 * (x - 0.3)), lambda x: 1e3 * _sech2(1e3 * (x - 0.3)), (0.297, 0.303), E),
    ("sin(300x)", lambda x: np.sin(300 * x), lambda x: 300 * np.cos(300 * x), (-2, 2), E),
    ("exp(30x)", lambda x: np.exp(30 * x), lambda x: 30 * np.exp(30 * x), (-1, 1), E),
    ("1/(1+1e6x^2)", lambda x: 1 / (1 + 1e6 * x * x), lambda x: -2e6 * x / (1 + 1e6 * x * x) ** 2, (-0.01, 0.01), E),
    ("sin(1/x)", lambda x: np.sin(1 / x), lambda x: -np.cos(1 / x) / x**2, (0.01, 0.2), E),
    ("sin(x), x~1e4", np.sin, np.cos, (9e3, 1.1e4), E),
    (
        "sin(x)+1e-3sin(1e4x)",
        lambda x: np.sin(x) + 1e-3 * np.sin(1e4 * x),
        lambda x: np.cos(x) + 10 * np.cos(1e4 * x),
        (-1, 1),
        E,
    ),
    # badly scaled
    ("x^3, x~1e6", lambda x: x**3, lambda x: 3 * x**2, (5e5, 2e6), E),
    ("1e8+sin", lambda x: 1e8 + np.sin(x), np.cos, (-3, 3), E),
    ("1e-9 x^2", lambda x: 1e-9 * x * x, lambda x: 2e-9 * x, (-3, 3), E),
    ("(1e4+sin)-1e4", lambda x: (1e4 + np.sin(x)) - 1e4, np.cos, (-3, 3), E),
    ("exp(x)-1 at 1e-6", lambda x: np.exp(x) - 1, np.exp, (1e-7, 1e-5), E),
    ("1e200 x^2", lambda x: 1e200 * x * x, lambda x: 2e200 * x, (-2, 2), E),
    ("x/1e-150", lambda x: x * 1e150, lambda x: np.full_like(x, 1e150), (-1e-3, 1e-3), E),
    # near-singular and at the domain's edge
    ("log, 1e-7..1e-5", np.log, lambda x: 1 / x, (1e-7, 1e-5), E),
    ("sqrt, 1e-6..1e-3", np.sqrt, lambda x: 0.5 / np.sqrt(x), (1e-6, 1e-3), E),
    ("1/x", lambda x: 1 / x, lambda x: -1 / x**2, (1e-3, 1e-1), E),
    ("asin near 1", np.arcsin, lambda x: 1 / np.sqrt((1 - x) * (1 + x)), (0.99, 0.99999), E),
    ("log1p(-x) near 1", lambda x: np.log1p(-x), lambda x: -1 / (1 - x), (0.9, 0.9999), E),
    ("x^1.5 near 0", lambda x: np.where(x >= 0, np.abs(x) ** 1.5, np.nan), lambda x: 1.5 * np.sqrt(x), (0, 1e-4), E),
    ("|x|^1.5 near 0", lambda x: np.abs(x) ** 1.5, lambda x: 1.5 * np.sign(x) * np.sqrt(np.abs(x)), (-1e-4, 1e-4), E),
    ("acosh near 1", np.arccosh, lambda x: 1 / np.sqrt((x - 1) * (x + 1)), (1.00001, 1.01), E),
    ("tan near pi/2", np.tan, lambda x: 1 / np.cos(x) ** 2, (1.5, 1.57), E),
    # float32 and float16 inside
    ("softplus32", _single(lambda x: np.logaddexp(np.float32(0), x)), lambda x: 1 / (1 + np.exp(-x)), (-4, 4), E),
    ("tanh32", _single(np.tanh), _sech2, (-2, 2), E),
    ("gelu, float32 inside", _gelu32, _dgelu, (-2, 2), E),
    ("x^2 in float32", _single(lambda x: x * x), lambda x: 2 * x, (0.5, 2), E),
    ("exp32 + x", lambda x: np.exp(x.astype(np.float32)).astype(float) + x, lambda x: np.exp(x) + 1, (-2, 2), E),
    ("tanh16", _half(np.tanh), _sech2, (-1.5, 1.5), E),
    ("x^2 in float16", _half(lambda x: x * x), lambda x: 2 * x, (0.5, 2), E),
    ("sin16 + x", lambda x: np.sin(x.astype(np.float16)).astype(float) + x, lambda x: np.cos(x) + 1, (-1, 1), E),
    # kinked
    ("relu", lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0, (-1, 1), E),
    ("relu, |x|<1e-6", lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0, (-1e-6, 1e-6), E),
    ("|x-.3|", lambda x: np.abs(x - 0.3), lambda x: np.sign(x - 0.3), (0.29999, 0.30001), E),
    ("leaky relu", lambda x: np.where(x > 0, x, 0.01 * x), lambda x: np.where(x > 0, 1, 0.01), (-1e-3, 1e-3), E),
    ("max(x,x^2)", lambda x: np.maximum(x, x * x), lambda x: np.where(x > x * x, 1, 2 * x), (0.5, 1.5), E),
    (
        "huber 1e-3",
        lambda x: np.where(np.abs(x) < 1e-3, 500 * x * x, np.abs(x) - 5e-4),
        lambda x: np.clip(x * 1e3, -1, 1),
        (-2e-3, 2e-3),
        E,
    ),
    ("hard sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1), lambda x: 0.2 * (np.abs(x) < 2.5), (-4, 4), E),
    (
        "soft shrink .5",
        lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
        lambda x: (np.abs(x) > 0.5) * 1.0,
        (-1, 1),
        E,
    ),
    # stepped
    ("floor", np.floor, np.zeros_like, (-3, 3), E),
    ("x-floor(x)", lambda x: x - np.floor(x), np.ones_like, (-3, 3), E),
    ("round/8", lambda x: np.round(x * 8) / 8, np.zeros_like, (-3, 3), E),
    ("heaviside*x", lambda x: np.where(x > 0.5, x + 1, x), np.ones_like, (0, 1), E),
    ("sign", np.sign, np.zeros_like, (-1, 1), E),
]
#: exact points of non-differentiability: name, function, point, valid interval
CORNERS: list[tuple[str, F, float, tuple[float, float]]] = [
    ("relu at 0", lambda x: np.maximum(x, 0), 0.0, (0, 1)),
    ("|x| at 0", np.abs, 0.0, (-1, 1)),
    ("leaky relu at 0", lambda x: np.where(x > 0, x, 0.01 * x), 0.0, (0.01, 1)),
    ("max(x,x^2) at 1", lambda x: np.maximum(x, x * x), 1.0, (1, 2)),
    ("clip at 1", lambda x: np.clip(x, -1, 1), 1.0, (0, 1)),
    ("elu(1.5) at 0", lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0))), 0.0, (1, 1.5)),
]


def measure(row: Row, count: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (missed, relative bound, kind) per point of one zoo row."""
    _, function, slope, (low, high), eps = row
    rng = np.random.default_rng(seed)
    points = rng.uniform(low, high, count)
    with np.errstate(all="ignore"):
        truth = np.asarray(slope(points), dtype=float)
        found = derivative(function, points, eps)
        value, bound, kind = found.value[0], found.bound[0], found.kind[0]
        distance = np.maximum(np.maximum(found.low[0] - truth, truth - found.high[0]), 0)
        distance = np.where(kind >= Behaviour.KINK, distance, np.abs(value - truth))
        missed = ~(distance <= bound + 8 * E * np.abs(truth))
    size = np.maximum(np.abs(truth), np.median(np.abs(truth)))
    return missed, bound / np.where(size > 0, size, 1.0), kind


def main() -> int:
    """Print the table and return the exit status."""
    missed_all, total = 0, 0
    print(f"{'function':24} {'missed':>8} {'median bound':>13} {'undecided 1e-7':>15}  kinds")
    for row in ZOO:
        missed, bound, kind = measure(row)
        kinds = {Behaviour(k).name.lower(): int((kind == k).sum()) for k in np.unique(kind)}
        share = 100 * missed.mean()
        print(f"{row[0]:24} {share:7.1f}% {np.median(bound):13.1e} {100 * (bound > 1e-7).mean():14.1f}%  {kinds}")
        missed_all, total = missed_all + int(missed.sum()), total + len(missed)
    for name, function, point, (low, high) in CORNERS:
        found = derivative(function, np.full(3, point))
        slack = found.bound[0, 0] + 1e-12
        good = found.low[0, 0] - slack <= low and found.high[0, 0] + slack >= high
        print(
            f"{name:24} {'' if good else 'MISSED':>8} [{found.low[0, 0]:.6g}, {found.high[0, 0]:.6g}] {Behaviour(found.kind[0, 0]).name}"
        )
        missed_all, total = missed_all + (not good), total + 1
    coverage = 100 * (1 - missed_all / total)
    print(f"functions: {len(ZOO) + len(CORNERS)}, points: {total}, coverage of the bound: {coverage:.2f} %")
    return 0 if coverage >= 99 else 1


if __name__ == "__main__":
    sys.exit(main())
