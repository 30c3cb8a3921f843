"""Trial: asks an op's infer function and its forward whether they take some inputs.

The only place that decides what lies in an op's domain; it judges no results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from enum import Enum
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.model.agreement import same
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable, describe_inputs
from opkit.checker.model.evaluate import frozen, is_float, mapped, rounding_shift, snapshot
from opkit.checker.model.numbers import largest
from opkit.checker.model.thresholds import LITTLE, MANY, NEGLIGIBLE, PLENTY, SLOW_CALL, SOME
from opkit.checker.model.types import Attrs
from opkit.errors import KernelError, OpkitError
from opkit.ir import TensorDesc
from opkit.record import mutable, record

#: What an error says of the whole numbers and truth values that are wanted in place of floats.
WHOLE = re.compile(r"\b(?:u?int\d*|integers?|long|longtensor|bool|boolean)\b", re.IGNORECASE)
#: What differs in messages about arrays of other dtypes and values.
_PARTICULAR = re.compile(r"(?:float|uint|int|bool)\d*|[-+\d.]+")


class Answer(Enum):
    """What became of a trial."""

    ACCEPTED = "accepted"
    REFUSED = "refused by infer"
    RAISED = "forward raised"
    NONFINITE = "forward gave NaN, infinity, or numbers that consist of rounding errors"
    UNTRIED = "not tried, for lack of time"


@record
class Attempt:
    """What a trial answered, what infer promised, what forward returned."""

    answer: Answer
    promised: tuple[TensorDesc, ...] | None = None
    outputs: Sequence[Any] = ()
    error: Exception | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether the inputs lie in the domain."""
        return self.answer is Answer.ACCEPTED

    @property
    def is_undefined(self) -> bool:
        """Whether forward gives numbers that are not finite, or noise."""
        return self.answer is Answer.NONFINITE

    def keeps_promise(self) -> bool:
        """Return whether the results have the promised shapes."""
        if self.promised is None or len(self.promised) != len(self.outputs):
            return self.promised is None
        return all(
            -1 in desc.shape or tuple(np.shape(item)) == desc.shape for desc, item in zip(self.promised, self.outputs)
        )

    def gives_the_same(self, other: Attempt) -> bool:
        """Return whether forward returned the same numbers."""
        return same(self.outputs, other.outputs, 0.0)

    def is_definite(self) -> bool:
        """Return whether infer promises results with elements, and forward gives some."""
        sizes = [size for desc in self.promised or () for size in desc.shape]
        return all(size > 0 for size in sizes) and all(np.size(item) for item in self.outputs)

    def may_have_broadcast(self) -> bool:
        """Return whether results differ from the promise only as numpy's broadcasting makes them larger."""
        for desc, item in zip(self.promised or (), self.outputs):
            try:
                if np.broadcast_shapes(desc.shape, np.shape(item)) != np.shape(item):
                    return False
            except ValueError:
                return False
        return True


@mutable
class Trial:
    """Tries inputs on one op and counts what happened.

    Args:
        checkable: the op.
        until: from this time on nothing more is tried of an op whose calls take long, once something was accepted.
        latest: the same of any op: others' load seldom delays a check by as much.
        quickest: seconds of the quickest call of forward.
        most: attempts after which the search is given up if nothing was accepted; 0 for no limit.
        give_up: the time at which it is given up.
        clock: tells the time.
        said: what forward raised in the last attempt, without numbers and dtypes; "" where it did not, or was given
            other values by infer's word.
        slow_call: seconds from which on a call takes long.
        broken: attempts in which forward took its inputs and broke a rule, like a missing return.
        missing: attempts in a row in which it wanted a name that is not there, or an attribute that something has not.
        wanting: attempts in which it raised an error that mentions whole numbers or truth values.
        has_found: whether anything with elements was accepted: empty arrays say little of what is taken.
    """

    checkable: Checkable
    until: float = float("inf")
    latest: float = float("inf")
    quickest: float = float("inf")
    most: int = 0
    give_up: float = float("inf")
    clock: Callable[[], float] = perf_counter
    said: str = ""
    slow_call: float = SLOW_CALL
    broken: int = 0
    missing: int = 0
    wanting: int = 0
    has_found: bool = False
    counts: Counter[Answer] = field(default_factory=Counter)
    errors: list[tuple[Case, Exception]] = field(default_factory=list)
    refusal: Exception | None = None
    _reached: tuple[int, float] = (0, -1.0)

    @contextmanager
    def half(self) -> Iterator[None]:
        """Leave half of the time that is left for what comes after."""
        now, until, latest = self.clock(), self.until, self.latest
        self.until, self.latest = now + (until - now) / 2, now + (latest - now) / 2
        try:
            yield
        finally:
            self.until, self.latest = until, latest

    def promise(self, inputs: Mapping[str, Any], attrs: Attrs) -> tuple[TensorDesc, ...] | None:
        """Return what infer promises, None where nothing is promised.

        Raises:
            InferError: infer refuses the inputs.
        """
        if self.checkable.infer is None:
            return None
        return tuple(self.checkable.infer(describe_inputs(inputs), attrs))

    def reach(self, descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> float:
        """Return how far into infer's checks these descriptions get: the line that refuses, infinity where none does.

        The lines of a definition follow each other as its checks do, but for helpers that it calls.
        """
        try:
            if self.checkable.infer is not None:
                self.checkable.infer(descs, attrs)
        except Exception as error:  # whatever an infer function raises, it does not take these inputs
            return self._refused(error)
        return float("inf")

    def _refused(self, error: Exception) -> float:
        """Keep the refusal that came furthest in infer's checks, which says most of what is wanted; return its line."""
        where = error.where if isinstance(error, OpkitError) else None
        line = 0.0 if where is None else float(where.line)
        reached = getattr(error, "stage", 0), line
        if reached > self._reached:
            self.refusal, self._reached = error, reached
        return line

    def attempt(self, case: Case) -> Attempt:
        """Try a case: infer, then forward, then whether all results are finite."""
        if self.is_late:
            self.counts[Answer.UNTRIED] += 1
            return Attempt(Answer.UNTRIED)
        outcome = self.probe(case)
        self.said = _words(outcome) if self.checkable.infer is None else ""
        self.counts[outcome.answer] += 1
        self.has_found |= outcome.is_accepted and all(array.size for array in case.arrays)
        self.broken += isinstance(outcome.error, KernelError)
        error = outcome.error  # what an object has not is missing too; what is None may be something else
        is_missing = is_unbound(error) or (isinstance(error, AttributeError) and error.obj is not None)
        self.missing = self.missing + 1 if is_missing else 0
        is_other = outcome.answer is Answer.RAISED and not is_missing
        self.wanting += is_other and bool(WHOLE.search(str(outcome.error)))
        if outcome.answer is Answer.RAISED and outcome.error is not None and len(self.errors) < PLENTY:
            self.errors.append((case, outcome.error))
        return outcome

    @property
    def is_slow(self) -> bool:
        """Whether calls take long."""
        return self.slow_call < self.quickest < float("inf")

    @property
    def is_late(self) -> bool:
        """Whether the time is over, and something was accepted."""
        until = self.until if self.is_slow else self.latest
        return self.has_found and self.clock() > until

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be tried."""
        return self.is_late or self.is_given_up

    @property
    def is_given_up(self) -> bool:
        """Whether nothing was accepted in the attempts, or the time, that a search has.

        Sooner where forward only broke rules, or always wanted what no other shape has either.
        """
        if self.has_found:
            return False
        if self.broken >= SOME or self.missing >= MANY:
            return True
        if not self.most:
            return False
        return self.counts.total() >= self.most or self.clock() > self.give_up

    def probe(self, case: Case) -> Attempt:
        """Try a case like ``attempt``, but leave it out of the counts: it says nothing of the domain searched."""
        try:
            promised = self.promise(case.inputs, case.attrs)
        except Exception as error:  # whatever an infer function raises, it does not take these inputs
            self._refused(error)
            return Attempt(Answer.REFUSED, error=error)
        inputs = mapped(case.inputs, lambda item: frozen(item) if isinstance(item, ndarray) else item)
        try:
            with np.errstate(all="ignore"):
                begun = perf_counter()
                outputs = snapshot(self.checkable.forward(inputs, case.attrs))
                self.quickest = min(self.quickest, perf_counter() - begun)
                if self.checkable.surrogate is not None:
                    self.checkable.surrogate(inputs, case.attrs)
        except Exception as error:  # user code: whatever it raises is noted with its case
            return Attempt(Answer.RAISED, promised, error=error)
        if any(is_float(item) and not np.isfinite(item).all() for item in outputs) or self._is_noise(case, outputs):
            return Attempt(Answer.NONFINITE, promised, outputs)
        return Attempt(Answer.ACCEPTED, promised, outputs)

    def _is_noise(self, case: Case, outputs: Sequence[Any]) -> bool:
        """Return whether forward makes numbers of rounding, as of a singular matrix, where nothing declares it."""
        floats = [item for item in outputs if is_float(item)]
        given = max(map(largest, case.floats), default=0.0)
        is_huge = NEGLIGIBLE * max(map(largest, floats), default=0.0) > 1 + given
        if not is_huge or case.origin != "search" or self.checkable.infer is not None:
            return False
        return rounding_shift(lambda inputs: self.checkable.forward(inputs, case.attrs), case.inputs) > LITTLE


def is_unbound(error: Exception | None) -> bool:
    """Return whether a name or an attribute of a module is missing, which no inputs change."""
    if isinstance(error, AttributeError):
        return isinstance(error.obj, ModuleType)
    return isinstance(error, NameError) and not isinstance(error, UnboundLocalError)


def _words(outcome: Attempt) -> str:
    if outcome.answer is not Answer.RAISED:
        return ""
    return f"{type(outcome.error).__name__}: {without_particulars(str(outcome.error))}"


def without_particulars(message: str) -> str:
    """Return what messages have in common that differ in their numbers and dtypes."""
    return _PARTICULAR.sub("", message)
