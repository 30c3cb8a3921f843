"""``flow.advanced``: one blob of several, one per device of the placement, and the other way round (v0.4).

The blobs are whole here wherever they lie, so that each function is the plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.oneflow import array
from opkit.oneflow import math as flow_math
from opkit.oneflow.passing import identity
from opkit.oneflow.scope import current_scope
from opkit.ops.core.types import Name
from opkit.shim.missing import guard

__all__ = ["distribute_add", "distribute_clone", "distribute_concat", "distribute_map", "distribute_split"]

Blob = Any


def distribute_clone(x: Blob, name: Name = None) -> tuple[Blob, ...]:
    """Return a copy for each device of the current placement."""
    return tuple(identity(x) for _ in range(_count()))


def distribute_split(x: Blob, axis: int = 0, name: Name = None) -> tuple[Blob, ...]:
    """Return a part, along an axis, for each device of the current placement."""
    return tuple(array.split(x, _count(), axis))


def distribute_concat(xs: Sequence[Blob], axis: int = 0, name: Name = None) -> Blob:
    """Join the blobs of the devices of the current placement along an axis.

    Raises:
        UsageError: there is not one blob per device.
    """
    return array.concat(_one_each("distribute_concat", xs), axis)


def distribute_add(xs: Sequence[Blob], name: Name = None) -> Blob:
    """Add up the blobs of the devices of the current placement.

    Raises:
        UsageError: there is not one blob per device.
    """
    return flow_math.add_n(_one_each("distribute_add", xs))


def distribute_map(xs: Sequence[Blob], f: Callable[[Blob], Blob], axis: int = 0) -> Blob:
    """Apply a function to each device's blob and join the results along an axis."""
    return distribute_concat([f(x) for x in xs], axis)


def _count() -> int:
    return current_scope().device_parallel_desc_symbol.parallel_num


def _one_each(asked_by: str, xs: Sequence[Blob]) -> list[Blob]:
    if len(xs) != _count():
        raise UsageError(
            f"flow.advanced.{asked_by} takes one blob for each of the placement's {_count()} devices, got {len(xs)}",
            help="call it within flow.scope.placement(...) of as many devices",
        )
    return list(xs)


__getattr__ = guard("flow.advanced", __all__)
