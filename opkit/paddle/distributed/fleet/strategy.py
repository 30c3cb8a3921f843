"""``DistributedStrategy``: settings of distributed training, of which one process needs none.

The groups of processes of all kinds of parallelism: of one process each is that process alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import MissingNameError, Unknown, UnsupportedError, UsageError, unknown
from opkit.ops.core.types import Function, Ints
from opkit.paddle.distributed.collective import Group, get_group
from opkit.paddle.distributed.environment import one_process
from opkit.paddle.static.executor import BuildStrategy, ExecutionStrategy

#: Settings and their first values. Source: Paddle 2.6.2.
_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(
        [
            "adam_d2sum",
            "adaptive_localsgd",
            "amp",
            "asp",
            "auto",
            "auto_search",
            "cudnn_batchnorm_spatial_persistent",
            "cudnn_exhaustive_search",
            "dgc",
            "elastic",
            "find_unused_parameters",
            "fp16_allreduce",
            "fuse_grad_merge",
            "gradient_merge",
            "heter_ccl_mode",
            "is_fl_ps_mode",
            "is_with_coordinator",
            "lamb",
            "lars",
            "localsgd",
            "pipeline",
            "qat",
            "recompute",
            "semi_auto",
            "sharding",
            "sync_batch_norm",
            "tensor_parallel",
            "use_hierarchical_allreduce",
        ],
        False,
    ),
    **dict.fromkeys(
        ["a_sync", "fuse_all_reduce_ops", "split_data", "sync_nccl_allreduce", "without_graph_optimization"], True
    ),
    "conv_workspace_size_limit": 512,
    "fuse_grad_size_in_MB": 32,
    "fuse_grad_size_in_num": 8,
    "hierarchical_allreduce_inter_nranks": 1,
    "last_comm_group_size_MB": 1.0,
    "nccl_comm_num": 1,
}
#: Groups of options and their first values; a group is assigned as a dict, whose options replace these.
_GROUPS: dict[str, dict[str, Any]] = {
    "a_sync_configs": {"k_steps": -1, "launch_barrier": True, "lr_decay_steps": 10, "use_ps_gpu": 0},
    "adaptive_localsgd_configs": {"init_k_steps": 1, "begin_step": 1},
    "amp_configs": {
        "init_loss_scaling": 32768.0,
        "incr_every_n_steps": 1000,
        "decr_every_n_nan_or_inf": 2,
        "incr_ratio": 2.0,
        "decr_ratio": 0.8,
        "use_dynamic_loss_scaling": True,
        "custom_white_list": [],
        "custom_black_list": [],
        "use_pure_fp16": False,
        "use_fp16_guard": True,
    },
    "dgc_configs": {"rampup_begin_step": 0, "rampup_step": 1, "sparsity": []},
    "gradient_merge_configs": {"k_steps": 1, "avg": True},
    "gradient_scale_configs": {"scale_strategy": "avg", "scale_gradient": False},
    "hybrid_configs": {"dp_degree": -1, "mp_degree": 1, "pp_degree": 1, "sharding_degree": 1, "sep_degree": 1},
    "lamb_configs": {"lamb_weight_decay": 0.01, "exclude_from_weight_decay": []},
    "lars_configs": {"lars_coeff": 0.001, "lars_weight_decay": 0.0005, "epsilon": 0.0, "exclude_from_weight_decay": []},
    "localsgd_configs": {"k_steps": 1, "begin_step": 1},
    "pipeline_configs": {"micro_batch_size": 1, "accumulate_steps": 1, "schedule_mode": "1F1B"},
    "qat_configs": {"channel_wise_abs_max": True, "weight_bits": 8, "activation_bits": 8},
    "recompute_configs": {"checkpoints": [], "enable_offload": False, "checkpoint_shape": []},
    "sharding_configs": {"stage": 1, "mp_degree": 1, "dp_degree": 1, "pp_degree": 1},
    "tensor_parallel_configs": {"tensor_parallel_degree": 1, "tensor_init_seed": -1},
    "trainer_desc_configs": {},
}


class SettingError(UsageError, TypeError):
    """A setting that does not exist is assigned (Paddle raises TypeError)."""


class DistributedStrategy:
    """Settings of distributed training; each has Paddle's first value.

    Assigning a name that Paddle does not have is a TypeError. ``fleet.init`` refuses one that needs more processes.
    """

    def __init__(self) -> None:
        fields = {
            **_SETTINGS,
            **{name: dict(group) for name, group in _GROUPS.items()},
            "build_strategy": BuildStrategy(),
            "execution_strategy": ExecutionStrategy(),
            "hybrid_parallel_order": ["dp", "pp", "sharding", "sep", "mp"],
        }
        vars(self).update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self):
            raise self._unknown(name).error(SettingError)
        if name in _GROUPS:
            if not isinstance(value, dict):
                raise TypeError(f"DistributedStrategy.{name} is a dict, got {type(value).__name__}")
            value = {**vars(self)[name], **value}
        vars(self)[name] = value

    def check(self) -> None:
        """Refuse a strategy that divides the network over several processes.

        Raises:
            UnsupportedError: a degree of parallelism is more than one.
        """
        for group in ("hybrid_configs", "tensor_parallel_configs"):
            for name, value in vars(self)[group].items():
                if name.endswith("_degree") and isinstance(value, int):
                    one_process(value, f"DistributedStrategy.{group}[{name!r}] = {value}")
        if self.qat:
            raise UnsupportedError("opkit does not quantise networks by a strategy", help="leave strategy.qat False")

    def __getattr__(self, name: str) -> Any:
        raise self._unknown(name).error(MissingNameError)

    def _unknown(self, name: str) -> Unknown:
        return unknown("DistributedStrategy has no setting", name, vars(self))


_KINDS = ("data", "pipe", "sharding", "sep", "model")


class CommunicateTopology:
    """How many processes each kind of parallelism has.

    Args:
        hybrid_group_names: the kinds.
        dims: the number of processes of each.

    Raises:
        UnsupportedError: one of them is more than 1.
    """

    def __init__(self, hybrid_group_names: Sequence[str] = _KINDS, dims: Ints = (1, 1, 1, 1, 1)) -> None:
        for name, count in zip(hybrid_group_names, dims, strict=True):
            one_process(count, f"CommunicateTopology: {name!r}")
        self._names = list(hybrid_group_names)

    def get_dim_size(self, axis_name: str) -> int:
        """Return the number of processes of a kind: 1.

        Raises:
            UsageError: there is no such kind.
        """
        if axis_name not in self._names:
            raise unknown("the topology has no", axis_name, self._names, has="it has").error(UsageError)
        return 1

    def world_size(self) -> int:
        """Return the number of processes: 1."""
        return 1


class HybridCommunicateGroup:
    """The group, rank and number of processes of each kind of parallelism.

    For each of ``data_parallel``, ``model_parallel``, ``sharding_parallel``, ``sep_parallel`` and ``pipe_parallel``
    it has ``get_KIND_rank``, ``get_KIND_world_size``, ``get_KIND_group`` and ``get_KIND_group_src_rank``.

    Args:
        topology: that of one process.
    """

    def __init__(self, topology: CommunicateTopology | None = None) -> None:
        self._topology = topology or CommunicateTopology()
        self.nranks = 1
        self.global_rank = 0
        self.stage_id = 0
        self.is_first_stage = self.is_last_stage = True

    @property
    def _mp_ring_comm_group(self) -> dict[str, Group]:
        return {"mp_0to0": get_group()}

    def get_model_parallel_ring_group(self) -> dict[str, Group]:
        """Return the groups that pass Tensors on around the ring of model parallelism, by "mp_FROMtoTO"."""
        return self._mp_ring_comm_group

    def topology(self) -> CommunicateTopology:
        """Return how many processes each kind has."""
        return self._topology

    def get_stage_id(self) -> int:
        """Return this process's stage of a pipeline: 0."""
        return 0


def _constant(value: Any, doc: str) -> Function:
    def answer(self: Any, *args: Any) -> Any:
        return value

    answer.__doc__ = doc
    return answer


def _group(self: Any, *args: Any) -> Group:
    """Return the group of this kind."""
    return get_group()


for _kind in _KINDS:
    _lead = f"get_{_kind}_parallel_"
    setattr(HybridCommunicateGroup, _lead + "rank", _constant(0, "Return this process's rank of this kind."))
    setattr(HybridCommunicateGroup, _lead + "world_size", _constant(1, "Return the processes of this kind."))
    setattr(HybridCommunicateGroup, _lead + "group_src_rank", _constant(0, "Return the first rank of this kind."))
    setattr(HybridCommunicateGroup, _lead + "group", _group)
