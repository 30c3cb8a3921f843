"""Announced calls: every call of a user's function is announced to the flight recorder, and ends in one process.

Arguments and results pass through untouched; what a call means is not looked at.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from threading import active_count
from time import monotonic, sleep
from typing import Any

import numpy as np

from opkit.blind.limits import MEBIBYTE, memory_held
from opkit.checker import Case, Checkable, CheckResult, Evidence
from opkit.checker.model.report import FatalCall
from opkit.checker.search.fatal import FatalCallError, refusing
from opkit.errors import Location
from opkit.forked import end_if_forked
from opkit.ops.core.types import Attrs, Function
from opkit.record import mutable
from opkit.verify.isolation.flight import Flight, FlightStop, Phase

#: Seconds that threads which a user's function left get to end, where there is no room for another, and between looks.
_PATIENCE, _PAUSE = 5.0, 0.01

#: Fatal calls, each unlike those before, after which loading looks no further at what a function takes.
_MOST_LOOKS = 3


@mutable
class UserCall:
    """The user call that is going on or was the last.

    Args:
        phase: forward, backward or cases.
        inputs: forward's inputs by name.
        attrs: complete attributes.
        douts: the incoming gradients, for a backward call.
        where: file and line of the function.
    """

    phase: Phase = Phase.STARTING
    inputs: Mapping[str, Any] = field(default_factory=dict)
    attrs: Attrs = field(default_factory=dict)
    douts: Sequence[Any] = ()
    where: Location | None = None

    def case(self) -> Case:
        """Return the call's inputs as a case, of copies."""
        kept = {name: _copy(value) for name, value in self.inputs.items()}
        return Case(kept, dict(self.attrs), regime="crash", origin="crash")

    def kept(self) -> UserCall:
        """Return the same with copies."""
        return replace(self, inputs=self.case().inputs, douts=tuple(map(_copy, self.douts)))

    def blamed(self, finding: CheckResult) -> FatalCall:
        """Return the call, which is a kept one, with what it did."""
        case = self.case()
        evidence, where = Evidence(case, tuple(self.douts)), finding.where or self.where
        shown = replace(finding, case=case.to_json(), evidence=evidence, where=where)
        return FatalCall(shown, case, self.phase is Phase.BACKWARD)


class Left(BaseException):
    """A user's function tried to leave the interpreter (``sys.exit``, KeyboardInterrupt ...).

    Args:
        cause: what it raised.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.array(value)
    if isinstance(value, (list, tuple)):
        return [_copy(item) for item in value]
    return value


def _mark(inputs: Mapping[str, Any]) -> int:
    """Return the size of the first input, -1 where it is no array: what a repeated check finds again."""
    for value in inputs.values():
        return value.size if type(value) is np.ndarray else -1
    return -1


class Watch:
    """Announces the calls of one checkable's functions.

    Args:
        flight: the recorder that the supervisor reads.
        memory: mebibytes that the op may use, 0 for no limit: an op that has used up half of them when memory runs
            out is at fault as a whole, not in the call that found none left.
        passes: exceptions that are let through as they are, besides those that the checker handles.
        refuse: called with the inputs and options of each call; raises where it is not to be made.
    """

    def __init__(
        self,
        flight: Flight,
        memory: int = 0,
        passes: tuple[type[BaseException], ...] = (),
        refuse: Function | None = None,
    ) -> None:
        self._flight = flight
        self._passes: tuple[type[BaseException], ...] = (Exception, FlightStop, Left, *passes)
        self._process = os.getpid()
        self._allowance = memory_held() + memory * MEBIBYTE if memory else math.inf
        self._refuse = refuse
        self._threads_end = True  # as far as was seen

    @property
    def last(self) -> UserCall:
        """The latest call; its arrays are those that the function got."""
        return UserCall(*self._flight.seen)

    def over(self, checkable: Checkable) -> Checkable:
        """Return the checkable with all its functions watched."""
        front = partial(self._watched, phase=Phase.FORWARD, where=checkable.forward_where)
        beside = partial(self._watched, phase=Phase.BACKWARD, where=checkable.backward_where, douts=2)
        back = partial(beside, attrs=3)
        ways: dict[str, Function] = {
            "forward": front,
            "backward": back,
            "trace": back,
            "vjp": partial(self._vjp, front=front, beside=beside),
            "cases": self.drawing,
            "second": self.over,
            "beyond": self.over,
        }
        changes: dict[str, Any] = {
            name: way(found) for name, way in ways.items() if (found := getattr(checkable, name)) is not None
        }
        changes["runners"] = {name: beside(run) for name, run in checkable.runners.items()}
        changes["own"] = tuple(replace(item, run=beside(item.first)) for item in checkable.own)
        return replace(checkable, **changes)

    def _watched(
        self, function: Function, phase: Phase, *, attrs: int = 1, douts: int = -1, where: Location | None = None
    ) -> Function:
        """Return a function that is announced; the numbers are the positions of options and incoming gradients."""
        begin, end, process, passes = self._flight.call, self._flight.enter, self._process, self._passes
        refuse = self._refuse

        def watched(*args: Any) -> Any:
            self._flight.seen = (phase, args[0], args[attrs], args[douts] if douts >= 0 else (), where)
            end_if_forked(process)
            if refuse is not None:
                refuse(args[0], args[attrs])
            begin(phase, _mark(args[0]))
            try:
                try:
                    return function(*args)
                except RuntimeError as error:
                    if not self._has_room_again(error):
                        raise
                return function(*args)
            except MemoryError as error:
                if memory_held() > self._allowance / 2:
                    raise Left(error) from error
                raise
            except passes as error:
                if type(error).__name__ == "BdbQuit":  # pdb.set_trace(), whose input is empty here
                    raise Left(error) from error
                raise
            except BaseException as error:
                raise Left(error) from error
            finally:
                end_if_forked(process)
                end(Phase.CHECKING)

        return watched

    def _has_room_again(self, error: RuntimeError) -> bool:
        """Wait for threads of earlier calls where another could not start; say whether the call is worth repeating.

        On a busy machine those that soon end may wait long for their turn. How many may do so at a time is the memory
        limit's business, and no property of the op.
        """
        if type(error) is not RuntimeError or "start new thread" not in str(error) or not self._threads_end:
            return False
        most, until = active_count() // 2, monotonic() + _PATIENCE
        while active_count() > most and monotonic() < until:
            sleep(_PAUSE)
        self._threads_end = active_count() <= most
        return self._threads_end

    @staticmethod
    def _vjp(vjp: Function, front: Function, beside: Function) -> Function:
        def pulled(_arrays: Any, _attrs: Any, douts: Any, needs: Any, pullback: Function) -> Any:
            return pullback(douts, needs)

        run, back = front(vjp), beside(pulled)

        def watched(arrays: Any, attrs: Any) -> Any:
            outputs, pullback = run(arrays, attrs)
            return outputs, lambda douts, needs: back(arrays, attrs, douts, needs, pullback)

        return watched

    def drawing(self, cases: Function) -> Function:
        """Return a cases function, each of whose cases is drawn by a call that is watched."""

        def begin(_arrays: Any, _attrs: Any, rng: np.random.Generator) -> Any:
            return iter(cases(rng))

        def further(_arrays: Any, _attrs: Any, drawn: Any) -> Any:
            return next(drawn, _NOTHING)

        start, more = (self._watched(item, Phase.CASES) for item in (begin, further))

        def watched(rng: np.random.Generator) -> Any:
            drawn = start({}, {}, rng)
            while (item := more({}, {}, drawn)) is not _NOTHING:
                yield item

        return watched


class Looks(Watch):
    """Announces the calls by which it is found out what a function takes, before it is checked.

    One that ended an earlier process raises, and so do those like it.

    Attributes:
        fatal: these calls.
    """

    def __init__(self) -> None:
        super().__init__(Flight.here or Flight())
        self._between = self._flight.read().phase
        self.fatal: tuple[FatalCall, ...] = ()

    def _watched(
        self, function: Function, phase: Phase, *, attrs: int = 1, douts: int = -1, where: Location | None = None
    ) -> Function:
        begin, end = self._flight.call, self._flight.enter

        def watched(*args: Any) -> Any:
            if self._refuse is not None:
                self._refuse(args[0], args[attrs])
            if len(self.fatal) == _MOST_LOOKS:
                raise FatalCallError(self.fatal[-1].finding.message)
            self._flight.seen = (phase, args[0], args[attrs], args[douts] if douts >= 0 else (), where)
            try:
                begin(phase, _mark(args[0]))
                return function(*args)
            except FlightStop as at:
                if at.stop.finding is None:
                    raise
                self.fatal = (*self.fatal, self.last.kept().blamed(at.stop.finding))
                self._refuse = refusing(self.fatal, is_declared=False)
                raise FatalCallError(at.stop.finding.message) from at
            except (Exception, Left):
                raise
            except BaseException as error:
                if Flight.here is None:  # the user's own process, which may be left
                    raise
                raise Left(error) from error
            finally:
                end(self._between)

        return watched

    def call(self, phase: Phase, function: Function, inputs: Mapping[str, Any], attrs: Attrs) -> Any:
        """Call a function of inputs and options that calls forward, or backward, as announced."""
        return self._watched(function, phase)(inputs, attrs)


class SingleProcess(Watch):
    """Lets what the functions raise through as it is; a copy of the process that one forks ends where it is left."""

    def __init__(self) -> None:
        super().__init__(Flight())

    def _watched(self, function: Function, phase: Phase, **_: Any) -> Function:
        process = self._process

        def watched(*args: Any) -> Any:
            try:
                return function(*args)
            finally:
                end_if_forked(process)

        return watched


_NOTHING = object()
