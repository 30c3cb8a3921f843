"""Readers made of readers. Samples are read in this process and thread, in their order.

``paddle.batch``: a reader of batches from a reader of samples.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Function
from opkit.shim.missing import guard

__all__ = [
    "buffered",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]


Reader = Callable[[], Iterable[Any]]


def map_readers(func: Function, *readers: Reader) -> Reader:
    """Return a reader of a function's results for the samples of readers, side by side."""
    return lambda: map(func, *(reader() for reader in readers))


def shuffle(reader: Reader, buf_size: int) -> Reader:
    """Return a reader that shuffles each ``buf_size`` samples (with Python's ``random``), at least one at a time."""

    def read() -> Iterator[Any]:
        samples = iter(reader())
        while buffer := list(itertools.islice(samples, max(buf_size, 1))):
            random.shuffle(buffer)
            yield from buffer

    return read


def buffered(reader: Reader, size: int) -> Reader:
    """Return a reader of the same samples; they are read when they are asked for."""
    return lambda: iter(reader())


def xmap_readers(
    mapper: Callable[[Any], Any], reader: Reader, process_num: int, buffer_size: int, order: bool = False
) -> Reader:
    """Return a reader of a function's results for each sample, always in the order of the samples.

    Args:
        mapper: the function.
        reader: gives the samples.
        process_num: accepted; the function runs in this thread.
        buffer_size: accepted, without effect.
        order: accepted; the order is always kept.
    """
    return lambda: map(mapper, reader())


def multiprocess_reader(readers: Sequence[Reader], use_pipe: bool = True, queue_size: int = 1000) -> Reader:
    """Return a reader of the samples of readers, one sample of each in turn; all are read in this process.

    Raises:
        UsageError: there is no reader.
        ValueError: (the reader) a sample is None.
    """
    if not readers:
        raise UsageError("multiprocess_reader takes a list of readers, got none")

    def read() -> Iterator[Any]:
        left = [iter(reader()) for reader in readers]
        while left:
            for samples in list(left):
                try:
                    sample = next(samples)
                except StopIteration:
                    left.remove(samples)
                    continue
                if sample is None:
                    raise ValueError("multiprocess_reader: a sample is None")
                yield sample

    return read


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


__getattr__ = guard(globals())
