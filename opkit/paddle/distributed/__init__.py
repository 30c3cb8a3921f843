"""``paddle.distributed`` on one process: rank 0 of 1. It is imported when a script first asks for it."""

from opkit.paddle.distributed import collective
from opkit.paddle.distributed.collective import *  # noqa: F403 - all of it
from opkit.paddle.distributed.environment import (
    ParallelEnv,
    ParallelMode,
    get_rank,
    get_world_size,
    init_parallel_env,
    is_available,
    is_initialized,
)
from opkit.paddle.distributed.spawn import launch, spawn
from opkit.shim.missing import guard

__all__ = [
    "ParallelEnv",
    "ParallelMode",
    "get_rank",
    "get_world_size",
    "init_parallel_env",
    "is_available",
    "is_initialized",
    "launch",
    "spawn",
]
__all__ += collective.__all__

__getattr__ = guard(globals())
