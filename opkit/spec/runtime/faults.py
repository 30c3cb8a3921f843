"""Faults: what goes wrong while a compiled function of a definition runs.

They stay inside ``opkit.spec``: callers see ``InferError`` with the line of the definition file.
"""

from __future__ import annotations


class FaultError(Exception):
    """A function of the definition file stopped.

    Args:
        message: what stopped it.
        site: index of the place in the unit's site table, -1 where the running line is the place.
    """

    def __init__(self, message: str, site: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.site = site


class RefusalError(FaultError):
    """A ``Maybe`` that holds an error: a CHECK_..._OR_RETURN failed, or an Error was returned."""


class FatalError(FaultError):
    """What ends OneFlow's process: a CHECK failed, or C++ leaves the behaviour undefined."""


def check(holds: bool, message: str) -> None:
    """Behave like CHECK: what does not hold ends OneFlow's process."""
    if not holds:
        raise FatalError(message)


def require(holds: bool, message: str) -> None:
    """Behave like CHECK_OR_RETURN: what does not hold is an error that a ``Maybe`` brings."""
    if not holds:
        raise RefusalError(message)
