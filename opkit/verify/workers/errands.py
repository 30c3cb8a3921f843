"""Errands: what a fresh interpreter is sent for, ops of several targets, and how it checks them one after the other.

Starting it, and what follows from its death, is done elsewhere (``spawn``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from opkit.checker import Checkable
from opkit.record import record
from opkit.verify.isolation.child import Outbox
from opkit.verify.options import RunOptions
from opkit.verify.subjects.loaded import Unmade
from opkit.verify.workers.loading import Errand, opening, try_to_load
from opkit.verify.workers.messages import Begun
from opkit.verify.workers.one_op import check_told


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


def _ops_of(errand: Errand, request: Request, outbox: Outbox) -> Iterator[tuple[int, Checkable | Unmade]]:
    """Load what an errand is about; yield the ops wanted with their places."""
    outbox.flight.arm(request.loading)
    outbox.allow(request.options.memory)
    loaded = try_to_load(errand, request.options, outbox.flight)
    if loaded is None:
        return
    if errand.orders is None:
        for message in opening(errand.number, loaded):
            outbox.send(message)
    orders = range(len(loaded.ops)) if errand.orders is None else errand.orders
    for order, checkable in zip(orders, loaded.ops):
        if order >= 0:
            yield order, checkable
