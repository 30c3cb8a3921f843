"""In this process: an op checked in this process under a watchdog, where no other process can make it.

This process has threads, so it is not forked, and what the op is made of cannot be imported elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from opkit.checker import Checkable, CheckResult, OpReport, Status
from opkit.verify.codes import TIMEOUT
from opkit.verify.isolation.blame import user_line
from opkit.verify.isolation.flight import Flight
from opkit.verify.isolation.watchdog import LateError, Watchdog
from opkit.verify.options import RunOptions
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.messages import Begun, CheckDone, Checked, Message
from opkit.verify.workers.one_op import check_alone


def check_watched(
    account: Account, checkable: Checkable, options: RunOptions, why: str, order: int = 0
) -> Iterator[Message]:
    """Check one op in this process; a call that ends the process or never returns from C is not survived.

    Args:
        account: the op's, kept by the caller, which enters each message before it asks for the next one.
        checkable: the op.
        options: of the run; the memory is not limited.
        why: it cannot be checked elsewhere; the report says so.
        order: its place among those of the account.

    Raises:
        KeyboardInterrupt: the user's, also from within the op.
    """
    yield Begun(account.number, order)
    started = time.perf_counter()
    finished: list[CheckResult] = []
    passes = (LateError, KeyboardInterrupt)
    try:
        with Watchdog(options.timeout):
            report = check_alone(checkable, replace(options, memory=0), Flight(), finished.append, passes, False)
    except LateError as late:
        for item in finished:
            yield CheckDone(account.number, order, item)
        text = f"the check was not over at the time limit ({options.limits})"
        finding = CheckResult.of(TIMEOUT, Status.ERROR, text, where=user_line(late.__traceback__))
        yield account.closed(order, finding, time.perf_counter() - started)
    else:
        if isinstance(report, OpReport):
            note = f"checked in this process, which has threads, under a watchdog: {why}"
            yield Checked(account.number, order, replace(report, notes=(*report.notes, note)))
