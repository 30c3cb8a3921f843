"""Ops of directories on several devices: of the ways that their definitions claim, those that are proved."""

from __future__ import annotations

from opkit.distribute import Facts, Verdict
from opkit.distribute.asked import Claimed
from opkit.ir import Operation
from opkit.ops import Registry

__all__ = ["claimed_by"]


def claimed_by(registry: Registry) -> Claimed:
    """Return the function that says what is proved about ops of a registry's directories."""

    def claimed(op: Operation, facts: Facts) -> Verdict:
        return Verdict(reason="nothing is proved of how it may be cut")

    return claimed
