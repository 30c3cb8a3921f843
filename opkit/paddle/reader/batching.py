"""``paddle.batch``: a reader of batches from a reader of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opkit.errors import UsageError


def batch(
    reader: Callable[[], Iterator[Any]], batch_size: int, drop_last: bool = False
) -> Callable[[], Iterator[list[Any]]]:
    """Return a function that yields lists of ``batch_size`` samples.

    Args:
        reader: returns an iterator of samples.
        batch_size: samples per list.
        drop_last: leave out a last list with fewer samples.

    Raises:
        UsageError: the batch size is not positive.
    """
    size = int(batch_size)
    if size <= 0:
        raise UsageError(f"batch: batch_size must be positive, got {batch_size!r}")

    def batches() -> Iterator[list[Any]]:
        samples = []
        for sample in reader():
            samples.append(sample)
            if len(samples) == size:
                yield samples
                samples = []
        if samples and not drop_last:
            yield samples

    return batches
