"""Functions that kernels of formulas call and numpy does not have, as the kernel file defines them."""

from __future__ import annotations

#: functions that numpy lacks, as the kernel file defines them
HELPERS = {
    "sigmoid": '''def sigmoid(x):
    """1 / (1 + exp(-x)), which neither overflows nor cancels."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)
''',
    "logcosh": '''def logcosh(x):
    """log(cosh(x)), which neither overflows nor cancels."""
    size = np.abs(x)
    near = np.log1p(2 * np.sinh(np.minimum(size, 1) / 2) ** 2)
    return np.where(size < 1, near, size + np.log1p(np.exp(-2 * size)) - math.log(2))
''',
    "erf": '''def erf(x):
    """The error function, which numpy does not have."""
    return np.vectorize(math.erf, otypes=[x.dtype])(x)
''',
    "erfc": '''def erfc(x):
    """1 - erf(x) without cancellation; numpy does not have it."""
    return np.vectorize(math.erfc, otypes=[x.dtype])(x)
''',
    "lgamma": '''def lgamma(x):
    """The logarithm of the gamma function, which numpy does not have."""
    return np.vectorize(math.lgamma, otypes=[x.dtype])(x)
''',
    "digamma": '''def digamma(x):
    """The derivative of lgamma for x > 0: moved to x + 8, where the asymptotic series holds."""
    below = sum(1 / (x + k) for k in range(8))
    z = x + 8
    r = 1 / (z * z)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    return np.log(z) - 0.5 / z - series - below
''',
    "inverse_root": '''def inverse_root(x):
    """1 / sqrt(x), and 0 at 0, where the root has a kink."""
    return np.where(x > 0, 1 / np.sqrt(np.where(x > 0, x, 1)), 0)
''',
    "sinc": '''def sinc(x):
    """sin(x) / x, and 1 at 0."""
    safe = np.where(x == 0, 1, x)
    return np.where(x == 0, 1, np.sin(safe) / safe)
''',
    "sinc_slope": '''def sinc_slope(x):
    """The derivative of sin(x) / x; near 0, where the difference would cancel, its series."""
    near = np.abs(x) < 0.5
    safe = np.where(near, 1, x)
    s = np.where(near, x * x, 0)
    series = -x / 3
    scale = 1
    for n in (238, 180, 130, 88, 54, 28, 10):
        scale = 1 - s / n * scale
    return np.where(near, series * scale, (np.cos(safe) - np.sin(safe) / safe) / safe)
''',
    "sech": '''def sech(x):
    """1 / cosh(x), which does not overflow."""
    e = np.exp(-np.abs(x))
    return 2 * e / (1 + e * e)
''',
    "exprel": '''def exprel(x):
    """(exp(x) - 1) / x, and 1 at 0; exp takes a half of x, and overflows where the quotient does."""
    size = np.where(x == 0, 1, np.abs(x))
    below = np.where(x == 0, 1, -np.expm1(-size) / size)
    half = np.exp(np.maximum(x, 0) / 2)
    return half * below * half
''',
    "exprel_slope": '''def exprel_slope(x):
    """The derivative of (exp(x) - 1) / x; near 0, where the difference would cancel, its series."""
    near = np.abs(x) < 1
    safe = np.where(near, 1, x)
    s = np.where(near, x, 0)
    series = s * 0
    for k in range(20, 0, -1):
        series = (series + 1 / (k + 2)) * s / k
    size = np.abs(safe)
    half = np.exp(np.maximum(safe, 0) / 2)
    far = half * (np.exp(np.minimum(safe, 0)) + np.expm1(-size) / size) / safe * half
    return np.where(near, 0.5 + series, far)
''',
    "bose": '''def bose(x):
    """x / (exp(x) - 1), and 1 at 0; exp takes no positive number, and does not overflow."""
    size = np.where(x == 0, 1, np.abs(x))
    below = np.where(x == 0, 1, -size / np.expm1(-size))
    return np.where(x > 0, np.exp(-size), 1) * below
''',
    "bose_slope": '''def bose_slope(x):
    """The derivative of x / (exp(x) - 1); near 0, where the difference would cancel, its series."""
    near = np.abs(x) < 0.5
    safe = np.where(near, 1, x)
    size = np.abs(safe)
    below = -size / np.expm1(-size)
    above = below * np.exp(-size)
    far = np.where(safe > 0, above, below) * (1 - np.where(safe > 0, below, above)) / safe
    s = np.where(near, x * x, 0)
    series = 0
    for n in (1 / 5337446400, -691 / 108972864000, 1 / 4790016, -1 / 151200, 1 / 5040, -1 / 180, 1 / 6):
        series = series * s + n
    return np.where(near, series * np.where(near, x, 0) - 0.5, far)
''',
    "inverse_expm1": '''def inverse_expm1(x):
    """1 / (exp(x) - 1); exp takes no positive number, and does not overflow."""
    size = -np.abs(x)
    return np.where(x > 0, np.exp(size), -1) / -np.expm1(size)
''',
    "log1mexp": '''def log1mexp(x):
    """log(1 - exp(x)) for x < 0: of what expm1 keeps near 0, and of what log1p keeps far from it."""
    return np.where(x > -1, np.log(-np.expm1(np.maximum(x, -1))), np.log1p(-np.exp(np.minimum(x, -1))))
''',
    "log1prel": '''def log1prel(x):
    """log(1 + x) / x, and 1 at 0."""
    safe = np.where(x == 0, 1, x)
    return np.where(x == 0, 1, np.log1p(safe) / safe)
''',
    "log1prel_slope": '''def log1prel_slope(x):
    """The derivative of log(1 + x) / x; near 0, where the difference would cancel, its series."""
    near = np.abs(x) < 0.1
    safe = np.where(near, 1, x)
    s = np.where(near, x, 0)
    series = 0
    for k in range(16, 0, -1):
        series = k / (k + 1) - series * s
    return np.where(near, -series, (1 / (1 + safe) - np.log1p(safe) / safe) / safe)
''',
    "softmax": '''def softmax(x, axis):
    """exp(x) over its sum along the axis, shifted by the largest element so that exp cannot overflow."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
''',
    "log_softmax": '''def log_softmax(x, axis):
    """The logarithm of the softmax, shifted by the largest element so that exp cannot overflow."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
''',
    "logsumexp": '''def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x))), shifted by the largest element so that exp cannot overflow."""
    largest = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.squeeze(total, axis=axis)
''',
    "logmeanexp": '''def logmeanexp(x, axis=None, keepdims=False):
    """log(mean(exp(x))), shifted by the largest element so that exp cannot overflow; near 0 it keeps its digits."""
    largest = np.max(x, axis=axis, keepdims=True)
    total = np.log1p(np.mean(np.expm1(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.squeeze(total, axis=axis)
''',
}

#: functions that numpy has, or computes element by element, and that some other library lacks
STAND_INS = {
    "erfc": '''def erfc(x):
    """1 - erf(x); in the tail, where the difference would cancel, its continued fraction."""
    far = np.maximum(x, 2)
    tail = far
    for k in range(60, 0, -1):
        tail = far + k / 2 / tail
    return np.where(x < 2, 1 - erf(x), np.exp(-far * far) / (math.sqrt(math.pi) * tail))
''',
    "hypot": '''def hypot(x, y):
    """sqrt(x * x + y * y) without overflow."""
    larger = np.maximum(np.abs(x), np.abs(y))
    ratio = np.minimum(np.abs(x), np.abs(y)) / np.where(larger > 0, larger, 1)
    return larger * np.sqrt(1 + ratio * ratio)
''',
    "logaddexp": '''def logaddexp(x, y):
    """log(exp(x) + exp(y)) without overflow."""
    return np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y)))
''',
    "rint": '''def rint(x):
    """The nearest whole number; the even one of two that are equally near."""
    return np.where(x - np.floor(x) == 0.5, 2 * np.round(x / 2), np.round(x))
''',
}
