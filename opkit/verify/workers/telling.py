"""Telling: each finished check of an op sent at once, for an op whose check does not reach its end."""

from __future__ import annotations

from dataclasses import replace

from opkit.checker import CheckResult
from opkit.verify.isolation.child import Outbox
from opkit.verify.workers.alone import Tell, sendable_result
from opkit.verify.workers.messages import CheckDone


def teller(target: int, order: int, outbox: Outbox) -> Tell:
    """Return a function that sends a finished check, without its evidence: the arrays come with the report."""

    def tell(result: CheckResult) -> None:
        outbox.send(CheckDone(target, order, sendable_result(replace(result, evidence=None))))

    return tell
