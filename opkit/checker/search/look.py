"""Look: a first glance at what forward and backward do on a case, before it is known whether it is meant.

Nothing here is a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import Evaluator
from opkit.checker.model.thresholds import FILLED, LOOK_SEED, LOOK_SHARE, LOOK_STEP, LOOK_WEIGHTS
from opkit.checker.search.extents import arrays_of, resized, shapes_of, sizes_of
from opkit.checker.search.scope import SearchScope
from opkit.errors import AutogradError


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with the shapes of backward's results on a case.

    Args:
        code: of the check that the case would fail.
        message: what backward does.
        is_silent: whether shapes fit, and values are wrong.
        is_own: whether backward raises by itself, in numpy or an op that it calls.
        is_refused: whether it is only that what it returns has another shape than the input. Not
            every runtime refuses such a gradient; some use a part of it.
    """

    code: str
    message: str
    is_silent: bool = False
    is_own: bool = False
    is_refused: bool = False


def trouble_of(checkable: Checkable, case: Case) -> Trouble | None:
    """Return what is wrong with the shapes of backward's results on a case, None where they fit."""
    evaluator = Evaluator(checkable, case)
    try:
        with np.errstate(all="ignore"):
            evaluator.prepare()
            found = evaluator.gradients([np.ones(item.shape, item.dtype) for item in evaluator.outputs])
    except Exception as error:  # user code
        code = "GC181" if all(sizes_of(case)) else "GC160"
        message = f"backward raises {type(error).__name__}: {error}"
        is_refused = isinstance(error, AutogradError)
        return Trouble(code, message, is_own=not is_refused, is_refused=is_refused)
    for leaf, value in found.items():
        if isinstance(value, (np.ndarray, np.generic)) and value.shape != evaluator.array(leaf).shape:
            return Trouble("GC142", f"the gradient of {leaf} has shape {value.shape}", is_refused=True)
    if evaluator.outputs and not any(map(np.size, evaluator.outputs)):
        for leaf, value in found.items():
            if value is not None and np.any(np.asarray(value)):
                message = f"the gradient of {leaf} is not 0, although no result has an element"
                # NaN is a mean of nothing: no number that anyone takes for a gradient.
                return Trouble("GC160", message, is_silent=bool(np.isfinite(value).all()))
    return None


def spreads(scope: SearchScope, case: Case) -> bool:
    """Say whether every result has the shape that all inputs broadcast to."""
    try:
        whole = np.broadcast_shapes(*(array.shape for array in arrays_of(case)))
    except ValueError:
        return False
    outcome = scope.trial.probe(case)
    return outcome.is_accepted and all(np.shape(item) == whole for item in outcome.outputs)


def is_pairwise(scope: SearchScope, case: Case) -> bool:
    """Say whether exchanging two arrays changes a sign of the results at most, as of a distance."""
    shapes = [array.shape for array in arrays_of(case)]
    if scope.roles is None or len(shapes) != len(scope.args) or len(shapes) != 2:
        return False
    alike = scope.case((max(shapes, key=len),) * 2, case.attrs, scope.roles, seed=case.seed)
    first, second = alike.inputs
    swapped = replace(alike, inputs={first: alike.inputs[second], second: alike.inputs[first]})
    pairs = list(zip(scope.trial.probe(alike).outputs, scope.trial.probe(swapped).outputs))
    return bool(pairs) and any(all(np.allclose(one, sign * other) for one, other in pairs) for sign in (1, -1))


def is_only_empty(scope: SearchScope, case: Case) -> bool:
    """Say whether forward takes an empty case only because it is empty: filled, its sizes do not go together."""
    if all(sizes_of(case)) or scope.roles is None:
        return False
    filled = (scope.case(resized(shapes_of(case), 0, size), case.attrs, scope.roles) for size in FILLED)
    return not any(scope.trial.probe(one).is_accepted for one in filled)


def stacks(scope: SearchScope, case: Case, fits: Callable[[Case], bool]) -> bool:
    """Say whether forward's results are those of the rows, and a row alone fits: all inputs then hold rows."""
    arrays = list(arrays_of(case))
    if len({array.shape[:1] for array in arrays}) != 1 or not arrays[0].ndim or len(arrays[0]) < 2:
        return False
    whole = scope.trial.probe(case)
    for place in range(2):
        row = replace(case, inputs={name: _row(value, place) for name, value in case.inputs.items()})
        alone = scope.trial.probe(row)
        if not (whole.is_accepted and alone.is_accepted and fits(row)):
            return False
        pairs = list(zip(whole.outputs, alone.outputs))
        if not all(np.ndim(big) and np.shape(big)[0] == len(arrays[0]) for big, _ in pairs):
            return False
        if not all(big[place].shape == np.shape(small) and np.allclose(big[place], small) for big, small in pairs):
            return False
    return True


def _row(value: Any, place: int) -> Any:
    if isinstance(value, list):
        return [_row(item, place) for item in value]
    return np.array(value[place]) if isinstance(value, np.ndarray) else value


def has_slope(scope: SearchScope, case: Case) -> bool:
    """Say whether the gradient agrees with a difference along one direction.

    Indices do not repeat, as far as there are enough: what becomes of repeated ones is for the checks to say.
    """
    try:
        slopes = _slopes(scope, case)
        return all(abs(slope - claimed) <= LOOK_SHARE * max(abs(slope), abs(claimed)) for slope, claimed in slopes)
    except Exception:  # user code
        return False


def ratios(scope: SearchScope, case: Case, number: int) -> list[float]:
    """Return what each input's gradient is of a difference along a direction; nothing where one of them has no slope.

    Args:
        scope: of the search.
        case: the point.
        number: of the direction.
    """
    try:
        slopes = list(_slopes(scope, case, number))
    except Exception:  # user code
        return []
    return [claimed / slope for slope, claimed in slopes] if all(slope for slope, _ in slopes) else []


def _slopes(scope: SearchScope, case: Case, number: int = 0) -> Iterator[tuple[float, float]]:
    """Yield, of each input, the difference along a direction and what its gradient makes of that direction."""
    ev = Evaluator(scope.checkable, replace(case, inputs={name: _apart(value) for name, value in case.inputs.items()}))
    rng = scope.rng(LOOK_SEED, number) if number else scope.rng(LOOK_SEED)
    with np.errstate(all="ignore"):
        ev.prepare()
        douts = ev.douts_from(rng.uniform(*LOOK_WEIGHTS, sum(ev.sizes)))
        weights = np.concatenate([douts[index].ravel() for index in ev.slots])
        for leaf, gradient in ev.gradients(douts).items():
            array = ev.array(leaf)
            step = LOOK_STEP * rng.uniform(*LOOK_WEIGHTS, array.shape)
            ends = [ev.value_at(ev.replaced(leaf, (array + sign * step).astype(array.dtype))) for sign in (1, -1)]
            yield float(weights @ (ends[0] - ends[1])), 2 * float(np.sum(np.asarray(gradient) * step))


def _apart(value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or not value.size:
        return value
    least, limit = int(value.min()), int(value.max()) + 1
    return (least + np.arange(value.size) % (limit - least)).reshape(value.shape).astype(value.dtype)
