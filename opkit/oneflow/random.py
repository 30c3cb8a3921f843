"""``flow.random``: draws within jobs (OneFlow v0.4 names). The ops are in ``opkit.ops``."""

from __future__ import annotations

from typing import Any

from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.user_op import as_value
from opkit.ops.core.types import Name
from opkit.ops.core.value import shape_of
from opkit.shim.missing import guard

__all__ = ["generate_random_batch_permutation_indices", "shuffle"]

Blob = Any


def generate_random_batch_permutation_indices(value: Blob, seed: int | None = None, name: Name = None) -> Blob:
    """Return the places of a blob's rows in random order (int32)."""
    return ops.randperm(shape_of(as_value(value))[0], "int32", seed or 0)


def shuffle(value: Blob, seed: int | None = None, name: Name = None) -> Blob:
    """Return a blob with its rows in random order."""
    return ops.gather(as_value(value), generate_random_batch_permutation_indices(value, seed), 0)


__getattr__ = guard("flow.random", __all__)
