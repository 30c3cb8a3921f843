"""``DataLoader.from_generator``: batches from a script's function that yields samples or batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.paddle.io.loader import fed_by_name, with_tensors

__all__ = ["GeneratorLoader"]


class GeneratorLoader:
    """A loader whose generator is set afterwards.

    Args:
        feed_list: Variables; with ``return_list=False`` batches are dicts by their names.
        iterable: must be True: batches are iterated over.
        return_list: batches are lists of Tensors.

    Raises:
        UsageError: ``iterable`` is False, or batches are to be dicts and there are no Variables.
    """

    def __init__(self, feed_list: Any, iterable: bool, return_list: bool) -> None:
        if not iterable:
            raise UsageError("DataLoader.from_generator(iterable=False): opkit's graphs are fed", help="iterable=True")
        if not return_list and not feed_list:
            raise UsageError("DataLoader.from_generator: feed_list is needed where return_list is False")
        self._feed_list, self._return_list = feed_list, return_list
        self._batches: Callable[[], Iterable[Any]] | None = None

    def set_sample_generator(
        self, reader: Callable[[], Iterable[Any]], batch_size: int, drop_last: bool = True, places: Any = None
    ) -> GeneratorLoader:
        """Take single samples and join each ``batch_size`` of them; return this loader.

        Raises:
            UsageError: ``batch_size`` is not positive.
        """
        if batch_size <= 0:
            raise UsageError(f"set_sample_generator: batch_size must be positive, got {batch_size}")

        def lists() -> Iterator[list[Any]]:
            held: list[Any] = []
            for sample in reader():
                held.append(sample if isinstance(sample, list | tuple) else (sample,))
                if len(held) == batch_size:
                    yield held
                    held = []
            if held and not drop_last:
                yield held

        return self.set_sample_list_generator(lists, places)

    def set_sample_list_generator(self, reader: Callable[[], Iterable[Any]], places: Any = None) -> GeneratorLoader:
        """Take lists of samples and join each field by field; return this loader."""
        self._batches = lambda: map(_joined, reader())
        return self

    def set_batch_generator(self, reader: Callable[[], Iterable[Any]], places: Any = None) -> GeneratorLoader:
        """Take whole batches; return this loader."""
        self._batches = reader
        return self

    def __iter__(self) -> Iterator[Any]:
        if self._batches is None:
            raise UsageError("the loader has no generator", help="call set_sample_generator, or set_batch_generator")
        for batch in self._batches():
            fields = with_tensors(list(batch) if isinstance(batch, tuple) else batch)
            yield fields if self._return_list else fed_by_name(self._feed_list, fields)

    def __call__(self) -> Iterator[Any]:
        """Return an iterator over the batches."""
        return iter(self)


def _joined(samples: Any) -> list[np.ndarray]:
    """Return samples, which are tuples of arrays, numbers and lists of numbers, as one array per field."""
    return [np.stack([np.asarray(part) for part in column]) for column in zip(*samples, strict=True)]
