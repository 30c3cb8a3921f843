"""Loading: what a worker is sent for, a target loaded in it, and what is known of that before any check.

A fresh interpreter is sent for errands, ops of several targets, which it checks one after the other. Starting it, and
what follows from its death, is done elsewhere (``spawn``).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from opkit.checker import Checkable, OpReport
from opkit.forked import end_if_forked
from opkit.record import record
from opkit.verify.codes import LOAD
from opkit.verify.isolation.blame import blame_error
from opkit.verify.isolation.child import Outbox, Paused
from opkit.verify.isolation.flight import Flight, Phase, Stop
from opkit.verify.options import NamedError, RunOptions
from opkit.verify.subjects.loaded import Loaded, Unmade, unloadable
from opkit.verify.targets.recipe import Recipe
from opkit.verify.workers.ledger import Begun, Checked, Message, Planned
from opkit.verify.workers.one_op import check_told, sendable


@record
class Errand:
    """Ops of one target, which a process is sent for.

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
    label: str
    orders: tuple[int, ...] | None = None
    frameworks: frozenset[str] = frozenset()
    looks: tuple[Stop, ...] = ()
    stops: tuple[Stop, ...] = ()


def try_to_load(errand: Errand, options: RunOptions, flight: Flight) -> Loaded | None:
    """Load a target; what raises becomes a report about the target itself.

    None is returned where a call that ended an earlier process did not come.
    """
    flight.restart(errand.looks)
    flight.enter(Phase.LOADING)
    process, started = os.getpid(), time.perf_counter()
    try:
        loaded = errand.recipe.make(options, flight)
    except NamedError as error:
        loaded = Loaded((unloadable(errand.label, error),))
    except (Exception, SystemExit, Paused) as error:
        loaded = Loaded((OpReport(errand.label, (blame_error(error, LOAD, "loading"),)),))
    end_if_forked(process)
    if flight.is_unmet:
        return None
    seconds = time.perf_counter() - started
    return loaded.each(partial(replace, loading=seconds))


def opening(number: int, loaded: Loaded) -> Iterator[Message]:
    """Yield what is known before any check: the plan, and findings about the target itself."""
    names = tuple(item.name for item in loaded.ops)
    directories = tuple(item.directory for item in loaded.ops)
    yield Planned(number, names, directories, loaded.diagnostics)
    for report in loaded.reports:
        yield Checked(number, -1, sendable(report))


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
