"""Collectives of one process: what all ranks would reduce, gather or exchange is what this rank has.

A result is a copy without a graph, as in Paddle; what would be sent to another rank is an error.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from opkit.eager import Tensor, wrap
from opkit.errors import UsageError
from opkit.paddle.distributed.environment import end_parallel_env, one_process
from opkit.shim.missing import guard

__all__ = [
    "destroy_process_group",
    "Group",
    "ReduceOp",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "get_backend",
    "get_group",
    "new_group",
    "reduce",
    "reduce_scatter",
    "scatter",
    "wait",
]


class ReduceOp:
    """How the ranks' Tensors are joined (numbers as in Paddle); of one rank's Tensor each is the Tensor itself."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


class Group:
    """The group of one process.

    Args:
        id: its number, 0 for the group of all.
    """

    rank = 0
    nranks = world_size = 1

    def __init__(self, id: int = 0) -> None:
        self.id = id
        self.ranks = [0]

    @property
    def name(self) -> str:
        """Return its name."""
        return f"_default_pg{self.id}"

    @property
    def process_group(self) -> _Transport:
        """Return what carries the group's Tensors."""
        return _Transport()

    def is_member(self) -> bool:
        """Return whether this process belongs to it."""
        return True

    def get_group_rank(self, rank: int) -> int:
        """Return a rank's number within the group, -1 where it does not belong to it."""
        return 0 if rank == 0 else -1

    def __repr__(self) -> str:
        return f"rank: 0, nranks: 1, id: {self.id}, ranks: 0; name: {self.name}"


class _Transport:
    """A group's own collectives, which take the Tensor to send first; each fills the second one."""

    def all_gather(self, tensor: Any, out: Any, sync_op: bool = True) -> _Done:
        """Fill ``out`` with the Tensors of all ranks: this one."""
        return _receive("all_gather", out, tensor)

    def alltoall(self, tensor: Any, out: Any, sync_op: bool = True) -> _Done:
        """Fill ``out`` with what all ranks have for this one: its own."""
        return _receive("alltoall", out, _only("alltoall", tensor))

    def all_reduce(self, tensor: Any, op: int = ReduceOp.SUM, sync_op: bool = True) -> _Done:
        """Join the Tensors of all ranks in place: it stays as it is."""
        return all_reduce(tensor)

    allreduce = all_reduce

    def reduce(self, tensor: Any, dst: int, op: int = ReduceOp.SUM, sync_op: bool = True) -> _Done:
        """Join the Tensors of all ranks on rank ``dst``: it stays as it is."""
        return reduce(tensor, dst)

    def broadcast(self, tensor: Any, src: int, sync_op: bool = True) -> _Done:
        """Give rank ``src``'s Tensor to all: it stays as it is."""
        return broadcast(tensor, src)


class _Done:
    """The task of a collective that has ended before it is returned."""

    def wait(self) -> bool:
        """Return at once."""
        return True


_groups: dict[int, Group] = {0: Group()}


# ---- groups ----------------------------------------------------------------------------------------------------------
def new_group(ranks: list[int] | None = None, backend: str | None = None, timeout: Any = None) -> Group:
    """Return a new group.

    Raises:
        UnsupportedError: it has other ranks than 0.
    """
    if ranks is not None and list(ranks) != [0]:
        one_process(max(max(ranks, default=0) + 1, 2), f"new_group({list(ranks)})")
    group = Group(max(_groups) + 1)
    _groups[group.id] = group
    return group


def get_group(id: int = 0) -> Group:
    """Return a group by its number.

    Raises:
        UsageError: there is none.
    """
    if id not in _groups:
        raise UsageError(f"get_group({id}): there is no group of this number", help=f"there are {sorted(_groups)}")
    return _groups[id]


def get_backend(group: Group | None = None) -> str:
    """Return the name of what carries the Tensors: ``"GLOO"``, the CPU's."""
    return "GLOO"


# ---- Tensors ---------------------------------------------------------------------------------------------------------
def all_reduce(tensor: Any, op: int = ReduceOp.SUM, group: Any = None, sync_op: bool = True) -> _Done:
    """Join the Tensors of all ranks in place: it stays as it is."""
    _tensor("all_reduce", tensor)
    return _Done()


def reduce(tensor: Any, dst: int, op: int = ReduceOp.SUM, group: Any = None, sync_op: bool = True) -> _Done:
    """Join the Tensors of all ranks on rank ``dst``: it stays as it is."""
    _rank("reduce", "dst", dst)
    return all_reduce(tensor)


def broadcast(tensor: Any, src: int, group: Any = None, sync_op: bool = True) -> _Done:
    """Give rank ``src``'s Tensor to all: it stays as it is."""
    _rank("broadcast", "src", src)
    return all_reduce(tensor)


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, sync_op: bool = True) -> _Done:
    """Put the Tensors of all ranks into a list: a copy of this one.

    Args:
        tensor_list: an empty list, or one Tensor per rank to be filled, or one Tensor for all.
        tensor: this rank's.
        group: accepted, without effect.
        sync_op: accepted, without effect.
    """
    return _receive("all_gather", tensor_list, tensor)


def gather(tensor: Any, gather_list: Any = None, dst: int = 0, group: Any = None, sync_op: bool = True) -> _Done:
    """Put the Tensors of all ranks into rank ``dst``'s list, as ``all_gather`` does: a copy of this one."""
    _rank("gather", "dst", dst)
    if gather_list is None:
        raise UsageError("gather: rank 0 receives, so gather_list must be a list")
    return _receive("gather", gather_list, tensor)


def scatter(tensor: Any, tensor_list: Any = None, src: int = 0, group: Any = None, sync_op: bool = True) -> _Done:
    """Fill a Tensor with this rank's of the list that rank ``src`` gives: with its only one."""
    _rank("scatter", "src", src)
    return _fill("scatter", tensor, tensor_list)


def reduce_scatter(
    tensor: Any, tensor_list: Any, op: int = ReduceOp.SUM, group: Any = None, sync_op: bool = True
) -> _Done:
    """Fill a Tensor with this rank's of the joined lists: with the list's only one."""
    return _fill("reduce_scatter", tensor, tensor_list)


def alltoall(in_tensor_list: Any, out_tensor_list: Any, group: Any = None, sync_op: bool = True) -> _Done:
    """Exchange Tensors with all ranks: this rank's own comes back as a copy, as ``all_gather`` puts it."""
    return _receive("alltoall", out_tensor_list, _only("alltoall", in_tensor_list))


def alltoall_single(
    in_tensor: Any,
    out_tensor: Any,
    in_split_sizes: Any = None,
    out_split_sizes: Any = None,
    group: Any = None,
    sync_op: bool = True,
) -> _Done:
    """Exchange rows with all ranks: all of them come back."""
    return _fill("alltoall_single", out_tensor, [in_tensor])


def wait(tensor: Any, group: Any = None, use_calc_stream: bool = True) -> None:
    """Return at once: every collective has ended when its call returns."""


def barrier(group: Any = None) -> None:
    """Return at once: no other process has to arrive."""


# ---- objects ---------------------------------------------------------------------------------------------------------
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Append the objects of all ranks to a list: a copy of this one."""
    object_list.append(copy.deepcopy(obj))


def broadcast_object_list(object_list: list[Any], src: int, group: Any = None) -> None:
    """Give rank ``src``'s objects to all: the list stays as it is."""
    _rank("broadcast_object_list", "src", src)


# ---- arguments -------------------------------------------------------------------------------------------------------
def _rank(what: str, name: str, rank: int) -> None:
    if rank != 0:
        raise UsageError(f"{what}({name}={rank}): there is no such rank; the only one is 0")


def _tensor(what: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{what} takes a Tensor, got {type(tensor).__name__}")


def _copied(what: str, tensor: Any) -> Tensor:
    _tensor(what, tensor)
    return wrap(np.array(tensor._data))


def _receive(what: str, found: Any, tensor: Any) -> _Done:
    """Put a copy into an empty list, or into the Tensor that stands there for this rank."""
    if isinstance(found, list) and not found:
        found.append(_copied(what, tensor))
        return _Done()
    return _fill(what, _only(what, found), tensor)


def _only(what: str, items: Any) -> Any:
    if isinstance(items, Tensor):
        return items
    if not isinstance(items, list | tuple) or len(items) != 1:
        raise UsageError(f"{what}: one rank exchanges one item, got {items!r}")
    return items[0]


def _fill(what: str, tensor: Any, items: Any) -> _Done:
    _tensor(what, tensor)
    source = _copied(what, _only(what, items))
    if source.shape != tensor.shape or source.dtype != tensor.dtype:
        raise UsageError(
            f"{what}: the Tensor to fill is {tensor.dtype} of shape {tensor.shape}, "
            f"the one given {source.dtype} of shape {source.shape}"
        )
    tensor.set_value(source)
    return _Done()


def destroy_process_group(group: Group | None = None) -> None:
    """Forget a group; without one all of them, and that the environment was initialised."""
    for id in [id for id in _groups if id and (group is None or group.id == id)]:
        del _groups[id]
    if group is None:
        end_parallel_env()


__getattr__ = guard(globals())
