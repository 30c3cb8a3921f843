"""The domain of a formula: the first of a few regions in which running forward and backward gives finite numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.formula.graph import Formula, MatMul
from opkit.formula.shapes import Less, Product, Root, Shapes, Swapped, Term
from opkit.ir import Shape
from opkit.record import record


@record
class Region:
    """Values that an input may have.

    Args:
        name: what the cases file says of it.
        low: the least value, None where every number is taken.
        high: the largest value.
        signs: whether the values may have the other sign, too.
        is_far: whether it goes on beyond what is drawn, in both directions.
        reach: what normal numbers are multiplied with, where every number is taken.
    """

    name: str
    low: float | None = None
    high: float | None = None
    signs: bool = False
    is_far: bool = False
    reach: int = 1

    def holds(self, point: float) -> bool:
        """Return whether a value is of the region, also where none is drawn: near its end, or far out."""
        if self.low is None or self.high is None or self.is_far:
            return True
        return math.floor(self.low) < point < (1 if self.high < 1 else math.inf)

    def text(self, shape: str) -> str:
        """Return the Python that draws an array of the region from ``rng``."""
        if self.low is None:
            return f"{self.reach} * " * (self.reach > 1) + f"rng.standard_normal({shape})"
        return f"rng.choice([-1, 1], {shape}) * " * self.signs + f"rng.uniform({self.low}, {self.high}, {shape})"

    def plain(self, rng: np.random.Generator, shape: Shape) -> ndarray[Any, Any]:
        """Return an array of ordinary values of the region."""
        if self.low is None or self.high is None:
            return self.reach * rng.standard_normal(shape)
        values = rng.uniform(self.low, self.high, shape)
        return values * rng.choice([-1, 1], shape) if self.signs else values

    def draw(self, rng: np.random.Generator, shape: Shape) -> ndarray[Any, Any]:
        """Return an array with the region's edge values among it, and whole numbers, where formulas have poles."""
        values = self.plain(rng, shape) * (3.0 if self.low is None else 1.0)
        low, high = (-30.0, 30.0) if self.low is None or self.high is None else (self.low, self.high)
        edges = [
            edge for edge in (0.0, high, low, *_POLES) if low <= edge <= high
        ]  # 0 first: of several inputs at once
        edges += [-edge for edge in edges] if self.signs else []
        flat = values.reshape(-1)
        flat[: len(edges)] = edges[: flat.size]
        return values


#: ``1 / (1 - x**2)``, ``log(x) / (x - 1)``: what the checker tries too, so that a domain has no hole there.
_POLES = (1.0, -1.0, 2.0, -2.0)
#: How many choices of regions are tried; with many inputs there are more than can be counted.
_MOST_PICKS = 1000
#: Draws of the values of a region: the sums of a few rows are positive by chance.
_DRAWS = 8
#: Forward may overflow there; where it does not, as ``tanh(exp(x))``, its gradient must be a number too.
_FAR = 800.0

REGIONS = (
    Region("any number"),
    Region("positive", 0.1, 4.0),
    Region("between -1 and 1", -0.9, 0.9),
    Region("between 0 and 1", 0.05, 0.95),
    Region("above 1", 1.1, 5.0),
)
#: What is tried in place of positive numbers, where large numbers or 0 alone are at fault.
_WIDER = (
    Region("between -4 and 4", -4.0, 4.0, is_far=True),
    Region("other than 0", 0.1, 4.0, signs=True, is_far=True),
)


def are_taken(
    formula: Formula,
    sizes: Mapping[str, Shape],
    forward: Any,
    backward: Any | None,
    reads: Sequence[str],
    attrs: Mapping[str, object],
    regions: Mapping[str, Region],
) -> bool:
    """Return whether running forward and backward gives finite numbers in regions.

    Args:
        formula: the forward formula.
        sizes: {input: shape}.
        forward: the forward kernel, ``forward(args, attrs)``.
        backward: the backward kernel, None where there is none.
        reads: the backward op's inputs.
        attrs: the attributes' values.
        regions: {input: its region}.
    """

    def is_taken(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        values = {name: region.draw(rng, sizes[name]) for name, region in regions.items()}
        far = {name: _far(region, values[name]) for name, region in regions.items()}
        has_gap = _is_finite(formula, far, attrs, forward, None, reads) and not _is_finite(
            formula, far, attrs, forward, backward, reads
        )
        return not has_gap and _is_finite(formula, values, attrs, forward, backward, reads)

    return all(map(is_taken, range(_DRAWS)))


def find_domain(inputs: Sequence[str], is_taken: Callable[[Mapping[str, Region]], bool]) -> dict[str, Region]:
    """Return the region of each input.

    Args:
        inputs: their names.
        is_taken: whether forward and backward give finite numbers in regions.

    Raises:
        UsageError: none of the regions gives finite results.
    """
    for pick in itertools.islice(_picks(len(inputs)), _MOST_PICKS):
        regions = {name: REGIONS[index] for name, index in zip(inputs, pick, strict=True)}
        if is_taken(regions):
            for name in (name for name, region in regions.items() if region.name == "positive"):
                choices = ({**regions, name: wider} for wider in _WIDER)
                regions = next(filter(is_taken, choices), regions)
            return regions
    raise UsageError(
        "the formula or its derivative is not finite in any region of inputs that was tried: "
        + ", ".join(region.name for region in REGIONS),
        help="check the formula at a few points, and the defaults of its attributes",
    )


def _picks(count: int) -> Iterator[list[int]]:
    """The regions' numbers for so many inputs, those of the least sum first, and in order within a sum."""
    last = len(REGIONS) - 1

    def least(places: int, total: int) -> list[int]:
        full, rest = divmod(total, last)
        return ([0] * places + [rest] + [last] * full)[-places:] if places else []

    for total in range(count * last + 1):
        pick = least(count, total)
        while True:
            yield pick
            after = 0
            for place in reversed(range(count)):
                if after and pick[place] < last:
                    pick = [*pick[:place], pick[place] + 1, *least(count - place - 1, after - 1)]
                    break
                after += pick[place]
            else:
                break


def _far(region: Region, values: ndarray[Any, Any]) -> ndarray[Any, Any]:
    """Return the values, with two among them at which ``exp`` overflows where numbers of any size are taken."""
    if region.low is not None and not region.signs:
        return values
    far: ndarray[Any, Any] = values.copy()
    far.reshape(-1)[:2] = [_FAR, -_FAR][: far.size]
    return far


def _is_finite(
    formula: Formula,
    values: dict[str, Any],
    attrs: Mapping[str, object],
    forward: Any,
    backward: Any,
    reads: Sequence[str],
) -> bool:
    try:
        with np.errstate(all="ignore"):
            results = _tuple(forward(tuple(values[name] for name in formula.inputs), attrs))
            if backward is None or not _are_finite(results):
                return _are_finite(results)
            ones = {f"d{name}": np.ones_like(result) for name, result in zip(formula.outputs, results, strict=True)}
            return _are_finite(_tuple(backward(tuple((values | ones)[name] for name in reads), attrs)))
    except np.exceptions.AxisError as error:
        raise UsageError(f"an axis of the formula is not there: {error}") from error
    except (ValueError, ArithmeticError):  # functions of math raise where numpy gives NaN
        return False
    except TypeError as error:  # a product of what was summed up to one number
        raise UsageError(f"the parts of the formula do not fit together: {error}") from error


def _are_finite(results: Sequence[Any]) -> bool:
    return all(bool(np.all(np.isfinite(result))) for result in results)


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def concrete_shapes(
    formula: Formula, shapes: Shapes, rows: int = 3, columns: int = 4, inner: int = 5
) -> dict[str, tuple[int, ...]]:
    """Return one shape for each input: (rows, columns), and for matrices what their products ask for."""
    sides = _Sides()
    for operation in formula.steps.values():
        if isinstance(operation, MatMul):
            sides.join((shapes.of(operation.left), -1), (shapes.of(operation.right), -2))
    free = [name for name in formula.inputs if shapes.resolve(Root(name)) == Root(name)]
    sizes: dict[object, int] = {}
    found: dict[Term, tuple[int, ...]] = {}
    order = [rows, columns, inner, rows + 3, columns + 3]
    for name in free:
        keys = [sides.find((Root(name), -2)), sides.find((Root(name), -1))]
        for key in keys:
            sizes.setdefault(key, order[len(sizes) % len(order)])
        found[Root(name)] = (sizes[keys[0]], sizes[keys[1]])
    if len(free) > 1 and not sides.parents:
        found = {Root(name): (rows, columns) for name in free}
    return {name: _sizes(shapes.resolve(Root(name)), found) for name in formula.inputs}


class _Sides:
    """Which sides of which matrices have one length."""

    def __init__(self) -> None:
        self.parents: dict[object, object] = {}

    def find(self, side: tuple[Term, int]) -> object:
        term, axis = side
        while not isinstance(term, Root):
            if isinstance(term, Swapped):
                term, axis = term.of, -3 - axis
            elif isinstance(term, Product):
                term = term.left if axis == -2 else term.right
            elif isinstance(term, Less):
                term = term.of
            else:
                break
        key: object = (term, axis)
        while key in self.parents:
            key = self.parents[key]
        return key

    def join(self, a: tuple[Term, int], b: tuple[Term, int]) -> None:
        first, second = self.find(a), self.find(b)
        if first != second:
            self.parents[second] = first


def _sizes(term: Term, found: dict[Term, tuple[int, ...]]) -> Shape:
    match term:
        case Less(of, axes, keepdims):
            sizes = _sizes(of, found)
            gone = {axis % len(sizes) for axis in axes} if isinstance(axes, tuple) else set(range(len(sizes)))
            if isinstance(axes, str):
                gone = {len(sizes) - 1}
            if keepdims:
                return tuple(1 if axis in gone else size for axis, size in enumerate(sizes))
            return tuple(size for axis, size in enumerate(sizes) if axis not in gone) or (1,)
        case Swapped(of):
            sizes = _sizes(of, found)
            return (*sizes[:-2], sizes[-1], sizes[-2])
        case Product(left, right):
            return (*_sizes(left, found)[:-1], _sizes(right, found)[-1])
    return found.get(term, (1,))
