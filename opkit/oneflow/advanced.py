"""``flow.advanced``: one blob of several, one per device of the placement (v0.4).

The blobs are whole here wherever they lie, so that it is the plain concatenation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.oneflow import array
from opkit.oneflow.scope import current_scope
from opkit.ops.core.types import Name
from opkit.shim.missing import guard

__all__ = ["distribute_concat"]

Blob = Any


def distribute_concat(xs: Sequence[Blob], axis: int = 0, name: Name = None) -> Blob:
    """Join the blobs of the devices of the current placement along an axis.

    Raises:
        UsageError: there is not one blob per device.
    """
    count = current_scope().device_parallel_desc_symbol.parallel_num
    if len(xs) != count:
        raise UsageError(
            f"flow.advanced.distribute_concat takes one blob for each of the {count} devices, got {len(xs)}",
            help="call it within flow.scope.placement(...) of as many devices",
        )
    return array.concat(list(xs), axis)


__getattr__ = guard("flow.advanced", __all__)
