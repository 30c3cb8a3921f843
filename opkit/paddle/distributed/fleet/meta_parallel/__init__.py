"""Layers that are divided over the processes of tensor parallelism: over one process each is whole."""

from opkit.paddle.distributed.fleet.meta_parallel.layers import (
    ColumnParallelLinear,
    ParallelCrossEntropy,
    RowParallelLinear,
    VocabParallelEmbedding,
)
from opkit.paddle.distributed.fleet.meta_parallel.random import (
    RNGStatesTracker,
    get_rng_state_tracker,
)
from opkit.shim.missing import guard

__all__ = [
    "ColumnParallelLinear",
    "ParallelCrossEntropy",
    "RNGStatesTracker",
    "RowParallelLinear",
    "VocabParallelEmbedding",
    "get_rng_state_tracker",
]

__getattr__ = guard(globals())
