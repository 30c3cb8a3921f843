"""What a job returns without a return annotation: blobs outside the graph, and results to wait for (v0.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Future", "LocalBlob"]


class LocalBlob:
    """An array with OneFlow's methods; other attributes are the array's."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def numpy(self, parallel_id: int | None = None) -> np.ndarray:
        """Return the array."""
        return self._array

    def numpy_list(self) -> list[np.ndarray]:
        """Return one array per device: a list with one."""
        return [self._array]

    ndarray = numpy
    ndarray_list = numpy_list

    @property
    def is_dynamic(self) -> bool:
        """Whether the size may vary."""
        return False

    def parallel_num(self) -> int:
        """Number of devices: 1."""
        return 1

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
