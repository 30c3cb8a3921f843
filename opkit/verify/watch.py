"""Watched checkables: every call of a user's function is announced to the flight recorder.

Arguments and results pass through untouched; what a call means is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opkit.checker import Case, Checkable
from opkit.verify.flight import Flight, Phase, Stop

__all__ = ["Call", "Left", "Watch"]


@dataclass(slots=True)
class Call:
    """The user call that is going on or was the last.

    Args:
        phase: forward, backward, infer or cases.
        inputs: forward's inputs by name.
        attrs: complete attributes.
        douts: the incoming gradients, for a backward call.
    """

    phase: Phase = Phase.STARTING
    inputs: Mapping[str, Any] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    douts: Sequence[Any] = ()

    def case(self) -> Case:
        """Return the call's inputs as a case, of copies."""
        kept = {name: _copy(value) for name, value in self.inputs.items()}
        return Case(kept, dict(self.attrs), regime="the call that ended the worker", origin="crash")


class Left(BaseException):
    """A user's function tried to leave the interpreter (``sys.exit``, KeyboardInterrupt ...).

    Args:
        cause: what it raised.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(repr(cause))
        self.cause = cause


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.array(value)
    if isinstance(value, (list, tuple)):
        return [_copy(item) for item in value]
    return value


class Watch:
    """Announces the calls of one checkable's functions.

    Args:
        flight: the recorder that the supervisor reads.

    Attributes:
        last: the latest call; its arrays are those that the function got.
    """

    def __init__(self, flight: Flight) -> None:
        self._flight = flight
        self.last = Call()

    def call(self, phase: Phase, function: Callable[[], Any], *seen: Any) -> Any:
        """Run a user's function under the recorder.

        Args:
            phase: what it is.
            function: what to run.
            seen: inputs, attributes and incoming gradients of the call, as in ``Call``.

        Raises:
            Left: the function raised something that is meant to end the interpreter.
        """
        if seen:
            self.last = Call(phase, *seen)
        self._flight.call(phase)
        try:
            return function()
        except (Stop, Left):
            raise
        except Exception:
            raise
        except BaseException as error:
            raise Left(error) from error
        finally:
            self._flight.enter(Phase.CHECKING)

    def over(self, checkable: Checkable) -> Checkable:
        """Return the checkable with all its functions watched."""
        changes: dict[str, Any] = {"forward": self._forward(checkable.forward)}
        if checkable.backward is not None:
            changes["backward"] = self._backward(checkable.backward)
        if checkable.vjp is not None:
            changes["vjp"] = self._vjp(checkable.vjp)
        if checkable.trace is not None:
            changes["trace"] = self._backward(checkable.trace)
        if checkable.cases is not None:
            changes["cases"] = self._cases(checkable.cases)
        if checkable.runners:
            changes["runners"] = {name: self._runner(run) for name, run in checkable.runners.items()}
        if checkable.second is not None:
            changes["second"] = self.over(checkable.second)
        return replace(checkable, **changes)

    def _forward(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def watched(arrays: Any, attrs: Any) -> Any:
            return self.call(Phase.FORWARD, lambda: forward(arrays, attrs), arrays, attrs)

        return watched

    def _backward(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        def watched(arrays: Any, outputs: Any, douts: Any, attrs: Any, needs: Any) -> Any:
            run = lambda: backward(arrays, outputs, douts, attrs, needs)  # noqa: E731
            return self.call(Phase.BACKWARD, run, arrays, attrs, douts)

        return watched

    def _vjp(self, vjp: Callable[..., Any]) -> Callable[..., Any]:
        def watched(arrays: Any, attrs: Any) -> Any:
            outputs, pullback = self.call(Phase.FORWARD, lambda: vjp(arrays, attrs), arrays, attrs)

            def watched_pullback(douts: Any, needs: Any) -> Any:
                return self.call(Phase.BACKWARD, lambda: pullback(douts, needs), arrays, attrs, douts)

            return outputs, watched_pullback

        return watched

    def _runner(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def watched(arrays: Any, attrs: Any, douts: Any) -> Any:
            return self.call(Phase.BACKWARD, lambda: run(arrays, attrs, douts), arrays, attrs, douts)

        return watched

    def _cases(self, cases: Callable[..., Any]) -> Callable[..., Any]:
        def watched(rng: np.random.Generator) -> Any:
            drawn = self.call(Phase.CASES, lambda: iter(cases(rng)))
            nothing = object()
            while (item := self.call(Phase.CASES, lambda: next(drawn, nothing))) is not nothing:
                yield item

        return watched
