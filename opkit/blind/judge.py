"""Judge: what an ordinary process answered against what was seen elsewhere, and against its own differences.

Numbers only: no user code is called, and numpy's functions are those from before any was loaded.
"""

from __future__ import annotations

from builtins import abs, all, bool, float, len, max, sum, zip  # noqa: A004, UP029  # user code may replace
from collections.abc import Iterator, Sequence
from math import isfinite, sqrt

from numpy import abs as magnitude
from numpy import argmax, asarray, errstate, finfo, float64, isnan, ndarray, ravel, zeros_like
from numpy import isfinite as are_finite

from opkit.blind.call import Step, Taken
from opkit.record import record

#: Ulps of the largest number of a step by which numbers may differ that come of cancellation.
_CANCELLED = 64.0
#: Error bounds by which a slope must miss a difference, and the part of a slope that a bound may be to say anything.
_MISSES, _TELLING = 4.0, 0.25


@record
class Ray:
    """Five steps whose arrays lie on a line.

    Args:
        steps: their numbers, at -2, -1, 0, 1 and 2 times ``step``.
        step: the distance.
        direction: for each leaf that takes a gradient.
    """

    steps: tuple[int, int, int, int, int]
    step: float
    direction: Sequence[ndarray]


@record
class Difference:
    """Where two answers to the same differ most.

    Args:
        step: its number.
        is_gradient: whether it is a gradient, else a result.
        index: which of them.
        expected: the entry of the first answer, None where the shapes differ.
        actual: that of the second.
    """

    step: int
    is_gradient: bool
    index: int
    expected: float | None
    actual: float | None


def difference(steps: Sequence[Step], one: Sequence[Taken], other: Sequence[Taken]) -> Difference | None:
    """Return the first difference of two series of answers, beyond half of their dtypes' digits; None for none."""
    for number, (step, first, second) in enumerate(zip(steps, one, other)):
        largest = _largest([*step.arrays, *step.douts, *first.outputs])
        pairs = [(False, first.outputs, second.outputs), (True, first.gradients, second.gradients)]
        for is_gradient, ours, theirs in pairs:
            if is_gradient and not theirs:
                continue
            if len(ours) != len(theirs):
                return Difference(number, is_gradient, 0, None, None)
            for index, (mine, its) in enumerate(zip(ours, theirs)):
                found = _apart(mine, its, largest)
                if found is not None:
                    return Difference(number, is_gradient, index, *found)
    return None


def _largest(arrays: Sequence[ndarray]) -> float:
    with errstate(all="ignore"):
        sizes = [magnitude(item.astype(float64)) for item in arrays if item.dtype.kind in "fiu" and item.size]
    return max([float(item.max(initial=0.0, where=are_finite(item))) for item in sizes], default=0.0)


def _apart(one: ndarray | None, other: ndarray | None, largest: float) -> tuple[float | None, float | None] | None:
    """Return the entries that differ most, None where all agree; no gradient counts as zeros."""
    if one is None or other is None:
        known = other if one is None else one
        if known is None:
            return None
        one, other = (zeros_like(known), known) if one is None else (known, zeros_like(known))
    one, other = asarray(one), asarray(other)
    if one.shape != other.shape:
        return None, None
    if one.dtype.kind not in "fc" or other.dtype.kind not in "fc":
        wrong = ravel(one != other)
        apart = wrong.astype(float64)
    else:
        eps = max(float(finfo(item.dtype).eps) for item in (one, other))
        with errstate(all="ignore"):
            apart = magnitude(ravel(one) - ravel(other))
            size = max(_largest_of(one), _largest_of(other))
            same = (ravel(one) == ravel(other)) | (isnan(ravel(one)) & isnan(ravel(other)))
            wrong = ~(same | (apart <= sqrt(eps) * size + _CANCELLED * eps * largest))
            apart[same] = 0.0
            apart[isnan(apart)] = float("inf")
    if not wrong.any():
        return None
    place = int(argmax(apart * wrong if apart.max() < float("inf") else wrong * ~are_finite(apart)))
    return ravel(one)[place].item(), ravel(other)[place].item()


def _largest_of(array: ndarray) -> float:
    sizes = magnitude(array)
    return float(sizes.max(initial=0.0, where=are_finite(sizes)))


def contradicts(rays: Sequence[Ray], steps: Sequence[Step], taken: Sequence[Taken]) -> tuple[float, float] | None:
    """Return (difference, slope) where no ray says that gradients are derivatives, and two or more that they are not.

    An op may be right along some directions only (within unit length, within symmetric matrices), so that one direction
    in which it is right is enough. Along a ray a kink, or too few digits, leave nothing to say.
    """
    found = [item for ray in rays for item in _missed(ray, steps, taken)]
    wrong = [item for item, is_wrong in found if is_wrong]
    return wrong[0] if len(wrong) >= 2 and len(wrong) == len(found) else None


def _missed(ray: Ray, steps: Sequence[Step], taken: Sequence[Taken]) -> Iterator[tuple[tuple[float, float], bool]]:
    """Yield what a ray says, if anything: a difference and the slope in its place, and whether the slope is wrong."""
    weights = steps[ray.steps[2]].douts
    values, size = [], 0.0
    for number in ray.steps:
        terms = [
            asarray(weight, float64) * asarray(item, float64)
            for weight, item in zip(weights, taken[number].outputs)
            if item.dtype.kind == "f" and item.shape == weight.shape
        ]
        values.append(sum(float(item.sum()) for item in terms))
        size = max(size, sum(float(magnitude(item).sum()) for item in terms))
    parts = [
        float((asarray(gradient, float64) * asarray(way, float64)).sum())
        for gradient, way in zip(taken[ray.steps[2]].gradients, ray.direction)
        if gradient is not None and gradient.shape == way.shape
    ]
    slope, h = sum(parts), ray.step
    low, below, middle, above, high = values
    near, far = (above - below) / (2 * h), (high - low) / (4 * h)
    best = (4 * near - far) / 3
    eps = max(float(finfo(item.dtype).eps) for item in taken[ray.steps[2]].outputs if item.dtype.kind == "f")
    bend = abs(above - 2 * middle + below) / h  # which is as large as the derivative itself at a kink
    bound = abs(best - near) + abs(near - far) + bend + 8 * eps * size / h
    if not all(map(isfinite, (best, slope, bound))):
        return
    largest = max(abs(best), abs(slope))
    if abs(best - slope) > _MISSES * bound + sqrt(eps) * largest:
        yield (best, slope), True
    elif _MISSES * bound < _TELLING * largest:
        yield (best, slope), False
