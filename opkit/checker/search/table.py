"""Table: what backward answers on each kind of inputs that forward takes, where nothing declares which are meant.

A kind is answered where backward gives gradients of its inputs' shapes; what backward answers in silence, it answers
for. Looks and keeps; statuses are made in verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import TypeAlias

import numpy as np

from opkit.checker.derivative.directions import probe_leaf
from opkit.checker.model.case import Case, plain
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import Evaluator, leaves_of
from opkit.checker.model.thresholds import LOOK_SEED, LOOK_WEIGHTS, MOST_GENERALISED, OWN_SIZE
from opkit.checker.search.extents import shapes_of, sizes_of
from opkit.checker.search.kinds import Kind, generalised, is_special, kind_between, kind_of
from opkit.checker.search.scope import SearchScope
from opkit.errors import AutogradError

#: A kind of shapes with a setting of the options.
Key: TypeAlias = "tuple[Kind, str]"


class Standing(Enum):
    """How backward stands on a kind."""

    RIGHT = "its gradients agree with differences along a direction"
    WRONG = "its gradients have their inputs' shapes and are wrong"
    OPEN = "its gradients have their inputs' shapes; no difference decides"
    MISFIT = "a gradient has another shape than its input"
    RAISED = "backward raises"

    @property
    def is_answered(self) -> bool:
        """Whether backward gives gradients of its inputs' shapes."""
        return self not in (Standing.MISFIT, Standing.RAISED)


@dataclass(frozen=True, slots=True)
class Answer:
    """What backward did on a case: how it stands, and what is to be said of it."""

    case: Case
    standing: Standing
    said: str = ""


@dataclass(frozen=True, slots=True)
class Unserved:
    """A kind that forward takes and the checks leave out.

    Args:
        answer: what backward does there.
        is_special: whether it answers there, wrongly, and rightly on a kind with fewer coincidences.
    """

    answer: Answer
    is_special: bool = False

    @property
    def shapes(self) -> str:
        """The shapes, for a sentence."""
        return ", ".join(f"{leaf} of shape {list(array.shape)}" for leaf, array in leaves_of(self.answer.case.inputs))


def answer_of(checkable: Checkable, case: Case, compares: bool = True) -> Answer:
    """Call forward and backward on a case.

    Args:
        checkable: the op.
        case: forward takes it.
        compares: whether gradients are compared along one direction of each input.
    """
    ev = Evaluator(checkable, case)
    rng = np.random.default_rng(LOOK_SEED)
    with np.errstate(all="ignore"):
        try:
            ev.prepare()
            found = ev.gradients(ev.douts_from(rng.uniform(*LOOK_WEIGHTS, sum(ev.sizes))))
        except AutogradError as error:  # of the runtime, about what backward returned
            return Answer(case, Standing.MISFIT, f"backward's gradients are refused: {error.message}")
        except Exception as error:  # user code
            return Answer(case, Standing.RAISED, f"backward raises {type(error).__name__}: {error}")
        for leaf, value in found.items():
            if isinstance(value, (np.ndarray, np.generic)) and value.shape != ev.array(leaf).shape:
                said = f"backward gives {leaf} a gradient of shape {list(value.shape)}"
                return Answer(case, Standing.MISFIT, said)
        if ev.leaves and all(value is None for value in found.values()):
            return Answer(case, Standing.RAISED, "backward gives no input a gradient")
        try:
            return Answer(case, *_compared(ev, rng)) if compares else Answer(case, Standing.OPEN)
        except Exception:  # user code that raises beside the case; the checks report it
            return Answer(case, Standing.OPEN)


def _compared(ev: Evaluator, rng: np.random.Generator) -> tuple[Standing, str]:
    """Return how gradients stand beside differences along a direction of each input."""
    standing = Standing.RIGHT
    for leaf in ev.leaves:
        if not ev.array(leaf).size or not sum(ev.sizes):
            standing = Standing.OPEN
            continue
        probe = probe_leaf(ev, leaf, rng)
        if probe.is_wrong:
            said = f"along a direction of {leaf} backward gives {probe.actual:.6g} for {probe.expected:.6g}"
            return Standing.WRONG, said
        if not np.isfinite(probe.bound):
            standing = Standing.OPEN
    return standing, ""


@dataclass(slots=True)
class Table:
    """Keeps an answer for each kind of shapes and setting of the options.

    Args:
        scope: of the search.
    """

    scope: SearchScope
    _answers: dict[Key, Answer] = field(default_factory=dict)

    def answer(self, case: Case) -> Answer:
        """Return how backward stands on a case's kind: on the first case of it that was seen."""
        key = kind_of(case), _setting(case)
        if key not in self._answers:
            self._answers[key] = answer_of(self.scope.checkable, case)
            if self._answers[key].standing is not Standing.RIGHT:
                self._generalise(case)
        return self._answers[key]

    def _generalise(self, case: Case) -> None:
        """Answer kinds with fewer coincidences that forward takes as well: only they can excuse this one."""
        roles = self.scope.roles
        if roles is None:
            return
        for shapes in islice(generalised(shapes_of(case), OWN_SIZE), MOST_GENERALISED):
            one = self.scope.case(shapes, case.attrs, roles, seed=case.seed)
            key = kind_between(shapes), _setting(one)
            if key not in self._answers and self.scope.trial.probe(one).is_accepted:
                self.answer(one)

    def serves(self, case: Case) -> bool:
        """Say whether backward answers a case's kind."""
        return self.answer(case).standing.is_answered

    def parted(self, cases: Sequence[Case]) -> tuple[list[Case], list[Unserved]]:
        """Return the cases to check, and the kinds that are left out.

        Where backward answers nothing all are to be checked: that is a failure, and the checks say what was raised.
        """
        kept: list[Case] = []
        aside: dict[Key, Unserved] = {}
        for case in cases:
            answer = self._answer_to(case)
            if answer.standing is Standing.WRONG and self.is_excused(case):
                aside.setdefault((kind_of(case), _setting(case)), Unserved(answer, self.is_open(case)))
            elif answer.standing.is_answered:
                kept.append(case)
            else:
                aside.setdefault((kind_of(case), _setting(case)), Unserved(answer))
        if not any(all(sizes_of(case)) for case in kept):
            return list(cases), []
        return kept, list(aside.values())

    def _answer_to(self, case: Case) -> Answer:
        """Return the answer on a case: its kind's, but where backward raises at these sizes alone."""
        answer = self.answer(case)
        if shapes_of(answer.case) == shapes_of(case) or not answer.standing.is_answered:
            return answer
        key = (shapes_of(case), _setting(case))
        if key not in self._answers:
            self._answers[key] = answer_of(self.scope.checkable, case, compares=False)
        return self._answers[key]

    def _general(self, case: Case) -> list[Standing]:
        """Return how backward stands on the kinds beside which a case is special."""
        shapes, setting = shapes_of(case), _setting(case)
        return [
            answer.standing
            for (kind, of), answer in self._answers.items()
            if of == setting and is_special(shapes, kind)
        ]

    def is_excused(self, case: Case) -> bool:
        """Say whether a case is special beside kinds on which backward is not wrong, and it is right on some."""
        general = self._general(case)
        is_right = any(answer.standing is Standing.RIGHT for answer in self._answers.values())
        return bool(general) and Standing.WRONG not in general and is_right

    def is_open(self, case: Case) -> bool:
        """Say whether backward is right on a kind beside which a case is special: else it belongs to a misfit."""
        return Standing.RIGHT in self._general(case)


def unserved_line(unserved: Iterable[Unserved], most: int = 2) -> str:
    """Return what is not served, as a sentence; "" for nothing."""
    told = list(dict.fromkeys(f"{one.shapes} ({one.answer.said})" for one in unserved))
    more = f", and {len(told) - most} more" if len(told) > most else ""
    return f"not served: {'; '.join(told[:most])}{more}" if told else ""


def _setting(case: Case) -> str:
    """Return a case's options, in a form that can be compared."""
    return repr([(name, plain(value)) for name, value in case.attrs.items()])
