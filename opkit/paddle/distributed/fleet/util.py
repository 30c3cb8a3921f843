"""``UtilBase``: small exchanges of arrays and files between workers, of which there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError


class UtilBase:
    """``fleet.util``."""

    def all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> ndarray:
        """Return the sum, minimum or maximum of all workers' arrays: this one.

        Raises:
            UsageError: ``mode`` is none of these.
        """
        if mode not in ("sum", "min", "max"):
            raise UsageError(f"fleet.util.all_reduce: mode is 'sum', 'min' or 'max', got {mode!r}")
        return np.array(input)

    def all_gather(self, input: Any, comm_world: str = "worker") -> list[Any]:
        """Return all workers' values: a list of this one."""
        return [input]

    def barrier(self, comm_world: str = "worker") -> None:
        """Return at once: there is no other worker to arrive."""

    def get_file_shard(self, files: list[str]) -> list[str]:
        """Return this worker's files: all.

        Raises:
            TypeError: ``files`` is not a list.
        """
        if not isinstance(files, list):
            raise TypeError(f"get_file_shard takes a list of file names, got {type(files).__name__}")
        return list(files)
