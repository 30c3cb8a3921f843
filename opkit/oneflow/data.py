"""Data sets (``flow.data``): read from a local file, never downloaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import MissingNameError, UsageError
from opkit.foreign import FormatError, read_array, read_entries, read_file

__all__ = ["load_mnist"]

#: The largest file that is read, and what its arrays may come to, in bytes; MNIST has 55 million.
_LARGEST = 1 << 30
_FIELDS = ("x_train", "y_train", "x_test", "y_test")
Split = tuple[ndarray, ndarray]


def load_mnist(
    train_batch_size: int = 100,
    test_batch_size: int = 100,
    data_format: str = "NCHW",
    url: str = "",
    hash_check: str = "",
    out_dir: str = ".",
) -> tuple[Split, Split]:
    """Return MNIST in batches: ``(train_images, train_labels), (test_images, test_labels)``.

    Reads ``mnist.npz`` from ``out_dir``, the working folder or the folder that the environment variable
    OPKIT_DATA names; ``url`` and ``hash_check`` are accepted for compatibility with OneFlow and not used.

    Args:
        train_batch_size: images per training batch; images that do not fill a batch are refused, as in OneFlow.
        test_batch_size: images per test batch.
        data_format: "NCHW" for images (batches, batch, 1, height, width), else (batches, batch, height, width, 1).
        out_dir: the folder looked into first.

    Returns:
        float32 images scaled to [0, 1] and int32 labels (batches, batch).

    Raises:
        UsageError: the file is missing or of another kind, or its images do not fill whole batches.
    """
    path = _find("mnist.npz", out_dir)
    try:
        entries, _ = read_entries(read_file(path, _LARGEST), inflated=_LARGEST)
        found = [read_array(entries[f"{name}.npy"]) for name in _FIELDS]
    except (OSError, KeyError, FormatError) as problem:
        raise UsageError(
            f"{path} is not an mnist.npz: {problem}",
            help=f"it needs the arrays {', '.join(_FIELDS)} (no pickled objects)",
        ) from problem
    train = _batches(path, found[0], found[1], train_batch_size, data_format)
    test = _batches(path, found[2], found[3], test_batch_size, data_format)
    return train, test


def _find(name: str, out_dir: str) -> Path:
    folders = [Path(out_dir), Path()]
    if os.environ.get("OPKIT_DATA"):
        folders.append(Path(os.environ["OPKIT_DATA"]))
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    looked = ", ".join(str(folder.resolve()) for folder in dict.fromkeys(folders))
    raise UsageError(
        f"{name} was not found (looked in {looked}); opkit never downloads data",
        help=f"put {name} into the working folder, or set OPKIT_DATA to its folder",
    )


def _batches(path: Path, images: ndarray, labels: ndarray, size: int, data_format: str) -> Split:
    if images.ndim != 3 or len(images) != len(labels):
        raise UsageError(
            f"{path}: expected images (n, height, width) with n labels, got {images.shape} and {labels.shape}"
        )
    if size <= 0 or len(images) % size:
        raise UsageError(f"{path}: {len(images)} images cannot be divided into batches of {size}")
    _, height, width = images.shape
    tail = (1, height, width) if data_format == "NCHW" else (height, width, 1)
    scaled = images.astype(np.float32) / 255.0
    return scaled.reshape((-1, size, *tail)), labels.astype(np.int32).reshape((-1, size))


def __getattr__(name: str) -> Any:
    raise MissingNameError(
        f"opkit's flow.data has no {name!r}: OneFlow's record readers are not part of it",
        help="feed numpy arrays to the job, or use flow.data.load_mnist",
    )
