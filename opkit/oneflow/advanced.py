"""``flow.advanced``: one blob of several, one per device of the placement, and the other way round (v0.4).

The blobs are whole here wherever they lie, so that each function is the plain one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.oneflow import array
from opkit.oneflow.scope import current_scope
from opkit.shim.missing import guard

__all__ = [
    "distribute_concat",
]

Blob = Any


def distribute_concat(xs: Sequence[Blob], axis: int = 0, name: str | None = None) -> Blob:
    """Join the blobs of the devices of the current placement along an axis.

    Raises:
        UsageError: there is not one blob per device.
    """
    return array.concat(_one_each("distribute_concat", xs), axis)


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
