"""Role makers: who this process is among workers and servers. It is the one worker."""

from __future__ import annotations

from typing import Any

from opkit.shim.missing import guard

__all__ = ["PaddleCloudRoleMaker", "Role"]


class Role:
    """What a process does (numbers as in Paddle)."""

    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


class PaddleCloudRoleMaker:
    """The role that the environment announces.

    Args:
        is_collective: accepted, without effect.
        kwargs: accepted, without effect.
    """

    def __init__(self, is_collective: bool = False, **kwargs: Any) -> None:
        self._is_collective = is_collective


__getattr__ = guard(globals())
