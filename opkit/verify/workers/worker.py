"""What runs inside workers: one loads a target, and under it one for each op checks that op.

Both are children of a Supervisor; nothing that user code does here can reach the process that the user started.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from itertools import chain

from opkit.checker import Checkable
from opkit.verify.isolation.child import Outbox
from opkit.verify.isolation.flight import Phase, Stop
from opkit.verify.isolation.limits import threads_here
from opkit.verify.isolation.shown import show_paths_from
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.options import RunOptions
from opkit.verify.subjects.loaded import Loaded
from opkit.verify.targets.recipe import Recipe
from opkit.verify.workers.children import check_forked
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.loading import opening, try_to_load
from opkit.verify.workers.messages import Begun
from opkit.verify.workers.one_op import check_told
from opkit.verify.workers.spawn import Errand, check_spawned


def check_target(
    account: Account,
    recipe: Recipe,
    options: RunOptions,
    width: int,
    outbox: Outbox,
    is_repeatable: bool = False,
    looks: tuple[Stop, ...] = (),
) -> None:
    """Load a target and check its ops, each in a process of its own; send every message that its account is given.

    Args:
        account: the target's, empty.
        recipe: gives the contents.
        options: of the run.
        width: how many ops at once.
        outbox: where the messages go.
        is_repeatable: loading once more gives the same ops; a script is not run again.
        looks: calls of loading that ended an earlier process.
    """
    sys.dont_write_bytecode = True
    show_paths_from(os.getcwd())
    flight = outbox.flight
    flight.restart(looks)
    flight.enter(Phase.LOADING)
    loaded = try_to_load(account, recipe, options, flight)
    if flight.is_unmet:
        return
    flight.arm(math.inf)
    flight.enter(Phase.SUPERVISING)
    is_threaded = not can_fork() or threads_here() > 1
    if not is_threaded:
        checking = check_forked(account, loaded.checkables, options, width, (outbox.descriptor,))
    else:
        errands = _errands(account, recipe if is_repeatable else None, loaded, looks) if can_fork() else []
        checking = check_spawned([account], errands, options, width, (outbox.descriptor,), is_leader=False)
    for message in chain(opening(account, loaded), checking):
        account.note(message)
        outbox.send(message)
    if is_threaded:
        _check_here(account, loaded.checkables, options, outbox)


def _errands(account: Account, recipe: Recipe | None, loaded: Loaded, looks: tuple[Stop, ...]) -> list[Errand]:
    """Return the ops that fresh interpreters can make: all of a target that they load again, or none."""
    if recipe is None or not loaded.checkables:
        return []
    return [Errand(account.number, recipe, orders=tuple(range(len(loaded.checkables))), looks=looks)]


def _check_here(account: Account, checkables: Sequence[Checkable], options: RunOptions, outbox: Outbox) -> None:
    """Check the ops that are owed in this process, which must not be forked: no other can make them.

    This comes last: what one of them does to the process costs only those after it.
    """
    for order, item in enumerate(checkables):
        if order in account.owed:
            chosen = options.for_op(item.name, item.directory)
            outbox.send(begun := Begun(account.number, order))
            outbox.flight.arm(chosen.timeout or math.inf)
            check_told(begun, item, chosen, outbox)
    outbox.flight.arm(math.inf)
