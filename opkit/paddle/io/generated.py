"""``DataLoader.from_generator``: batches from a script's function that yields samples or batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.ops.core.mode import local
from opkit.paddle.io.loader import fed_by_name, with_tensors

#: The loaders that a program reads from by itself.
_READERS: WeakKeyDictionary[Any, list[GeneratorLoader]] = WeakKeyDictionary()


class EOFException(Exception):
    """A reader has no more data."""


class GeneratorLoader:
    """A loader whose generator is set afterwards.

    Args:
        feed_list: Variables; with ``return_list=False`` batches are dicts by their names.
        iterable: batches are iterated over; False, in a graph: between ``start()`` and ``reset()`` each run of the
            program takes the next batch by itself, and raises EOFException behind the last.
        return_list: batches are lists of Tensors.

    Raises:
        UsageError: batches are to be dicts, or taken by the program, and there are no Variables.
    """

    def __init__(self, feed_list: Any, iterable: bool, return_list: bool) -> None:
        if not return_list and not feed_list:
            raise UsageError("DataLoader.from_generator: feed_list is needed where return_list is False")
        # In dynamic mode Paddle iterates in either case.
        self.iterable = iterable or not local.mode.is_static
        if not self.iterable and not feed_list:
            raise UsageError("DataLoader.from_generator(iterable=False): feed_list says what the program reads")
        self._feed_list, self._return_list = feed_list, return_list
        self._running: Iterator[Any] | None = None
        if not self.iterable:
            _READERS.setdefault(feed_list[0].block.program, []).append(self)
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

    def start(self) -> None:
        """Begin with the first batch, for the program that reads them.

        Raises:
            UsageError: the loader is iterated over.
        """
        if self.iterable:
            raise UsageError("DataLoader.start(): an iterable loader is iterated over", help="iterable=False")
        self._running = iter(self)

    def reset(self) -> None:
        """Leave the batches that are not read."""
        self._running = None

    _reset = reset

    def _read(self) -> dict[str, Any]:
        if self._running is None:
            raise UsageError("the program reads from a DataLoader that is not started", help="call its start()")
        batch = next(self._running, None)
        if batch is None:
            self._running = None
            raise EOFException("the DataLoader has no more batches; call its reset(), then start()")
        return fed_by_name(self._feed_list, batch)[0] if self._return_list else batch[0]

    def __iter__(self) -> Iterator[Any]:
        if self._batches is None:
            raise UsageError("the loader has no generator", help="call set_sample_generator, or set_batch_generator")
        for batch in self._batches():
            fields = with_tensors(list(batch) if isinstance(batch, tuple) else batch)
            yield fields if self._return_list else fed_by_name(self._feed_list, fields)

    def __call__(self) -> Iterator[Any]:
        """Return an iterator over the batches."""
        return iter(self)


def with_batches(program: Any, feed: Any) -> Any:
    """Return a feed with the next batch of each loader that a program reads from.

    Raises:
        EOFException: there is none.
    """
    loaders = _READERS.get(program)
    if not loaders:
        return feed
    read = {} if feed is None else dict(feed)
    for loader in loaders:
        if any(variable.name not in read for variable in loader._feed_list):
            read = {**loader._read(), **read}
    return read


def _joined(samples: Any) -> list[ndarray]:
    """Return samples, which are tuples of arrays, numbers and lists of numbers, as one array per field."""
    return [np.stack([np.asarray(part) for part in column]) for column in zip(*samples, strict=True)]
