"""What runs inside workers: one loads a target, and under it one for each op checks that op.

Both are children of a Supervisor; nothing that user code does here can reach the process that the user started.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from opkit.blind.limits import threads_here
from opkit.checker import Checkable
from opkit.verify.isolation.child import Outbox
from opkit.verify.isolation.flight import Phase
from opkit.verify.isolation.shown import show_paths_from
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.options import RunOptions
from opkit.verify.subjects.loaded import Unmade
from opkit.verify.workers.children import check_forked
from opkit.verify.workers.ledger import Account, Begun
from opkit.verify.workers.loading import Errand, opening, try_to_load
from opkit.verify.workers.one_op import check_told
from opkit.verify.workers.spawn import check_spawned


def check_target(errand: Errand, options: RunOptions, width: int, outbox: Outbox) -> None:
    """Load a target and check its ops, each in a process of its own; send every message that its account is given.

    Args:
        errand: the whole target.
        options: of the run.
        width: how many ops at once.
        outbox: where the messages go.
    """
    sys.dont_write_bytecode = True
    show_paths_from(os.getcwd())
    flight = outbox.flight
    loaded = try_to_load(errand, options, flight)
    if loaded is None:
        return
    flight.arm(math.inf)
    flight.enter(Phase.SUPERVISING)
    account, ops = Account(errand.number, errand.label), loaded.ops
    is_threaded = not can_fork() or threads_here() > 1
    if not is_threaded:
        checking = check_forked(account, ops, options, width, (outbox.descriptor,))
    else:  # fresh interpreters make all of a target that they load again, or none
        errands = (
            [replace(errand, orders=tuple(range(len(ops))))] if can_fork() and loaded.is_repeatable and ops else []
        )
        checking = check_spawned([account], errands, options, width, (outbox.descriptor,), is_leader=False)
    for message in chain(opening(errand.number, loaded), checking):
        account.note(message)
        outbox.send(message)
    if is_threaded:
        _check_here(account, ops, options, outbox)


def _check_here(account: Account, ops: Sequence[Checkable | Unmade], options: RunOptions, outbox: Outbox) -> None:
    """Check the ops that are owed in this process, which must not be forked: no other can make them.

    This comes last: what one of them does to the process costs only those after it.
    """
    for order, item in enumerate(ops):
        if order in account.owed:
            chosen = options.for_op(item.name, item.directory)
            outbox.send(begun := Begun(account.number, order))
            outbox.flight.arm(chosen.timeout or math.inf)
            check_told(begun, item, chosen, outbox)
    outbox.flight.arm(math.inf)
