"""Datasets: by index or one sample after the other, joined, cut and split."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Ints
from opkit.paddle.semantics import builders as ops


class DatasetError(UsageError, AssertionError):
    """Datasets that do not fit each other (Paddle raises AssertionError)."""


class NoIndexError(RuntimeError, TypeError):
    """An IterableDataset has no length and no index (Paddle raises RuntimeError; ``list()`` looks for a TypeError)."""


class Dataset:
    """Base of datasets by index: subclasses define ``__getitem__`` and ``__len__``."""

    def __init__(self) -> None:
        pass

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError(f"dataset {type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"dataset {type(self).__name__} defines no __len__")


class IterableDataset(Dataset):
    """Base of datasets that are read from the start: subclasses define ``__iter__``."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"dataset {type(self).__name__} defines no __iter__")

    def __getitem__(self, idx: Any) -> Any:
        raise NoIndexError(f"dataset {type(self).__name__} is an IterableDataset, which has no index")

    def __len__(self) -> int:
        raise NoIndexError(f"dataset {type(self).__name__} is an IterableDataset, which has no length")


class TensorDataset(Dataset):
    """Rows of tensors.

    Args:
        tensors: tensors with the same number of rows.
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        if not all(len(item) == len(tensors[0]) for item in tensors):
            raise DatasetError(f"TensorDataset: the numbers of rows differ: {[len(item) for item in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class ConcatDataset(Dataset):
    """Several datasets, one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise DatasetError("ConcatDataset: the list of datasets is empty")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise UsageError(f"ConcatDataset: index {idx} is out of range for {len(self)} samples")
            idx += len(self)
        at = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[at][idx - (self.cumulative_sizes[at - 1] if at else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class Subset(Dataset):
    """The samples of a dataset that indices name."""

    def __init__(self, dataset: Any, indices: Ints) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: int) -> Any:
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[Any], generator: Any = None) -> list[Subset]:
    """Return subsets of a dataset, drawn without replacement.

    Args:
        dataset: by index.
        lengths: how many samples each gets, together all; or shares that add up to 1.
        generator: accepted, without effect, as in Paddle.
    """
    count = len(dataset)
    sizes = [int(item) for item in lengths]
    if all(0 <= item <= 1 for item in lengths) and abs(sum(lengths) - 1) < 1e-9 and sum(lengths) != count:
        sizes = [int(count * share) for share in lengths]
        for k in range(count - sum(sizes)):
            sizes[k % len(sizes)] += 1
    if sum(sizes) != count:
        raise UsageError(f"random_split: the lengths {list(lengths)} do not add up to {count}")
    order = ops.generator().permutation(count).tolist()
    ends = list(accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends)]
