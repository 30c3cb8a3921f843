"""Splitting: which part of an axis each device has.

Source: OneFlow v0.4.0, core/common/balanced_splitter.cpp; which splits are used, core/operator/operator.cpp,
FilterAndCheckValidSbpSignatureListByLogicalShape.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from opkit.errors import UsageError


@lru_cache(512)
def balanced(size: int, count: int) -> tuple[range, ...]:
    """Return the part of an axis that each device has: the first ``size % count`` have one element more.

    Devices beyond the size have an empty part; jobs do not split an axis that is shorter than the number of devices.

    Args:
        size: of the axis.
        count: of devices.

    Raises:
        UsageError: a negative size, or no device.
    """
    if size < 0 or count < 1:
        raise UsageError(f"an axis of size {size} cannot be split over {count} devices")
    small, larger = divmod(size, count)
    starts = [index * small + min(index, larger) for index in range(count + 1)]
    return tuple(range(start, stop) for start, stop in pairwise(starts))


def shard_sizes(size: int, count: int) -> tuple[int, ...]:
    """Return how many elements of an axis each device has."""
    return tuple(len(part) for part in balanced(size, count))
