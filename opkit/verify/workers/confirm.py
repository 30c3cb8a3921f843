"""Confirm: a pass is confirmed by an ordinary process, which answers the same calls and knows no expected value.

What is asked is chosen here, and what the answers mean for the verdict; they are compared by ``opkit.blind.judge``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

import numpy as np

from opkit.blind.call import Answers, Kind, Manner, Origin, Request, Step, Taken
from opkit.blind.judge import Difference, Ray, contradicts, difference
from opkit.blind.limits import INTERPRETED, is_limited, threads_here
from opkit.blind.server import Client, NoAnswerError, Opening, SilentError, UnloadedError, is_open
from opkit.checker import Checkable, CheckResult, Status
from opkit.checker.model.codes import ORDINARY
from opkit.checker.model.draws import generator
from opkit.checker.model.evaluate import Evaluator, InputLeaf, leaves_of, snapshot
from opkit.checker.model.thresholds import SLOW_CALL
from opkit.record import mutable
from opkit.verify.options import RunOptions
from opkit.verify.subjects.ordinary_call import CopiedPlayer, Ordinary, form_of

#: Where the draws of a confirmation begin among those of all checks.
_DRAWS = 9000
#: Distances of a ray's points relative to the values, where an op is of float64 and where it is not: far enough for
#: half the digits of a difference, near enough for a kink to lie beside it.
_NEAR, _WIDE = 1e-3, 1e-2
#: Fresh points of each case beside its own: more than 50 calls if cheap.
_FRESH = 3
#: Seconds that an ordinary process has for its calls at most, and at least to be worth its start.
_LONGEST, _SHORTEST = 30.0, 0.3
#: Share of --timeout after which none is waited for: the rest is for the report.
_SHARE = 0.95
#: How far apart a device and the CPU are, relative, where one of them is wrong: products may have ten bits there.
_FAR = 0.01
#: Times that the calls, or loading, take which an ordinary process is given before its silence says something.
_PATIENCE = 30.0


class Confirmation:
    """The confirmation of one op, made before anything of it is compared.

    Args:
        checkable: the op as its target made it.
        options: of the run.
        is_ours: this process serves opkit alone, so that it may be copied.
    """

    def __init__(self, checkable: Checkable, options: RunOptions, is_ours: bool = True) -> None:
        self._checkable, self._options = checkable, options
        self._ordinary: Ordinary | None = checkable.ordinary if is_open() else None
        self._until = time.monotonic() + _SHARE * options.timeout if options.timeout else float("inf")
        self._client: Client | None = None
        wants = options.command == "gradcheck" and options.check.wants(ORDINARY.code)
        if wants and is_ours and self._ordinary is None and hasattr(os, "fork") and threads_here() == 1:
            self._client = Client.of_copy(lambda _: CopiedPlayer(checkable))

    def close(self) -> None:
        """End the process that was forked early."""
        if self._client is not None:
            self._client.close()

    def __call__(self, evaluators: Sequence[Evaluator]) -> CheckResult:
        """Confirm a pass.

        Args:
            evaluators: cases that the op was found right on.

        Returns:
            a pass, a failure, or a skip that says why the pass is not confirmed.
        """
        if self._ordinary is None and self._client is None:
            return _skipped("this process could not be copied, and the op cannot be made again elsewhere")
        try:
            script = Script.of(evaluators, self._ordinary, self._options.check.seed)
        except Exception as error:  # user code; it ran without complaint before
            return _skipped(f"a call raised {type(error).__name__}: {error}")
        if not script.steps:
            return _skipped("there is no small case")
        try:
            answers = self._asked(script)
            found = self._judged(script, answers)
            if self._options.device and self._ordinary is not None:
                found = self._beside(found, answers)
            if found.status is Status.FAIL and self._ordinary is not None and not answers.changed:
                again = self._asked(script)
                if _are_unlike(script, answers, again):
                    return _skipped("its answers are others in each process")
        except SilentError as error:
            is_unloaded = isinstance(error, UnloadedError)
            if not is_unloaded and script.seconds * _PATIENCE > self._until - time.monotonic():  # slow, or little time
                return _skipped(f"an ordinary process {error}")
            what, taken = ("that", self._checkable.loading) if is_unloaded else ("the same calls", script.seconds)
            text = f"an ordinary process {error}; {what} took {taken:.2g} s here. It hangs there, "
            text += "or the machine is busy: check it again alone"
            return _result(self._checkable, Status.UNDECIDED, text)
        except NoAnswerError as error:
            return _skipped(f"an ordinary process {error}")
        return found

    def _asked(self, script: Script) -> Answers:
        if self._until - time.monotonic() < _SHORTEST:
            raise NoAnswerError("was not asked: the time is over")
        origin = self._ordinary.origin if self._ordinary is not None else Origin(Kind.OP, self._checkable.name, "")
        client = self._client if self._ordinary is None else Client.of_server()
        assert client is not None
        try:
            extra = {INTERPRETED: "1"} if self._options.device else {}
            opening = Opening(origin, _folder(), self._options.memory if is_limited() else 0, extra)
            loading = max(_LONGEST, _PATIENCE * self._checkable.loading)
            return client.ask(opening, Request(script.steps), loading, _LONGEST, self._until)
        finally:
            if client is not self._client:
                client.close()

    def _beside(self, found: CheckResult, answers: Answers) -> CheckResult:
        """Return what the CPU's answers say of a device's: what is a hundredth apart there fails, less is undecided."""
        if found.status is not Status.FAIL or answers.changed:
            return found
        if answers.raised:
            return _skipped(f"it does not run on the CPU: {answers.raised}")
        one, other = found.expected or 0.0, found.actual or 0.0
        is_far = found.expected is None or abs(one - other) > _FAR * max(abs(one), abs(other))
        said = f"the device {self._options.device!r} beside the CPU: {found.message}"
        return replace(found, status=Status.FAIL if is_far else Status.UNDECIDED, message=said)

    def _judged(self, script: Script, answers: Answers) -> CheckResult:
        if answers.unloaded:
            return _skipped(f"an ordinary process could not load it: {answers.unloaded}")
        checkable = self._checkable
        if answers.changed:
            names = ", ".join(answers.changed[:5])
            return _result(checkable, Status.FAIL, f"the op's functions changed {names}, which everything else uses")
        if answers.raised:
            text = f"raises in an ordinary process: {answers.raised}{tuple(Manner)[len(answers.turns) - 1].value}"
            chosen = [attr.name for attr in checkable.attrs if attr.is_required]
            if not chosen or any(ev.case.origin != "search" for ev in script.cases):
                return _result(checkable, Status.FAIL, text)
            text += f"; the search gave {' and '.join(chosen)}, of which nothing is declared, as an option"
            return _result(checkable, Status.UNDECIDED, text)
        for manner, turn in zip(Manner, answers.turns):
            found = difference(script.steps, script.seen, turn)
            if found is not None:
                return script.told(checkable, found, manner)
        is_plain = checkable.surrogate is None and not checkable.allow and not checkable.tolerance
        missed = contradicts(script.rays, script.steps, answers.turns[0]) if is_plain else None
        if missed is not None:
            slope, given = missed
            text = f"in an ordinary process a directional derivative is {slope:.6g}, and {given:.6g} by backward"
            return _result(checkable, Status.FAIL, text, expected=slope, actual=given)
        ran = dict(zip(Manner, answers.turns)).get(Manner.INFERENCE, True)
        said = "" if ran else f"not served: forward{Manner.INFERENCE.value}: it raises there"
        return _result(checkable, Status.PASS, said, cases=len(set(map(id, script.cases))))


def _folder() -> str:
    """Return the folder that this process works in, "" where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _are_unlike(script: Script, one: Answers, other: Answers) -> bool:
    """Return whether two ordinary processes answered unlike: the op is random, or has a state from outside."""
    if (one.raised, one.unloaded) != (other.raised, other.unloaded):
        return True
    return any(difference(script.steps, a, b) is not None for a, b in zip(one.turns, other.turns))


def _result(checkable: Checkable, status: Status, message: str = "", **fields: Any) -> CheckResult:
    row = ORDINARY
    where = checkable.backward_where or checkable.forward_where
    return CheckResult(row.name, status, row.code, message, where=where, **fields)


def _skipped(why: str) -> CheckResult:
    return CheckResult.of(ORDINARY, Status.SKIP, f"not confirmed in an ordinary process: {why}")


@mutable
class Script:
    """What an ordinary process is asked, and what was seen here.

    Args:
        steps: the calls in the order of a training loop.
        seen: what each gave here.
        rays: some of the steps that lie on lines.
        seconds: that they took here.
        cases: of each step.
    """

    steps: list[Step] = field(default_factory=list)
    seen: list[Taken] = field(default_factory=list)
    rays: list[Ray] = field(default_factory=list)
    seconds: float = 0.0
    cases: list[Evaluator] = field(default_factory=list)

    @staticmethod
    def of(evaluators: Sequence[Evaluator], ordinary: Ordinary | None, seed: int) -> Script:
        """Choose calls near cases, and make them here.

        Raises:
            Exception: what user code raises.
        """
        made, started = Script(), time.perf_counter()
        with np.errstate(all="ignore"):
            for number, ev in enumerate(evaluators):
                begun = time.perf_counter()
                case = _Case(made, ev, form_of(ordinary, ev), generator(seed, _DRAWS + number))
                case.near(_NEAR)  # first: what is kept of a shape is of other values
                center = case.add({})
                if time.perf_counter() - begun > SLOW_CALL:
                    case.near(_NEAR)
                    break
                if number == 0:
                    made.rays += case.rays(center) if case.has_gradient else ()
                for _ in range(_FRESH):
                    case.near(float(case.rng.uniform(-0.1, 0.1)))
        made.seconds = time.perf_counter() - started
        return made

    def told(self, checkable: Checkable, found: Difference, manner: Manner) -> CheckResult:
        """Return the failure that a difference is."""
        ev = self.cases[found.step]
        if found.is_gradient:
            what = f"the gradient of {ev.leaves[found.index]}" if found.index < len(ev.leaves) else "the gradient"
        else:
            names = [arg.name for arg in checkable.outputs]
            what = f"forward's result {names[found.index] if found.index < len(names) else found.index}"
        if found.expected is None or found.actual is None:
            text = f"in an ordinary process {what} has another shape than in the check"
        else:
            text = f"in an ordinary process {what} is {found.actual:.9g}, in the check it was {found.expected:.9g}"
        text += manner.value
        values = {"case": ev.case.to_json(), "expected": found.expected, "actual": found.actual}
        return _result(checkable, Status.FAIL, text, **values)


#: How many kinds of directions there are; see ``_Case.way``.
_WAYS = 4


class _Case:
    """One case: the calls near it."""

    def __init__(self, script: Script, ev: Evaluator, form: Any, rng: np.random.Generator) -> None:
        self._script, self._ev, self._form, self.rng = script, ev, form, rng
        self.has_gradient = ev.checkable.has_gradient and bool(ev.leaves and ev.slots and sum(ev.sizes))
        self.kinds = list(range(_WAYS))

    def near(self, distance: float) -> None:
        """Make a call near the case: along a kind of direction that forward takes, at the case where it takes none."""
        while self.kinds:
            with suppress(Exception):  # user code, of which this may be no input
                self.add(self.moved(self.way(self.kinds[0]), distance))
                return
            del self.kinds[0]
        self.add({})

    def add(self, moved: dict[InputLeaf, np.ndarray]) -> int:
        """Make a call with some arrays replaced; return its number."""
        ev, script = self._ev, self._script
        inputs = ev.inputs
        for leaf, array in moved.items():
            inputs = ev.replaced(leaf, array, inputs)
        douts = ev.douts_from(self.rng.uniform(-1, 1, sum(ev.sizes))) if self.has_gradient else []
        outputs, pullback = ev.run(inputs)
        kept = snapshot(outputs)
        found = ev.gradients(douts, pullback) if self.has_gradient else dict.fromkeys(ev.leaves)
        gradients = [None if item is None else np.array(item) for item in found.values()]
        script.steps.append(Step(self._form, [np.array(array) for _, array in leaves_of(inputs)], douts))
        script.seen.append(Taken(kept, gradients))
        script.cases.append(ev)
        return len(script.steps) - 1

    def way(self, kind: int) -> dict[InputLeaf, np.ndarray]:
        """Return a direction: of each element's own size; within what is of one sum, of one length, symmetric.

        What an object among the options holds too stays where it is: elsewhere the object is another one.
        """
        held, found = self._ev.checkable.held(self._ev.attrs), {}
        for leaf in self._ev.leaves:
            if leaf in held:
                found[leaf] = np.zeros(self._ev.array(leaf).shape)
                continue
            array = self._ev.array(leaf).astype(np.float64)
            way = self.rng.uniform(-1, 1, array.shape) * np.abs(array)
            if kind == 1 and array.ndim:
                way = way - way.mean(axis=-1, keepdims=True)
            elif kind == 2 and array.ndim:
                length = (array * array).sum(axis=-1, keepdims=True)
                way = way - array * np.divide((way * array).sum(axis=-1, keepdims=True), np.where(length, length, 1))
            elif kind == 3:
                way = array * self.rng.uniform(0.5, 1)
            found[leaf] = way
        return found

    def moved(self, way: dict[InputLeaf, np.ndarray], distance: float) -> dict[InputLeaf, np.ndarray]:
        """Return arrays that lie so far along a direction."""
        ev = self._ev
        arrays = {leaf: ev.array(leaf) for leaf in way}
        return {leaf: np.asarray(array + distance * way[leaf], array.dtype) for leaf, array in arrays.items()}

    def rays(self, center: int) -> Iterator[Ray]:
        """Make the calls of the rays along which forward takes what it gets."""
        for kind in self.kinds:
            with suppress(Exception):  # user code
                yield self._ray(center, kind)

    def _ray(self, center: int, kind: int) -> Ray:
        way = self.way(kind)
        is_wide = any(self._ev.array(leaf).dtype.itemsize < 8 for leaf in way)
        step = _WIDE if is_wide else _NEAR
        low, below, above, high = (self.add(self.moved(way, times * step)) for times in (-2, -1, 1, 2))
        return Ray((low, below, center, above, high), step, list(way.values()))
