"""Samplers: in which order, and in which batches, the samples of a dataset are read.

Random ones draw from numpy's global generator, as Paddle's do: ``numpy.random.seed`` fixes them, to the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import DtypeError, UsageError
from opkit.ops.core.types import Ints


class SamplerError(UsageError, AssertionError):
    """The settings of a sampler do not fit (Paddle raises AssertionError)."""


def _refuse_unless(holds: bool, message: str) -> None:
    if not holds:
        raise SamplerError(message)


class Sampler:
    """Base of samplers: subclasses define ``__iter__``, which yields indices."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"sampler {type(self).__name__} defines no __iter__")


class SequenceSampler(Sampler):
    """All indices in their order."""

    def __iter__(self) -> Iterator[Any]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All indices in random order; or some, drawn with replacement."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement is a bool, got {replacement!r}")
        if num_samples is not None and not replacement:
            raise UsageError("RandomSampler: num_samples has no meaning without replacement")
        self.replacement, self._count, self.generator = replacement, num_samples, generator
        if self.num_samples <= 0:
            raise UsageError(f"RandomSampler: num_samples must be positive, got {self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices are drawn."""
        return len(self.data_source) if self._count is None else self._count

    def __iter__(self) -> Iterator[Any]:
        if self.generator is not None:
            for _ in range(self.num_samples):
                try:
                    yield next(self.generator)
                except StopIteration:
                    return
            return
        size = len(self.data_source)
        yield from np.random.choice(np.arange(size), self.num_samples, replace=self.replacement).tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given indices in random order."""

    def __init__(self, indices: Ints) -> None:
        super().__init__()
        if len(indices) == 0:
            raise UsageError("SubsetRandomSampler: the list of indices is empty")
        self.indices = indices

    def __iter__(self) -> Iterator[Any]:
        from opkit.paddle.semantics import builders as ops

        return iter([self.indices[int(k)] for k in ops.generator().permutation(len(self.indices))])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with given weights, which are looked at when they are drawn.

    Args:
        weights: an array, a Tensor or a list: (n,), or (rows, n), of which each row is drawn from in turn.
        num_samples: how many indices are drawn of each row.
        replacement: whether an index may be drawn again.

    Source: Paddle 2.6, paddle.io.WeightedRandomSampler, which cannot tell the length where the weights are a list.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        super().__init__()
        _refuse_unless(isinstance(num_samples, int) and num_samples > 0, "num_samples must be a positive integer")
        _refuse_unless(isinstance(replacement, bool), "replacement must be a bool")
        self.weights, self.num_samples, self.replacement = weights, num_samples, replacement

    def _rows(self) -> ndarray:
        held = np.asarray(self.weights.numpy() if hasattr(self.weights, "numpy") else self.weights)
        _refuse_unless(held.ndim in (1, 2) and held.size > 0, f"weights have 1 or 2 axes, got shape {held.shape}")
        if held.dtype.kind not in "biuf":
            raise DtypeError(f"WeightedRandomSampler: weights are numbers, got {held.dtype}")
        return held.reshape(-1, held.shape[-1])

    def __iter__(self) -> Iterator[Any]:
        rows = self._rows()
        _refuse_unless(bool((np.isfinite(rows) & (rows >= 0)).all()), "weights must be finite and not negative")
        positive = (rows > 0).sum(1)
        _refuse_unless(bool((positive > 0).all()), "the weights must not all be 0")
        if not self.replacement:
            enough = bool((positive >= self.num_samples).all())
            _refuse_unless(enough, "more samples than positive weights, without replacement")
        drawn = [np.random.choice(len(row), self.num_samples, self.replacement, row / row.sum()) for row in rows]
        return iter(np.concatenate(drawn).tolist())

    def __len__(self) -> int:
        return self.num_samples * len(self._rows())


class BatchSampler(Sampler):
    """Lists of indices: the batches.

    Args:
        dataset: read in its order, or in random order with ``shuffle``; or
        sampler: says the order.
        shuffle: of a dataset.
        batch_size: indices in a list.
        drop_last: leave out the last list where it is shorter.
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        super().__init__()
        if dataset is None:
            _refuse_unless(sampler is not None, "BatchSampler: give a dataset or a sampler")
            _refuse_unless(not shuffle, "BatchSampler: shuffle is for a dataset, a sampler has its own order")
            self.sampler = sampler
        else:
            _refuse_unless(sampler is None, "BatchSampler: give a dataset or a sampler, not both")
            _refuse_unless(isinstance(shuffle, bool), f"BatchSampler: shuffle is a bool, got {shuffle!r}")
            self.sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        _refuse_unless(
            isinstance(batch_size, int) and batch_size > 0,
            f"BatchSampler: batch_size must be positive, got {batch_size!r}",
        )
        _refuse_unless(isinstance(drop_last, bool), f"BatchSampler: drop_last is a bool, got {drop_last!r}")
        self.shuffle, self.batch_size, self.drop_last = shuffle, batch_size, drop_last

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of one of several processes; on one machine, of the only one."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        super().__init__(dataset, None, False, batch_size, drop_last)
        self.dataset, self.shuffle = dataset, shuffle
        self.nranks, self.local_rank = num_replicas or 1, rank or 0
        self.epoch = 0
        self.num_samples = -(-len(dataset) // self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self) -> Iterator[Any]:
        indices = np.arange(len(self.dataset)).tolist()
        indices += indices[: self.total_size - len(indices)]
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(indices)
            self.epoch += 1
        mine = self._mine(indices)
        for start in range(0, len(mine), self.batch_size):
            batch = mine[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def _mine(self, indices: list[int]) -> list[int]:
        """Return this process' indices: every n-th batch, and its part of the rest."""
        step = self.batch_size * self.nranks
        whole = self.total_size // step * step
        mine: list[int] = []
        for start in range(self.local_rank * self.batch_size, whole, step):
            mine += indices[start : start + self.batch_size]
        rest = indices[whole:]
        share = len(rest) // self.nranks
        return mine + rest[self.local_rank * share : (self.local_rank + 1) * share]

    def __len__(self) -> int:
        count = self.num_samples
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch."""
        self.epoch = epoch
