"""What runs inside workers: one loads a target, and under it one for each op checks that op.

Both are children of a Supervisor; nothing that user code does here can reach the process that the user started.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from opkit.checker import Checkable, CheckResult, OpReport
from opkit.forked import end_if_forked
from opkit.verify.codes import LOAD
from opkit.verify.isolation.blame import blame_error, show_paths_from
from opkit.verify.isolation.child import Outbox
from opkit.verify.isolation.flight import Flight, Phase
from opkit.verify.isolation.limits import threads_here
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.isolation.watch import Paused
from opkit.verify.options import RunOptions
from opkit.verify.targets.loaded import Loaded
from opkit.verify.workers.alone import check_alone, sendable, sendable_result
from opkit.verify.workers.children import check_forked
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.messages import Begun, Checked, Found, Message, Planned

__all__ = ["Loader", "check_target"]

#: Loads a target in the worker; the flight recorder is for the calls of user code on the way.
Loader = Callable[[Flight], Loaded]


def check_target(account: Account, load: Loader, options: RunOptions, width: int, outbox: Outbox) -> None:
    """Load a target and check its ops, each in a child of its own; send every message that its account is given.

    Args:
        account: the target's, empty.
        load: gives the contents.
        options: of the run.
        width: how many ops at once.
        outbox: where the messages go.
    """
    sys.dont_write_bytecode = True
    show_paths_from(os.getcwd())
    flight = outbox.flight
    flight.enter(Phase.LOADING)
    process = os.getpid()
    try:
        loaded = load(flight)
    except (Exception, SystemExit, Paused) as error:
        loaded = Loaded(reports=(OpReport(account.label, (blame_error(error, LOAD, "loading"),)),))
    end_if_forked(process)
    flight.arm(math.inf)
    flight.enter(Phase.SUPERVISING)
    is_forking = can_fork() and threads_here() == 1
    checking = (
        check_forked(account, loaded.checkables, options, width, (outbox.descriptor,))
        if is_forking
        else _in_turn(account, loaded.checkables, options, outbox)
    )
    for message in chain(_opening(account, loaded), checking):
        account.note(message)
        outbox.send(message)


def _opening(account: Account, loaded: Loaded) -> Iterator[Message]:
    """Yield what is known before any check: the plan, and findings about the target itself."""
    names = tuple(item.name for item in loaded.checkables)
    directories = tuple(item.directory for item in loaded.checkables)
    yield Planned(account.number, names, directories, loaded.diagnostics)
    for report in loaded.reports:
        yield Checked(account.number, -1, sendable(report))


def _in_turn(
    account: Account, checkables: Sequence[Checkable], options: RunOptions, outbox: Outbox
) -> Iterator[Message]:
    """Check the ops in this process: it has threads (a user's), which a fork would leave in an unknown state."""
    flight = outbox.flight
    for order, item in enumerate(checkables):
        yield Begun(account.number, order)
        flight.arm(options.timeout or math.inf)

        def tell(result: CheckResult, order: int = order) -> None:
            outbox.send(Found(account.number, order, sendable_result(replace(result, evidence=None))))

        report = check_alone(item, options, flight, tell)
        if isinstance(report, OpReport):
            yield Checked(account.number, order, sendable(report))
    flight.arm(math.inf)
