"""Errands: what a fresh interpreter is sent for, ops of several targets, and how it checks them one after the other.

Starting it, and what follows from its death, is done elsewhere (``spawn``).
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator

from opkit.checker import Checkable, OpReport
from opkit.record import record
from opkit.verify.codes import INTERNAL
from opkit.verify.isolation.blame import show_paths_from
from opkit.verify.isolation.child import Outbox
from opkit.verify.isolation.flight import Phase
from opkit.verify.isolation.limits import MEBIBYTE, memory_resident
from opkit.verify.options import RunOptions
from opkit.verify.targets.recipe import Recipe
from opkit.verify.workers.alone import check_alone, sendable, sendable_call
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.loading import opening, try_to_load
from opkit.verify.workers.messages import Begun, Checked
from opkit.verify.workers.telling import teller

#: Findings after which the interpreter may not be what it was.
_CHANGED = frozenset({"GC198", INTERNAL.code})


@record
class Errand:
    """Ops of one target.

    Args:
        number: the target's.
        recipe: makes them.
        label: what to call the target where it cannot be loaded.
        orders: the place among the target's ops of each that the recipe makes, -1 for one that is not wanted. None
            where the recipe loads the whole target, about which nothing was reported yet: its plan is sent first.
        frameworks: that its file imports, as far as that is known.
    """

    number: int
    recipe: Recipe
    label: str = ""
    orders: tuple[int, ...] | None = None
    frameworks: frozenset[str] = frozenset()


@record
class Request:
    """What a fresh interpreter gets.

    Args:
        errands: in the order in which they are done.
        options: of the run.
        folder: the one that paths are shown from.
        loading: seconds that loading one target may take; infinity for no limit.
    """

    errands: tuple[Errand, ...]
    options: RunOptions
    folder: str
    loading: float = math.inf


def run(request: Request, outbox: Outbox) -> None:
    """Do the errands of a request: load, and check each op; every message goes to the outbox as it arises.

    After an op that changed the interpreter the rest is left to another one.
    """
    sys.dont_write_bytecode = True
    show_paths_from(request.folder)
    os.chdir(request.folder)
    for errand in request.errands:
        for order, checkable in _ops_of(errand, request, outbox):
            outbox.send(Begun(errand.number, order))
            if not _check(errand.number, order, checkable, request.options, outbox):
                return
    outbox.flight.arm(math.inf)
    outbox.flight.allow(math.inf)


def _ops_of(errand: Errand, request: Request, outbox: Outbox) -> Iterator[tuple[int, Checkable]]:
    """Load what an errand is about; yield the ops wanted with their places."""
    flight = outbox.flight
    flight.restart()
    flight.enter(Phase.LOADING)
    flight.arm(request.loading)
    _limit_memory(request.options, outbox)
    account = Account(errand.number, errand.label)
    loaded = try_to_load(account, errand.recipe, request.options, flight)
    if errand.orders is None:
        for message in opening(account, loaded):
            outbox.send(message)
    orders = range(len(loaded.checkables)) if errand.orders is None else errand.orders
    for order, checkable in zip(orders, loaded.checkables):
        if order >= 0:
            yield order, checkable


def _check(number: int, order: int, checkable: Checkable, options: RunOptions, outbox: Outbox) -> bool:
    """Check an op; say whether the interpreter is as it was."""
    flight = outbox.flight
    options = options.for_op(checkable.name, checkable.directory)
    flight.restart()
    flight.enter(Phase.CHECKING)
    flight.arm(options.timeout or math.inf)
    _limit_memory(options, outbox)
    message = check_alone(checkable, options, flight, teller(number, order, outbox))
    if isinstance(message, OpReport):
        outbox.send(Checked(number, order, sendable(message)))
        return not any(item.code in _CHANGED for item in message.findings)
    outbox.send(sendable_call(message))
    return False


def _limit_memory(options: RunOptions, outbox: Outbox) -> None:
    """Allow so much more than is held now: frameworks reserve address space that they never use."""
    held = memory_resident()
    outbox.flight.allow(held + options.memory * MEBIBYTE if held and options.memory else math.inf)
