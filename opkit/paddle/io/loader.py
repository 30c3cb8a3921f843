"""``DataLoader``: batches of tensors from a dataset, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager import Tensor, wrap
from opkit.errors import UsageError
from opkit.ops.core.mode import local
from opkit.paddle.io.dataset import IterableDataset
from opkit.paddle.io.sampler import BatchSampler


class LoaderError(UsageError, AssertionError):
    """The settings of a DataLoader do not fit (Paddle raises AssertionError)."""


def get_worker_info() -> None:
    """Return None: samples are read in the main process."""
    return


# ---- joining samples -------------------------------------------------------------------------------------------------
def default_collate_fn(batch: Sequence[Any]) -> Any:
    """Return samples joined field by field along a new first axis; strings stay in lists.

    Raises:
        TypeError: a field is of a type that cannot be joined.
    """
    first = batch[0]
    if isinstance(first, ndarray):
        return np.stack(batch)
    if isinstance(first, Tensor):
        return wrap(np.stack([item._data for item in batch]))
    if isinstance(first, (Number, np.generic)):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate_fn([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(f"the samples of a batch have {sorted({len(s) for s in batch})} fields")
        return [default_collate_fn(fields) for fields in zip(*batch)]
    raise TypeError(f"a batch holds arrays, Tensors, numbers, strings, dicts and lists, got {type(first).__name__}")


def fed_by_name(feed_list: Sequence[Any], batch: Any) -> list[dict[str, Any]]:
    """Return a batch as an Executor takes it: fields by the names of Variables."""
    fields = batch if isinstance(batch, list) else [batch]
    return [{getattr(v, "name", v): field for v, field in zip(feed_list, fields)}]


def with_tensors(item: Any) -> Any:
    """Return a batch with its arrays as Tensors and its tuples as lists."""
    if isinstance(item, ndarray):
        return wrap(np.ascontiguousarray(item))
    if isinstance(item, np.generic):
        return wrap(np.asarray(item))
    if isinstance(item, Mapping):
        return {key: with_tensors(value) for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [with_tensors(value) for value in item]
    return item


class DataLoader:
    """Reads a dataset in batches.

    Args:
        dataset: by index, or an IterableDataset.
        feed_list: Variables; with ``return_list=False`` batches are dicts by their names, to be fed to an Executor.
        places: accepted, without effect.
        return_list: batches are lists of Tensors.
        batch_sampler: yields the lists of indices; then the next three have no effect.
        batch_size: samples in a batch; None: single samples, not joined.
        shuffle: a new random order each time.
        drop_last: leave out the last batch where it is shorter.
        collate_fn: joins the samples of a batch; left out: field by field.
        num_workers: accepted, without effect: samples are read in this process.
        use_buffer_reader: accepted, without effect.
        prefetch_factor: accepted, without effect.
        use_shared_memory: accepted, without effect.
        timeout: accepted, without effect.
        worker_init_fn: accepted, without effect.
        persistent_workers: accepted, without effect.
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if num_workers < 0:
            raise LoaderError(f"DataLoader: num_workers must not be negative, got {num_workers}")
        self.dataset, self.feed_list, self.return_list = dataset, feed_list, return_list
        self.collate_fn, self.num_workers, self.drop_last = collate_fn, num_workers, drop_last
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable and shuffle:
            raise UsageError("DataLoader: an IterableDataset has its own order, shuffle has no meaning")
        if self._is_iterable and batch_sampler is not None:
            raise UsageError("DataLoader: an IterableDataset has its own order, a batch_sampler has no meaning")
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last):
            raise LoaderError("DataLoader: batch_size, shuffle and drop_last are set by the batch_sampler")
        self.batch_sampler = batch_sampler
        self.batch_size = getattr(batch_sampler, "batch_size", None) if batch_sampler is not None else batch_size
        if batch_sampler is None and batch_size is not None:
            if batch_size <= 0:
                raise LoaderError(f"DataLoader: batch_size must be positive, got {batch_size}")
            if not self._is_iterable:
                self.batch_sampler = BatchSampler(dataset, None, shuffle, batch_size, drop_last)

    def __len__(self) -> int:
        if self._is_iterable:
            raise UsageError("DataLoader: the length of an IterableDataset is unknown")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches():
            found = with_tensors(batch)
            yield found if self.return_list or not self.feed_list else fed_by_name(self.feed_list, found)

    def __call__(self) -> Iterator[Any]:
        """Return an iterator over the batches."""
        return iter(self)

    @staticmethod
    def from_generator(
        feed_list: Any = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> Any:
        """Return a loader whose samples a function of the script yields; set it with ``set_sample_generator`` or kin.

        Args:
            feed_list: Variables, for batches by name.
            capacity: accepted, without effect.
            use_double_buffer: accepted, without effect.
            iterable: False, in a graph: the program takes the batches by itself.
            return_list: batches are lists of Tensors; in dynamic mode they always are.
            use_multiprocess: accepted, without effect.
            drop_last: accepted, without effect.
        """
        from opkit.paddle.io.generated import GeneratorLoader

        return GeneratorLoader(feed_list, iterable, return_list or not local.mode.is_static)

    def _batches(self) -> Iterator[Any]:
        if self.batch_size is None and self.batch_sampler is None:
            join = self.collate_fn or (lambda sample: sample)
            samples = self.dataset if self._is_iterable else (self.dataset[k] for k in range(len(self.dataset)))
            yield from map(join, samples)
            return
        join = self.collate_fn or default_collate_fn
        if not self._is_iterable:
            for indices in self.batch_sampler:
                yield join([self.dataset[k] for k in indices])
            return
        held: list[Any] = []
        for sample in self.dataset:
            held.append(sample)
            if len(held) == self.batch_size:
                yield join(held)
                held = []
        if held and not self.drop_last:
            yield join(held)
