"""Role makers: who this process is among workers and servers. It is the one worker."""

from __future__ import annotations

from typing import Any

from opkit.errors import UnsupportedError
from opkit.paddle.distributed.environment import one_process
from opkit.shim.missing import guard

__all__ = ["PaddleCloudRoleMaker", "Role", "UserDefinedRoleMaker"]


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


class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """The role that the script names.

    Args:
        is_collective: accepted, without effect.
        init_gloo: accepted, without effect.
        kwargs: ``current_id`` is 0, ``role`` is ``Role.WORKER``, ``worker_num`` is 1.

    Raises:
        UnsupportedError: the role is a server's, or there are other workers.
    """

    def __init__(self, is_collective: bool = False, init_gloo: bool = False, **kwargs: Any) -> None:
        super().__init__(is_collective, **kwargs)
        count = max(int(kwargs.get("worker_num") or 1), len(kwargs.get("worker_endpoints") or [0]))
        one_process(count, f"UserDefinedRoleMaker with {count} workers")
        if kwargs.get("role", Role.WORKER) != Role.WORKER:
            raise UnsupportedError("UserDefinedRoleMaker: opkit runs one worker and no parameter server")


__getattr__ = guard(globals())
