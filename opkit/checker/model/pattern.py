"""Pattern: a guess at what a wrong Jacobian is, by comparing it with the numeric one.

A guess helps a reader; no verdict depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from math import comb, prod
from types import MappingProxyType

import numpy as np
from numpy import ndarray

from opkit.checker.model.numbers import largest
from opkit.checker.model.thresholds import BY_CHANCE, HALF_ROUNDING, NEGLIGIBLE, SINGLE_ROUNDING, SLIGHT
from opkit.ir import Shape

_NONE: Mapping[str, ndarray] = MappingProxyType({})
#: What a gradient is that passes through a step.
FLAT = "nonzero where the derivative is 0"
#: What a gradient is that is none.
ZERO = "always zero"
#: What is said of a gradient that is right for some of the results that an element goes into, and 0 for others.
INCOMPLETE = "a part of what adds up is missing"
#: What is said before a bound on values that parts wrong elements from right ones.
EXACTLY = "exactly where"
#: What is said of an error that one rounding explains, before the format.
ROUNDED = "as much as a rounding to"
#: What is said where a rounding in forward explains an error, before the format.
FORWARD_ROUNDED = "the derivative of forward is backward's rounded to"
#: What is said where a factor is seen once a gradient is brought to that of symmetric matrices: on the diagonal it is
#: that of each element.
ALONG = "along symmetric changes of"


def guess_pattern(
    claimed: ndarray, numeric: ndarray, values: ndarray, name: str, others: Mapping[str, ndarray] = _NONE
) -> str:
    """Name the simplest change that turns the numeric Jacobian into the claimed one, "" where none is known.

    Args:
        claimed: (J, n) what backward gives.
        numeric: (J, n) numeric derivatives.
        values: of the input (n elements).
        name: of the input.
        others: numeric derivatives with respect to other inputs, by their names.
    """
    finite = np.isfinite(claimed) & np.isfinite(numeric)
    if not finite.any():
        return "not finite"
    claimed, numeric = np.where(finite, claimed, 0.0), np.where(finite, numeric, 0.0)
    size, missed = largest(numeric), largest(claimed - numeric)
    if not missed:
        return "right where it is finite"
    if not size:
        return FLAT if largest(claimed) else ""
    if largest(claimed) <= SINGLE_ROUNDING * size:  # what is left of it is rounding
        return ZERO
    close = _Close(size)
    factor = float((claimed * numeric).sum() / (numeric * numeric).sum())
    if close(claimed, -numeric):
        return "of the wrong sign"
    if close(claimed, factor * numeric) and largest(claimed - factor * numeric) <= missed / 2:
        return f"wrong by a factor of {factor:.9g}"
    for leaf, wanted in others.items():
        if wanted.shape == claimed.shape and close(claimed, wanted):
            return f"like the gradient of {leaf}"
    if missed <= NEGLIGIBLE * size:
        return _rounded(claimed, numeric) or f"like an approximation: {_off(missed / size)}"
    for text, other in _structured(numeric, values.shape):
        if claimed.shape == other.shape and close(claimed, other):
            return text
    return (
        _partial(claimed, numeric, values, name, close)
        or _along(claimed, numeric, values.shape, name, close)
        or _rounded(claimed, numeric)
    )


def _rounded(claimed: ndarray, numeric: ndarray) -> str:
    """Say what format explains an error by a rounding, and whose, "" where none does.

    Of the few digits of float16 an error may be for many reasons: there the numbers themselves have to be rounded.
    """
    off = np.abs(claimed - numeric)
    missed = largest(off)
    mine, right = (array[off > SLIGHT * missed] for array in (claimed, numeric))
    for format, most in (("float32", SINGLE_ROUNDING), ("float16", HALF_ROUNDING)):
        if not most / 32 * largest(right) < missed <= most * largest(right):
            continue
        rounded = mine.astype(format).astype(mine.dtype)
        if largest(rounded - right) <= SLIGHT * missed:
            return f"{FORWARD_ROUNDED} {format}: forward may hold a constant in it"
        if format == "float32" or (rounded == mine).all():
            return f"like an approximation: {_off(missed / largest(numeric))}, {ROUNDED} {format} on the way"
    return ""


def _off(share: float) -> str:
    return f"off by {share:.1g} of the largest derivative"


class _Close:
    """Equality to a thousandth of what matters."""

    def __init__(self, size: float) -> None:
        self.size = size

    def __call__(self, one: ndarray, other: ndarray) -> bool:
        return largest(one - other) <= NEGLIGIBLE * self.size


def _structured(numeric: ndarray, shape: Shape) -> Iterator[tuple[str, ndarray]]:
    """Yield what a Jacobian is where its elements, or those of dy, are taken in another order."""
    yield "transposed", numeric.T
    if len(shape) >= 2:
        yield "the gradient is transposed over the last two axes", _turned(numeric, shape)
    for step in (1, -1):
        yield f"shifted by {step} element", np.roll(numeric, step, axis=1)
        yield f"takes dy shifted by {step} element", np.roll(numeric, step, axis=0)


def _turned(matrix: ndarray, shape: Shape) -> ndarray:
    """Return a Jacobian with the last two axes of the input swapped."""
    turned: ndarray = matrix.reshape(-1, *shape).swapaxes(-1, -2).reshape(matrix.shape)
    return turned


def _along(claimed: ndarray, numeric: ndarray, shape: Shape, name: str, close: _Close) -> str:
    """Return the factor that a gradient of square matrices is wrong by if only symmetric ones count, "" for none.

    Forward may read a triangle of a matrix and backward give both, or the other one.
    """
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return ""
    mine, right = (matrix + _turned(matrix, shape) for matrix in (claimed, numeric))
    factor = float((mine * right).sum() / ((right**2).sum() or 1.0))
    is_wrong = factor and close(mine, factor * right) and not close(mine, right)
    return f"wrong by a factor of {factor:.9g} {ALONG} {name}" if is_wrong else ""


def _partial(claimed: ndarray, numeric: ndarray, values: ndarray, name: str, close: _Close) -> str:
    """Say at which elements it is wrong, and how."""
    off = np.abs(claimed - numeric)
    wrong = off > min(NEGLIGIBLE * close.size, SLIGHT * largest(off))
    columns = np.flatnonzero(wrong.any(axis=0))
    if not columns.size:
        return ""
    is_part = columns.size < claimed.shape[1]
    where = _where(columns, values.shape, name)
    if is_part:
        places = wrong.any(axis=0)
        bound = "" if len(columns) > 1 and where.endswith("only") else _condition(values.reshape(-1), places, name)
        where = _of_a_matrix(places, values.shape, name) or bound or where
    mine, right = claimed[:, columns], numeric[:, columns]
    if not largest(mine):
        return f"zero {where}"
    if close(mine, -right):
        return f"of the wrong sign {where}"
    ratio = float((mine * right).sum() / ((right**2).sum() or 1.0))
    if ratio and close(mine, ratio * right):
        return f"wrong by a factor of {ratio:.9g} {where}"
    shares = claimed[wrong] * np.sign(numeric[wrong])  # of what adds up some is there, for some results nothing
    is_less = (shares >= 0).all() and (shares < np.abs(numeric[wrong])).all() and not shares.all()
    if is_less and mine.any(axis=0).all():
        return f"incomplete {where}: {INCOMPLETE}"
    if is_part:
        return f"wrong {where}"
    rows = np.count_nonzero(wrong.any(axis=1))
    if rows < claimed.shape[0]:
        return f"wrong at {rows} of the {claimed.shape[0]} elements of the result"
    if claimed.shape[1] > 1 and close(claimed, claimed.mean(axis=1, keepdims=True)):
        return "the same for every element of the input: one sum too many"
    return ""


def _where(columns: ndarray, shape: Shape, name: str) -> str:
    size = int(np.prod(shape))
    if len(columns) == size:
        return "everywhere"
    shared = [str(one[0]) for one in takewhile(lambda one: not np.ptp(one), np.unravel_index(columns, shape))]
    if shared and len(columns) * prod(shape[: len(shared)]) == size:  # an element, or all of a row
        return f"at {name}[{', '.join(shared)}] only"
    if columns[-1] == size - 1 and len(columns) == columns[-1] - columns[0] + 1:
        return f"in the last {len(columns)} of the {size} elements of {name}"
    return f"at {len(columns)} of the {size} elements of {name}"


def _of_a_matrix(wrong: ndarray, shape: Shape, name: str) -> str:
    """Return the part of square matrices that wrong elements are, "" for none."""
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 3:
        return ""
    whole = np.ones(shape, dtype=bool)
    below, above = np.tril(whole, -1), np.triu(whole, 1)
    parts = {"on": ~(below | above), "off": below | above, "below": below, "above": above}
    return next((f"{word} the diagonal of {name}" for word, part in parts.items() if (part.ravel() == wrong).all()), "")


def _condition(values: ndarray, wrong: ndarray, name: str) -> str:
    """Return the bound on an input's values that parts wrong elements from right ones, "" where chance may."""
    count = np.count_nonzero(wrong)
    chance = 4 / comb(wrong.size, count)  # above or below, of values or magnitudes
    for text, every in ((name, values), (f"|{name}|", np.abs(values))):
        inside, outside = every[wrong], every[~wrong]
        sign, low, high = "<", inside.max(), outside.min()
        if low >= high:
            sign, low, high = ">", outside.max(), inside.min()
        if low < high and values.dtype.kind == "f":
            bound = _between(float(low), float(high))
            if chance / (3 if bound == round(bound) else 1) < BY_CHANCE:
                return f"at {count} of the {wrong.size} elements of {name}, {EXACTLY} {text} {sign} {bound:g}"
    return ""


def _between(low: float, high: float) -> float:
    """Return the number of the fewest digits between two."""
    rounded = (float(f"{(low + high) / 2:.{digits}g}") for digits in range(1, 18))
    return 0.0 if low < 0 < high else next((one for one in rounded if low < one < high), high)
