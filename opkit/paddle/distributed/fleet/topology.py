"""The groups of processes of all kinds of parallelism: of one process each is that process alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import UsageError, unknown
from opkit.ops.core.types import Function, Ints
from opkit.paddle.distributed.collective import Group, get_group
from opkit.paddle.distributed.environment import one_process

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
