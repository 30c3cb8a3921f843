"""``paddle.distributed`` on one process: rank 0 of 1. It is imported when a script first asks for it."""

from opkit.paddle.distributed.collective import (
    Group,
    ReduceOp,
    all_gather,
    all_gather_object,
    all_reduce,
    alltoall,
    alltoall_single,
    barrier,
    broadcast,
    broadcast_object_list,
    destroy_process_group,
    gather,
    get_backend,
    get_group,
    new_group,
    reduce,
    reduce_scatter,
    scatter,
    scatter_object_list,
    wait,
)
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
    "Group",
    "ParallelEnv",
    "ParallelMode",
    "ReduceOp",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_group",
    "get_rank",
    "get_world_size",
    "init_parallel_env",
    "is_available",
    "is_initialized",
    "launch",
    "new_group",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatter_object_list",
    "spawn",
    "wait",
]

__getattr__ = guard(__name__, globals())
