"""What a job returns without a return annotation: blobs outside the graph, and results to wait for (v0.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.errors import UsageError


class LocalBlob:
    """An array with OneFlow's methods; other attributes are the array's.

    Args:
        array: the array; in the mirrored view a list with one per device.
    """

    def __init__(self, array: np.ndarray | list[np.ndarray]) -> None:
        self._arrays = array if isinstance(array, list) else [array]
        self._array = self._arrays[0]

    def numpy(self, parallel_id: int | None = None) -> np.ndarray:
        """Return the array, or that of one device.

        Raises:
            UsageError: there are several and none was chosen, or the device is not there.
        """
        if parallel_id is None and len(self._arrays) > 1:
            raise UsageError(
                f"the blob has an array on each of {len(self._arrays)} devices",
                help="use numpy_list(), or numpy(device)",
            )
        if not 0 <= (parallel_id or 0) < len(self._arrays):
            raise UsageError(
                f"the blob has {len(self._arrays)} arrays, one per device; number {parallel_id} is not there"
            )
        return self._arrays[parallel_id or 0]

    def numpy_list(self) -> list[np.ndarray]:
        """Return one array per device."""
        return list(self._arrays)

    ndarray = numpy
    ndarray_list = numpy_list

    @property
    def is_dynamic(self) -> bool:
        """Whether the size may vary."""
        return False

    def parallel_num(self) -> int:
        """Number of devices that have an array of their own."""
        return len(self._arrays)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array, dtype=dtype, copy=copy)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._array, name)

    def __repr__(self) -> str:
        return f"LocalBlob({self._array!r})"


class Future:
    """The result of a job call; it is already available, since jobs run when they are called."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        """Return the result: blobs in the structure that the job returned."""
        return self._value

    def async_get(self, callback: Callable[[Any], Any]) -> None:
        """Call a function with the result."""
        callback(self._value)
