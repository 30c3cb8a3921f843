"""Subject: an op whose claims are proved, and one case of it run whole, with what its results may be off by.

Nothing is cut here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import describe_inputs
from opkit.checker.model.claim import Claims
from opkit.checker.model.evaluate import is_float, leaves_of, mapped, snapshot
from opkit.checker.model.numbers import largest, resolution_of
from opkit.checker.model.thresholds import (
    GRID_ULPS,
    PROOF_NOISE,
    PROOF_NOISE_CAP,
    RESOLUTION,
    SINGLE_RESOLUTION,
    SUM_ULPS,
)
from opkit.checker.model.types import Results
from opkit.record import record
from opkit.sharding import Arg


@record
class Subject:
    """An op type whose claims are proved.

    Args:
        op: the op type.
        run: the kernel on named inputs; one array per result.
        claims: what the definition says.
        outputs: the result that each array is.
    """

    op: str
    run: Callable[[Mapping[str, Any], Mapping[str, Any]], Sequence[ndarray]]
    claims: Claims
    outputs: Callable[[int], Sequence[Arg]]


@record
class Whole:
    """A case run on one device.

    Args:
        case: the case.
        inputs: each array by its argument.
        outputs: each result by its argument.
        bounds: by how much each result may be off: rounding of sums in another order, and what a change of the inputs
            in their last digits does.
        resolution: relative, of the arithmetic.
    """

    case: Case
    inputs: Mapping[Arg, ndarray]
    outputs: Mapping[Arg, ndarray]
    bounds: Mapping[Arg, float]
    resolution: float

    @property
    def descs(self) -> dict[str, Any]:
        """Descriptions of the inputs, as definitions want them."""
        return describe_inputs(self.case.inputs)


def args_of(inputs: Mapping[str, Any]) -> dict[Arg, ndarray]:
    """Return each array among named inputs by its argument and index."""
    return {(leaf.name, leaf.index or 0): array for leaf, array in leaves_of(inputs)}


def run_whole(subject: Subject, case: Case, *, is_bare: bool = False) -> Whole | None:
    """Run a case on one device; None where it has no results, they are not finite, or it raises.

    Args:
        subject: the op.
        case: the case.
        is_bare: run the kernel once and leave out by how much its results may be off.
    """
    case = replace(case, inputs=mapped(case.inputs, np.array))  # arithmetic on 0-d arrays makes numbers of them
    try:
        outputs = snapshot(subject.run(mapped(case.inputs, np.array), case.attrs))
        if not outputs or not all(np.isfinite(item).all() for item in outputs if item.dtype.kind in "fc"):
            return None
        inputs = args_of(case.inputs)
        rel = resolution(list(inputs.values()), outputs)
        noise = [0.0] * len(outputs) if is_bare else _noise(subject, case, outputs)
        args = subject.outputs(len(outputs))
        bounds = {arg: bound_of(item, moved, rel) for arg, item, moved in zip(args, outputs, noise)}
        return Whole(case, inputs, dict(zip(args, outputs)), bounds, rel)
    except Exception:  # user code: whatever it raises, it is not a case to cut
        return None


def resolution(inputs: Sequence[ndarray], outputs: Results) -> float:
    """Return the relative resolution of the arithmetic between arrays.

    That of the coarsest float dtype; float32's too where float64 results are numbers of float32 and the inputs are not.
    """
    floats = [array for array in (*inputs, *outputs) if is_float(array)]
    found = max((resolution_of(array) for array in floats), default=RESOLUTION)
    is_narrow = any(_is_narrow(array) for array in outputs) and not any(_is_narrow(array) for array in inputs)
    return max(found, SINGLE_RESOLUTION) if is_narrow else found


def _is_narrow(array: ndarray) -> bool:
    """Return whether an array of float64 holds fractions, and only such as float32 has too."""
    if array.dtype != np.float64:
        return False
    with np.errstate(all="ignore"):
        return bool(np.array_equal(array, array.astype(np.float32)) and (array != np.rint(array)).any())


def bound_of(output: ndarray, moved: float, rel: float) -> float:
    """Return by how much a result may be off on devices."""
    if output.dtype.kind not in "fc":
        return 0.0
    scale = largest(output)
    return SUM_ULPS * rel * scale + min(PROOF_NOISE * moved, PROOF_NOISE_CAP * math.sqrt(rel) * scale)


def _noise(subject: Subject, case: Case, outputs: Results) -> list[float]:
    """Return how far each result moves when the inputs move in their last digits."""
    try:
        again = subject.run(nudge(case.inputs, np.random.default_rng(case.seed)), case.attrs)
        return [
            largest(one - other) if one.dtype.kind in "fc" and one.shape == other.shape else 0.0
            for one, other in zip(outputs, again, strict=True)
        ]
    except Exception:  # user code at the edge of its domain
        return [0.0] * len(outputs)


def nudge(inputs: Mapping[str, Any], rng: Generator) -> dict[str, Any]:
    """Return inputs whose floats differ in their last digits."""

    def moved(value: Any) -> Any:
        if not is_float(value):
            return value
        eps = GRID_ULPS * resolution_of(value)
        return np.asarray(value * (1.0 + eps * rng.choice([-1.0, 1.0], value.shape))).astype(value.dtype)

    return mapped(inputs, moved)
