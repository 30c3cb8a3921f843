"""Spawn: ops checked in fresh interpreters, started by exec, one for many ops, and started again where one dies.

For whatever must not be checked in forked copies: a process that has threads (a script's, a framework's) is never
forked. There are three ways to be checked here (the ops of a script are none of them: it is not run again):

- ``FILE.py::Name`` where the file imports a package that starts threads (``targets.load.wants_fresh``): loaded and
  checked in interpreters that all such targets of a run share;
- an op directory or named target loaded in a process that then has threads: they are
  loaded again;
- ``opkit.gradcheck(..., isolate=True)`` of functions and classes that can be imported, in a process that has threads.

The memory of a fresh interpreter is limited by what it holds, not by its address space.

Isolation where processes cannot be forked: an interpreter per target, its ops one after the other.

A worker that dies or hangs costs the ops of its target that were not done yet, never those of another.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from subprocess import Popen
from typing import IO

from opkit.blind import frames
from opkit.blind.frames import Unreadable
from opkit.checker import CheckResult, Status
from opkit.record import mutable
from opkit.verify.codes import CRASH, INTERNAL, TIMEOUT
from opkit.verify.isolation.announced_calls import UserCall
from opkit.verify.isolation.blame import blame_death
from opkit.verify.isolation.child import FreshCall, Task
from opkit.verify.isolation.flight import Phase
from opkit.verify.isolation.supervisor import Death, Ended, Supervisor
from opkit.verify.options import RunOptions
from opkit.verify.targets.target import Target, TargetKind
from opkit.verify.workers.attempts import Attempts
from opkit.verify.workers.ledger import Account, Begun, Message
from opkit.verify.workers.loading import Errand
from opkit.verify.workers.start import pipes_of

#: Another interpreter is worth its start for so many errands.
_WORTH = 3


@mutable
class _Interpreter:
    """One fresh interpreter: what it was sent for, and which op it is at."""

    errands: Sequence[Errand]
    started: float = field(default_factory=time.monotonic)
    at: tuple[int, int] | None = None
    since: float = 0.0
    loading: float = math.inf

    def begin(self, message: Begun) -> None:
        self.at, self.since = (message.target, message.order), time.monotonic()
        self.loading = min(self.loading, self.since - self.started)


def check_spawned(
    accounts: Sequence[Account],
    errands: Sequence[Errand],
    options: RunOptions,
    width: int,
    private: Sequence[int] = (),
    *,
    lifeline: int | None = None,
    is_leader: bool = True,
) -> Iterator[Message]:
    """Check ops in fresh interpreters; each op that the errands are about is reported, whatever it does.

    Args:
        accounts: kept by the caller, which enters each message before it asks for the next one.
        errands: what to check.
        options: of the run.
        width: how many interpreters at once.
        private: descriptors of this process that no interpreter may keep open.
        lifeline: a descriptor that becomes readable when all is to stop, or None.
        is_leader: each interpreter leads a process group of its own: this process is not a worker.
    """
    if not errands:
        return
    spawned = _Spawned({account.number: account for account in accounts}, options, is_leader)
    supervisor = Supervisor(width, lifeline, private, adopts=not is_leader)
    for number, message in supervisor.run([spawned.task(share) for share in _shares(errands, width)]):
        if isinstance(message, Ended):
            yield from spawned.closing(number, message)
            rest = spawned.rest(number)
            if rest:
                supervisor.add(spawned.task(rest))
            for task in spawned.repeated:
                supervisor.add(task)
            spawned.repeated.clear()
        elif isinstance(message, UserCall):
            spawned.attempts_at(number).heard(message)
        elif not isinstance(message, Unreadable):  # its op is owed, and is settled at the end
            if isinstance(message, Begun):
                spawned.interpreters[number].begin(message)
            yield message


def _shares(errands: Sequence[Errand], width: int) -> list[Sequence[Errand]]:
    count = max(min(width, len(errands) // _WORTH), 1)
    return [errands[start::count] for start in range(count)]


class _Spawned:
    """The interpreters of one call of ``check_spawned``."""

    def __init__(self, accounts: dict[int, Account], options: RunOptions, is_leader: bool) -> None:
        self.interpreters: list[_Interpreter] = []
        self.repeated: list[Task] = []
        self._attempts: dict[tuple[int, int], Attempts] = {}
        self._accounts, self._options, self._is_leader = accounts, options, is_leader

    def task(self, errands: Sequence[Errand]) -> Task:
        """Return the task of one more interpreter."""
        self.interpreters.append(_Interpreter(errands))
        return self._task(errands, self._options)

    def _task(self, errands: Sequence[Errand], options: RunOptions, is_again: bool = False) -> Task:
        loading = self._options.timeout or math.inf
        frameworks = sorted(frozenset().union(*(item.frameworks for item in errands)))
        program = FreshCall("opkit.verify.workers.loading", (tuple(errands), options, loading), tuple(frameworks))
        is_loud = options.shows_output and not is_again
        key = len(self.interpreters) - 1
        return Task(key, program, loading, 0, self._is_leader, is_continued=True, is_loud=is_loud)

    def attempts_at(self, number: int) -> Attempts:
        """Return the attempts at the op that an interpreter is at."""
        at = self.interpreters[number].at or (-1, -1)
        return self._attempts.setdefault(at, Attempts.of(self._of_op(*at)))

    def rest(self, number: int) -> list[Errand]:
        """Return what an interpreter that has ended leaves to another."""
        left = []
        for errand in self.interpreters[number].errands:
            account = self._accounts[errand.number]
            owed = {order for order in account.owed if (errand.number, order) not in self._attempts}
            if account.plan is None:
                if owed:
                    left.append(errand)
            else:
                made = range(len(account.plan.ops)) if errand.orders is None else errand.orders
                orders = tuple(order if order in owed else -1 for order in made)
                if any(order >= 0 for order in orders):
                    left.append(replace(errand, orders=orders))
        return left

    def closing(self, number: int, ended: Ended) -> Iterator[Message]:
        """Yield the reports that an interpreter's end leads to.

        Of what is owed, each end settles something or comes after a report, so that all comes to an end.
        """
        interpreter = self.interpreters[number]
        if interpreter.at is not None:
            target, order = interpreter.at
            if order in self._accounts[target].owed:
                spent = replace(ended, seconds=time.monotonic() - interpreter.since)
                yield from self._again(number, target, order, spent)
                return
        rest = self.rest(number)
        if rest and (interpreter.at is None or ended.flight.phase is Phase.LOADING):
            yield from self._unmade(rest[0], ended)

    def _unmade(self, errand: Errand, ended: Ended) -> Iterator[Message]:
        """Yield reports of the ops that an interpreter ended without making."""
        account = self._accounts[errand.number]
        if ended.death is Death.DONE:
            finding = _internal("a fresh interpreter could not make the op again; it was not judged")
        else:
            finding = blame_death(ended, self._options.limits)
        for order in list(account.owed) if account.plan is None or errand.orders is None else errand.orders:
            if order in account.owed:
                yield account.closed(order, finding, ended.seconds)

    def _of_op(self, target: int, order: int) -> RunOptions:
        """Return what holds for an op: its account names it and its directory."""
        account = self._accounts[target]
        plan = account.plan
        if plan is None or not 0 <= order < min(len(plan.ops), len(plan.directories)):
            return self._options
        return self._options.for_op(plan.ops[order], plan.directories[order])

    def _again(self, number: int, target: int, order: int, ended: Ended) -> Iterator[Message]:
        """Make an op again without the call that ended its process, where the time allows it; else settle it."""
        interpreter, tried = self.interpreters[number], self.attempts_at(number)
        is_unread = ended.death is Death.DONE and not tried.stops
        seconds = None if is_unread else tried.after(ended)
        if seconds is None or interpreter.loading > seconds:
            finding = _internal("the report could not be read; the op was not judged") if is_unread else tried.finding()
            yield self._accounts[target].closed(order, finding, ended.seconds)
            return
        errand = next(item for item in interpreter.errands if _has(item, target, order))
        made = range(order + 1) if errand.orders is None else errand.orders
        orders = tuple(place if place == order else -1 for place in made)
        alone = replace(errand, orders=orders, stops=tried.stops)
        self.interpreters.append(replace(interpreter, errands=[alone], since=time.monotonic()))
        options = replace(self._options, timeout=0 if seconds == math.inf else seconds)
        self.repeated.append(self._task([alone], options, is_again=True))


def _has(errand: Errand, target: int, order: int) -> bool:
    return errand.number == target and (errand.orders is None or order in errand.orders)


def _internal(message: str) -> CheckResult:
    return CheckResult.of(INTERNAL, Status.ERROR, message)


#: A script under the recorder may train for a while: its limit is that many times that of an op.
PATIENCE = 10


def run_alone(number: int, target: Target, options: RunOptions, start: Callable[[], Popen[bytes]]) -> Iterator[Message]:
    """Check one target in an interpreter of its own; yield what it says, and what it left unsaid.

    Args:
        number: the target's.
        target: what to check.
        options: of the run; the time limit holds from one message to the next.
        start: starts the interpreter.
    """
    process = start()
    requests, answers = pipes_of(process)
    messages: queue.Queue[Message | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(answers, messages), daemon=True)
    reader.start()
    account = Account(number, target.label, target.directory)
    row, what = CRASH, "the worker process ended in the middle of the check"
    try:
        frames.send(requests.fileno(), ((target,), options))
        while (message := messages.get(timeout=_limit(target, options))) is not None:
            numbered = replace(message, target=number)
            account.note(numbered)
            yield numbered
    except queue.Empty:
        row, what = TIMEOUT, f"the worker did not finish within the time limit ({options.limits})"
    except OSError:
        pass
    finally:
        process.kill()
        process.wait()
        reader.join()
        requests.close()
        answers.close()
    yield from account.settle(CheckResult.of(row, Status.ERROR, f"{what}; this op was not judged"))


def _limit(target: Target, options: RunOptions) -> float | None:
    seconds = options.longest * (PATIENCE if target.kind is TargetKind.SCRIPT else 1)
    return seconds + 5 if seconds and math.isfinite(seconds) else None


def _read(answers: IO[bytes], messages: queue.Queue[Message | None]) -> None:
    for message in frames.received(answers.read):  # what is lost is owed, and is settled at the end
        messages.put(message)
    messages.put(None)
