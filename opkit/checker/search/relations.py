"""Relations: shapes of several inputs that forward takes although nothing says that they are meant.

Where neither infer nor cases tell what an op is for, numpy's broadcasting makes forward take almost anything. A
backward that raises there, or returns other shapes, cannot be silently wrong: whether such shapes are meant is its
author's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import Evaluator

__all__ = ["Doubt", "set_aside"]

#: Names of inputs that usually are broadcast over the first one: where backward fits none of that, it is a mistake.
_PARAMETERS = frozenset(
    ("b", "bias", "w", "weight", "weights", "gamma", "beta", "scale", "shift", "alpha", "slope", "offset")
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A case that was set aside.

    Args:
        case: forward takes it.
        code: of the check that it would fail.
        message: what backward does with it.
    """

    case: Case
    code: str
    message: str


def set_aside(
    checkable: Checkable, cases: Sequence[Case], large: Case | None = None
) -> tuple[list[Case], list[Doubt], Case | None]:
    """Return the cases to check, and those whose shapes stand in a relation that no backward fits.

    Args:
        checkable: an op without infer function whose cases were searched.
        cases: what the search found.
        large: its case with many elements; None is returned for one of such shapes.
    """
    if checkable.infer is not None or not checkable.has_gradient or len(checkable.inputs) < 2:
        return list(cases), [], large
    troubles = [_trouble(checkable, case) for case in cases]
    fitting = {_relation(case) for case, trouble in zip(cases, troubles) if not trouble and not _is_trivial(case)}
    has_other = any(part is not True for relation in fitting for part in relation)
    if not fitting or (_has_parameter(checkable) and not has_other):
        return list(cases), [], large
    labels = _labels(checkable, cases, troubles)
    kept: list[Case] = []
    doubts: list[Doubt] = []
    for case, trouble in zip(cases, troubles):
        if not all(_leads(case, index) for index in labels):
            continue
        if trouble and _relation(case) not in fitting:
            doubts.append(Doubt(case, *trouble))
        else:
            kept.append(case)
    is_odd = large is not None and not all(_leads(large, index) for index in labels)
    return kept, doubts, None if is_odd else large


def _labels(checkable: Checkable, cases: Sequence[Case], troubles: Sequence[object]) -> frozenset[int]:
    """Return the inputs that hold one whole number for each row (or other leading part) of the first input.

    Other shapes broadcast against each other, which indexing takes by accident, mostly where sizes are equal. An index
    of any shape (of rows to gather) is not one of them: there a shape like the first input's is taken as well.
    """
    bound = checkable.gradients
    constants = () if bound is None else [arg.name for arg in checkable.inputs if arg.name not in bound]
    for case, trouble in zip(cases, troubles):
        first = _shapes(case)[0]
        whole = [
            index
            for index, (name, item) in enumerate(case.inputs.items())
            if index and isinstance(item, np.ndarray) and (item.dtype.kind in "iu" or name in constants)
        ]
        if trouble or not whole or first is None or len(set(first) - {0, 1}) < max(len(first), 2):
            continue  # equal sizes say nothing
        return frozenset(
            index for index in whole if 0 < len(_shapes(case)[index] or ()) < len(first) and _leads(case, index)
        )
    return frozenset()


def _leads(case: Case, index: int) -> bool:
    """Say whether an input's shape is the beginning of the first one's, and not all of it."""
    shapes = _shapes(case)
    first, own = shapes[0], shapes[index]
    return first is None or own is None or (len(own) < len(first) and own == first[: len(own)])


def _has_parameter(checkable: Checkable) -> bool:
    first, *others = (arg.name.lower() for arg in checkable.inputs)
    return any(word in _PARAMETERS for name in others for word in name.split("_") if not (name == "b" and first == "a"))


def _trouble(checkable: Checkable, case: Case) -> tuple[str, str] | None:
    """Return code and words for what is wrong with backward's shapes, None where they fit."""
    evaluator = Evaluator(checkable, case)
    try:
        with np.errstate(all="ignore"):
            evaluator.prepare()
            found = evaluator.gradients([np.ones(item.shape, item.dtype) for item in evaluator.outputs])
    except Exception as error:  # user code
        return "GC181", f"backward raises {type(error).__name__}: {error}"
    for leaf, value in found.items():
        if isinstance(value, np.ndarray) and value.shape != evaluator.array(leaf).shape:
            return "GC142", f"the gradient of {leaf} has shape {value.shape}"
    return None


def _shapes(case: Case) -> list[tuple[int, ...] | None]:
    return [value.shape if isinstance(value, np.ndarray) else None for value in case.inputs.values()]


def _is_trivial(case: Case) -> bool:
    """Say whether shapes say nothing of relations: all their sizes are 1 or 0, or there are none."""
    return all(size < 2 for shape in _shapes(case) for size in shape or ())


def _relation(case: Case) -> tuple[object, ...]:
    """Name how the further inputs' shapes relate to the first one's, whatever axes that has besides."""
    shapes = _shapes(case)
    first = shapes[0]
    found: list[object] = []
    for shape in shapes[1:]:
        if first is None or shape is None or shape == first:
            found.append(shape is not None and shape == first)
            continue
        count = len(shape)
        found.append((count, shape == first[len(first) - count :], shape == first[:count], 1 in shape))
    return tuple(found)
