"""``paddle.io``: datasets, samplers, and the DataLoader."""

from opkit.paddle.io.dataset import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
from opkit.paddle.io.loader import DataLoader, get_worker_info
from opkit.paddle.io.sampler import (
    BatchSampler,
    DistributedBatchSampler,
    RandomSampler,
    Sampler,
    SequenceSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from opkit.shim.missing import guard

__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedBatchSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "get_worker_info",
    "random_split",
]

__getattr__ = guard(globals())
