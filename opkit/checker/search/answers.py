"""Answers: what backward does on a case, and how its gradients stand beside differences along a direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

import numpy as np

from opkit.checker.derivative.directions import probe_leaf
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import Evaluator, InputLeaf, is_float, leaves_of
from opkit.checker.model.numbers import largest
from opkit.checker.model.raised import words_of
from opkit.checker.model.thresholds import NEGLIGIBLE, SEED, SMALL_ARRAY
from opkit.checker.search.kinds import shapes_of
from opkit.checker.search.shapes import Assignment
from opkit.errors import AutogradError, CountError
from opkit.record import mutable, record


class Standing(Enum):
    """How backward stands on a kind."""

    RIGHT = "its gradients, not all of them 0, agree with differences along a direction"
    WRONG = "its gradients have their inputs' shapes and are wrong"
    BEYOND = "its gradients are wrong only for what whole numbers do not reach, or forward does not read beside them"
    OPEN = "its gradients have their inputs' shapes; no difference decides"
    MISFIT = "a gradient has another shape than its input"
    RAISED = "backward raises"

    @property
    def is_answered(self) -> bool:
        """Whether backward gives gradients of its inputs' shapes."""
        return self not in (Standing.MISFIT, Standing.RAISED)


@record
class Answer:
    """What backward did on a case: how it stands, and what is to be said of it.

    Args:
        case: with its inputs.
        standing: of the gradients.
        said: what is to be said of it.
        wrong: the first input whose gradient is wrong, "" for none.
        flat: the inputs whose gradients are nothing beside others: such a case says nothing of them.
    """

    case: Case
    standing: Standing
    said: str = ""
    wrong: str = ""
    flat: frozenset[str] = frozenset()


@mutable
class Seen:
    """What was seen of a kind of shapes, with a setting of the options.

    Args:
        case: the first one.
        standings: of backward, on this and others.
        flat: the inputs whose gradients were nothing in all that was right.
        is_sure: whether several cases were looked at.
    """

    case: Case
    standings: set[Standing] = field(default_factory=set)
    flat: frozenset[str] = frozenset()
    is_sure: bool = False

    def add(self, answer: Answer) -> None:
        """Take up an answer."""
        if answer.standing is Standing.RIGHT:
            self.flat = self.flat & answer.flat if Standing.RIGHT in self.standings else answer.flat
        self.standings.add(answer.standing)

    @property
    def is_right(self) -> bool:
        """Whether backward was right on one case, and wrong on none."""
        return Standing.RIGHT in self.standings and Standing.WRONG not in self.standings

    @property
    def is_answered(self) -> bool:
        """Whether backward answered a case."""
        return any(standing.is_answered for standing in self.standings)

    @property
    def shapes(self) -> Assignment:
        """The shapes of the first case."""
        return shapes_of(self.case)


def answer_of(checkable: Checkable, case: Case, compares: bool = True, is_slow: bool = False) -> Answer:
    """Call forward and backward on a case.

    Args:
        checkable: the op.
        case: forward takes it.
        compares: whether gradients are compared along one direction of each input.
        is_slow: whether calls take long.
    """
    ev = Evaluator(checkable, case)
    rng = np.random.default_rng(SEED)
    with np.errstate(all="ignore"):
        try:
            ev.prepare()
            if not ev.slots:
                return Answer(case, Standing.RAISED, "forward gives nothing that has a gradient")
            found = ev.gradients(ev.uneven())
        except AutogradError as error:  # of the runtime, about what backward returned; every framework refuses a count
            standing = Standing.RAISED if isinstance(error, CountError) else Standing.MISFIT
            return Answer(case, standing, f"backward's gradients do not fit: {_shortened(error.message)}")
        except Exception as error:  # user code
            return Answer(case, Standing.RAISED, f"backward raises {_shortened(words_of(error))}")
        for leaf, value in found.items():
            if isinstance(value, (np.ndarray, np.generic)) and value.shape != ev.array(leaf).shape:
                said = f"backward gives {leaf} a gradient of shape {list(value.shape)}"
                return Answer(case, Standing.MISFIT, said)
        if ev.leaves and all(value is None for value in found.values()):
            return Answer(case, Standing.RAISED, "backward gives no input a gradient")
        try:
            is_compared = compares and not checkable.format
            return _compared(ev, rng, found, is_slow) if is_compared else Answer(case, Standing.OPEN)
        except Exception:  # user code that raises beside the case; the checks report it
            return Answer(case, Standing.OPEN)


def _compared(
    ev: Evaluator, rng: np.random.Generator, given: Mapping[InputLeaf, np.ndarray | None], is_slow: bool
) -> Answer:
    """Return how gradients stand beside differences along a direction of each input; that all are 0 tells nothing."""
    standing, beyond, slopes = Standing.RIGHT, InputLeaf(""), dict[str, float]()
    for leaf in ev.leaves:
        if not ev.array(leaf).size or not ev.entries:
            standing = Standing.OPEN
            continue
        probe = probe_leaf(ev, leaf, rng, is_slow=is_slow, gradient=given[leaf])
        slopes[leaf.name] = max(abs(probe.actual), slopes.get(leaf.name, 0.0))
        if probe.is_wrong:
            parts = (part(ev, leaf) for part in (_reached, _read) if has_labels(ev.case))
            some = (part for part in parts if part.any() and not part.all())
            if all(probe_leaf(ev, leaf, rng, part, is_slow=is_slow, gradient=given[leaf]).is_wrong for part in some):
                wrong = f"backward gives {probe.actual:.12g} along a direction of {leaf}"
                return Answer(ev.case, Standing.WRONG, f"{wrong}, measured is {probe.expected:.12g}", leaf.name)
            beyond = leaf
        elif not np.isfinite(probe.bound):
            standing = Standing.OPEN
    flat = frozenset(name for name, slope in slopes.items() if slope <= NEGLIGIBLE * max(slopes.values()))
    if beyond.name:
        held = [str(name) for name, array in leaves_of(ev.inputs) if not is_float(array)]
        said = f"backward is wrong only for elements of {beyond} that are not reached, or not read,"
        return Answer(ev.case, Standing.BEYOND, f"{said} with these values of {' and '.join(held)}", beyond.name, flat)
    return Answer(ev.case, standing if any(slopes.values()) else Standing.OPEN, flat=flat)


def has_labels(case: Case) -> bool:
    """Return whether some inputs hold whole numbers."""
    return len(case.floats) < len(case.arrays)


def _reached(ev: Evaluator, leaf: InputLeaf) -> np.ndarray:
    """Return which elements of an input lie where an array of whole numbers has one: of rows, those with a label."""
    is_reached = np.zeros(ev.array(leaf).shape, dtype=bool)
    for _, array in leaves_of(ev.inputs):
        if array.dtype.kind in "iu" and array.ndim:
            is_reached[tuple(map(slice, array.shape[: is_reached.ndim]))] = True
    return is_reached


def _read(ev: Evaluator, leaf: InputLeaf) -> np.ndarray:
    """Return which elements of an input change what forward gives, at either sign; all of a large one."""
    array = ev.array(leaf)
    is_read = np.ones(array.shape, dtype=bool)
    value, far = ev.value_at(ev.inputs), 1 + 2 * largest(array)
    for place in np.ndindex(array.shape) if array.size <= SMALL_ARRAY else ():
        moved = [array.copy(), array.copy()]
        moved[0][place], moved[1][place] = far, -far
        is_read[place] = any(not np.array_equal(ev.value_at(ev.replaced(leaf, one)), value) for one in moved)
    return is_read


def _shortened(text: str) -> str:
    """Return the first sentence of a message of several lines."""
    first, *others = text.strip().split("\n")
    return f"{first.partition('. ')[0]} ..." if others else first
