"""What keeps copies of a network equal over processes: with one copy there is nothing to do."""

from __future__ import annotations

from typing import Any

from opkit.shim.missing import guard

__all__ = [
    "fused_allreduce_gradients",
    "sync_params_buffers",
]


def fused_allreduce_gradients(parameter_list: Any, hcg: Any) -> None:
    """Average the gradients over the data-parallel processes: they stay as they are."""


def sync_params_buffers(
    model: Any, comm_group: Any = None, src_rank: int = 0, is_model_parallel: bool = False, fuse_params: bool = True
) -> None:
    """Give the source rank's parameters and buffers to all: they stay as they are."""


__getattr__ = guard(globals())
