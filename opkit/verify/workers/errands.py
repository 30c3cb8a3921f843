"""Errands: what a fresh interpreter is sent for, ops of several targets, and how it checks them one after the other.

Starting it, and what follows from its death, is done elsewhere (``spawn``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from opkit.checker import Checkable
from opkit.verify.isolation.child import Outbox
from opkit.verify.options import RunOptions
from opkit.verify.subjects.loaded import Unmade
from opkit.verify.workers.loading import Errand, opening, try_to_load
from opkit.verify.workers.messages import Begun
from opkit.verify.workers.one_op import check_told


def run(errands: Iterable[Errand], options: RunOptions, loading: float, outbox: Outbox) -> None:
    """Do errands: load, and check each op; every message goes to the outbox as it arises.

    After an op that changed the interpreter the rest is left to another one.

    Args:
        errands: in the order in which they are done.
        options: of the run.
        loading: seconds that loading one target may take; infinity for no limit.
        outbox: where the messages go.
    """
    for errand in errands:
        outbox.flight.arm(loading)
        for order, checkable in _ops_of(errand, options, outbox):
            chosen = options.for_op(checkable.name, checkable.directory)
            outbox.send(begun := Begun(errand.number, order))
            outbox.flight.restart(errand.stops)
            outbox.flight.arm(chosen.timeout or math.inf)
            outbox.allow(chosen.memory)
            if not check_told(begun, checkable, chosen, outbox):
                return
    outbox.flight.arm(math.inf)
    outbox.flight.allow(math.inf)


def _ops_of(errand: Errand, options: RunOptions, outbox: Outbox) -> Iterator[tuple[int, Checkable | Unmade]]:
    """Load what an errand is about; yield the ops wanted with their places."""
    outbox.allow(options.memory)
    loaded = try_to_load(errand, options, outbox.flight)
    if loaded is None:
        return
    if errand.orders is None:
        for message in opening(errand.number, loaded):
            outbox.send(message)
    orders = range(len(loaded.ops)) if errand.orders is None else errand.orders
    for order, checkable in zip(orders, loaded.ops):
        if order >= 0:
            yield order, checkable
