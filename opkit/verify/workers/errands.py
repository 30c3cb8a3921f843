"""Errands: what a fresh interpreter is sent for, ops of several targets, and how it checks them one after the other.

Starting it, and what follows from its death, is done elsewhere (``spawn``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from opkit.checker import Checkable
from opkit.record import record
from opkit.verify.isolation.child import Outbox
from opkit.verify.isolation.flight import Phase, Stop
from opkit.verify.options import RunOptions
from opkit.verify.targets.recipe import Recipe
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.loading import opening, try_to_load
from opkit.verify.workers.messages import Begun
from opkit.verify.workers.one_op import check_told


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
        looks: calls of loading that ended an earlier process.
        stops: the same of the checks of the one op that is wanted.
    """

    number: int
    recipe: Recipe
    label: str = ""
    orders: tuple[int, ...] | None = None
    frameworks: frozenset[str] = frozenset()
    looks: tuple[Stop, ...] = ()
    stops: tuple[Stop, ...] = ()


@record
class Request:
    """What a fresh interpreter gets.

    Args:
        errands: in the order in which they are done.
        options: of the run.
        loading: seconds that loading one target may take; infinity for no limit.
    """

    errands: tuple[Errand, ...]
    options: RunOptions
    loading: float = math.inf


def run(request: Request, outbox: Outbox) -> None:
    """Do the errands of a request: load, and check each op; every message goes to the outbox as it arises.

    After an op that changed the interpreter the rest is left to another one.
    """
    for errand in request.errands:
        for order, checkable in _ops_of(errand, request, outbox):
            options = request.options.for_op(checkable.name, checkable.directory)
            outbox.send(begun := Begun(errand.number, order))
            outbox.flight.restart(errand.stops)
            outbox.flight.arm(options.timeout or math.inf)
            outbox.allow(options.memory)
            if not check_told(begun, checkable, options, outbox):
                return
    outbox.flight.arm(math.inf)
    outbox.flight.allow(math.inf)


def _ops_of(errand: Errand, request: Request, outbox: Outbox) -> Iterator[tuple[int, Checkable]]:
    """Load what an errand is about; yield the ops wanted with their places."""
    flight = outbox.flight
    flight.restart(errand.looks)
    flight.enter(Phase.LOADING)
    flight.arm(request.loading)
    outbox.allow(request.options.memory)
    account = Account(errand.number, errand.label)
    loaded = try_to_load(account, errand.recipe, request.options, flight)
    if flight.is_unmet:
        return
    if errand.orders is None:
        for message in opening(account, loaded):
            outbox.send(message)
    orders = range(len(loaded.checkables)) if errand.orders is None else errand.orders
    for order, checkable in zip(orders, loaded.checkables):
        if order >= 0:
            yield order, checkable
