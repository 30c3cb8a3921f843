"""A kernel run between guard zones: what it writes outside its outputs, to its inputs, or leaves unwritten is seen.

For checks: each call copies all arrays. What to say about what was found is the caller's business.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opkit.native.library import Plan
from opkit.native.sanitized import SanitizedPlan

#: Bytes on each side of an array; a multiple of what vectors are aligned to.
_ZONE = 512
_MARK = 0xA7
#: What outputs hold before the call: NaN as a float, -1 as an integer.
_UNSET = 0xFF


def run_guarded(
    plan: Plan | SanitizedPlan, inputs: Sequence[np.ndarray], outputs: Sequence[tuple[tuple[int, ...], np.dtype]]
) -> tuple[list[np.ndarray], list[str]]:
    """Run a plan on copies of arrays.

    Args:
        plan: the kernel.
        inputs: its inputs.
        outputs: shape and dtype of each output.

    Returns:
        its results, and what it did wrong: a sentence each.

    Raises:
        KernelError: a check of the kernel failed, or it threw.
    """
    given = [_Zoned(array.shape, array.dtype) for array in inputs]
    for zoned, array in zip(given, inputs):
        zoned.array[...] = array
    made = [_Zoned(shape, dtype, _UNSET) for shape, dtype in outputs]
    plan.run((*[item.array for item in given], *[item.array for item in made]))
    troubles: list[str] = []
    for tensor, zoned in zip((*plan.signature.inputs, *plan.signature.outputs), (*given, *made)):
        label = tensor.name if not tensor.index else f"{tensor.name} {tensor.index}"
        troubles += [f"it writes {part} {label!r}" for part in zoned.outside()]
    for tensor, zoned, array in zip(plan.signature.inputs, given, inputs):
        if zoned.array.tobytes() != array.tobytes():
            troubles.append(f"it writes to its input {tensor.name!r}")
    unset = [np.flatnonzero(zoned.unset()) for zoned in made]
    if any(len(places) for places in unset):
        again = [_Zoned(shape, dtype, 0x5A) for shape, dtype in outputs]
        plan.run((*[item.array for item in given], *[item.array for item in again]))
        for tensor, zoned, places in zip(plan.signature.outputs, again, unset):
            left = int(np.count_nonzero(zoned.unset().take(places)))
            if left:
                total = zoned.array.size
                troubles.append(f"it leaves {left} of {total} elements of its output {tensor.name!r} unwritten")
    return [item.array.copy() for item in made], troubles


class _Zoned:
    """An array between two zones of marked bytes."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, fill: int = _UNSET) -> None:
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        whole = np.full(size + 2 * _ZONE + 64, _MARK, np.uint8)
        start = _ZONE + -(whole.ctypes.data + _ZONE) % 64
        self._before, self._after = whole[:start], whole[start + size :]
        self._inside = whole[start : start + size]
        self._inside[:] = self._fill = fill
        self.array = self._inside.view(dtype).reshape(shape)

    def outside(self) -> list[str]:
        """Return in words where bytes outside the array were changed."""
        found = []
        before, after = np.flatnonzero(self._before != _MARK), np.flatnonzero(self._after != _MARK)
        if len(after):
            found.append(f"past the end of (up to {int(after[-1]) + 1} bytes)")
        if len(before):
            found.append(f"before the start of (up to {len(self._before) - int(before[0])} bytes)")
        return found

    def unset(self) -> np.ndarray:
        """Say of each element whether it still holds what it was filled with."""
        rows = self._inside.reshape(-1, self.array.dtype.itemsize)
        return np.asarray((rows == self._fill).all(axis=1))
