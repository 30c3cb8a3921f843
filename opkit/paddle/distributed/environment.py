"""The one process that opkit runs: rank 0 of 1. Starting or expecting more of them is an error."""

from __future__ import annotations

import os

from opkit.errors import UnsupportedError
from opkit.shim.missing import guard

_ENDPOINT = "127.0.0.1:6170"
_state = {"is_initialized": False}


def one_process(count: int, what: str) -> None:
    """Refuse more than one process.

    Args:
        count: how many there would be.
        what: who asks for them, such as ``"spawn(nprocs=4)"``.

    Raises:
        UnsupportedError: there would be more than one.
    """
    if count > 1:
        raise UnsupportedError(
            f"{what} asks for {count} processes, and opkit runs one (rank 0 of 1)",
            help="run the script with one process; collectives then leave their Tensors as they are",
        )


class ParallelEnv:
    """What this process is among all: rank 0 of 1, on the CPU."""

    rank = local_rank = device_id = dev_id = 0
    world_size = nranks = nrings = 1
    device_type = "cpu"
    current_endpoint = _ENDPOINT

    @property
    def trainer_endpoints(self) -> list[str]:
        """Return the addresses of all processes."""
        return [_ENDPOINT]


class ParallelMode:
    """How a network is divided over processes (numbers as in Paddle)."""

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3


def init_parallel_env() -> None:
    """Take part in the group of all processes.

    Raises:
        UnsupportedError: the environment (``PADDLE_TRAINERS_NUM``) announces other processes.
    """
    count = os.environ.get("PADDLE_TRAINERS_NUM", "1")
    one_process(int(count) if count.isdecimal() else 1, f"init_parallel_env() with PADDLE_TRAINERS_NUM={count}")
    _state["is_initialized"] = True


def is_initialized() -> bool:
    """Return whether ``init_parallel_env`` was called."""
    return _state["is_initialized"]


def end_parallel_env() -> None:
    """Forget that ``init_parallel_env`` was called."""
    _state["is_initialized"] = False


def is_available() -> bool:
    """Return whether ``paddle.distributed`` can be used."""
    return True


def get_rank(group: object = None) -> int:
    """Return this process's number: 0."""
    return 0


def get_world_size(group: object = None) -> int:
    """Return the number of processes: 1."""
    return 1


__getattr__ = guard(globals())
