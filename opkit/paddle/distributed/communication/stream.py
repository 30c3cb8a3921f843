"""``paddle.distributed.communication.stream``: the collectives with a choice of the GPU queue to use."""

from __future__ import annotations

from inspect import signature
from typing import Any

from opkit.ops.core.types import Function
from opkit.paddle.distributed import collective
from opkit.shim.missing import guard

__all__ = [
    "all_gather",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def _streamed(function: Function) -> Function:
    taken = len(signature(function).parameters)

    def call(*args: Any, use_calc_stream: bool = False, **kwargs: Any) -> Any:
        return function(*args[:taken], **kwargs) if len(args) == taken + 1 else function(*args, **kwargs)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


all_gather = _streamed(collective.all_gather)
all_reduce = _streamed(collective.all_reduce)
alltoall = _streamed(collective.alltoall)
alltoall_single = _streamed(collective.alltoall_single)
broadcast = _streamed(collective.broadcast)
gather = _streamed(collective.gather)
reduce = _streamed(collective.reduce)
reduce_scatter = _streamed(collective.reduce_scatter)
scatter = _streamed(collective.scatter)

__getattr__ = guard(globals())
