"""``paddle.distributed.fleet`` on one process: the one worker, without servers."""

from opkit.paddle.distributed.fleet import base, meta_parallel, recompute, utils
from opkit.paddle.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, Role
from opkit.paddle.distributed.fleet.data_generator import MultiSlotDataGenerator, MultiSlotStringDataGenerator
from opkit.paddle.distributed.fleet.fleet import Fleet, UtilBase
from opkit.paddle.distributed.fleet.fleet import the_fleet as fleet
from opkit.paddle.distributed.fleet.strategy import CommunicateTopology, DistributedStrategy, HybridCommunicateGroup
from opkit.shim.missing import guard

barrier_worker = fleet.barrier_worker
distributed_model = fleet.distributed_model
distributed_optimizer = fleet.distributed_optimizer
distributed_scaler = fleet.distributed_scaler
get_hybrid_communicate_group = fleet.get_hybrid_communicate_group
init = fleet.init
init_server = fleet.init_server
init_worker = fleet.init_worker
is_first_worker = fleet.is_first_worker
is_server = fleet.is_server
is_worker = fleet.is_worker
local_rank = fleet.local_rank
minimize = fleet.minimize
node_num = fleet.node_num
nranks = fleet.nranks
rank = fleet.rank
run_server = fleet.run_server
server_num = fleet.server_num
stop_worker = fleet.stop_worker
util = fleet.util
worker_endpoints = fleet.worker_endpoints
worker_index = fleet.worker_index
worker_num = fleet.worker_num
world_size = fleet.world_size

__all__ = [
    "CommunicateTopology",
    "DistributedStrategy",
    "Fleet",
    "HybridCommunicateGroup",
    "MultiSlotDataGenerator",
    "MultiSlotStringDataGenerator",
    "PaddleCloudRoleMaker",
    "Role",
    "UtilBase",
    "barrier_worker",
    "base",
    "distributed_model",
    "distributed_optimizer",
    "distributed_scaler",
    "fleet",
    "get_hybrid_communicate_group",
    "init",
    "init_server",
    "init_worker",
    "is_first_worker",
    "is_server",
    "is_worker",
    "local_rank",
    "meta_parallel",
    "minimize",
    "node_num",
    "nranks",
    "rank",
    "recompute",
    "run_server",
    "server_num",
    "stop_worker",
    "util",
    "utils",
    "worker_endpoints",
    "worker_index",
    "worker_num",
    "world_size",
]

__getattr__ = guard(globals())
