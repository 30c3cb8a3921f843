"""Pattern: a guess at what a wrong Jacobian is, by comparing it with the numeric one.

A guess helps a reader; no verdict depends on it.
"""

from __future__ import annotations

import numpy as np

from opkit.checker.model.thresholds import (
    PATTERN,
)

#: What a gradient is that passes through a step.
FLAT = "nonzero where the derivative is 0"


def guess_pattern(claimed: np.ndarray, numeric: np.ndarray, shape: tuple[int, ...]) -> str:
    """Name the simplest change that turns the numeric Jacobian into the claimed one, "" where none is known.

    Args:
        claimed: (J, n) what backward gives.
        numeric: (J, n) numeric derivatives.
        shape: of the input (n elements).
    """
    finite = np.isfinite(claimed) & np.isfinite(numeric)
    if not finite.any():
        return "not finite"
    claimed, numeric = np.where(finite, claimed, 0.0), np.where(finite, numeric, 0.0)
    size = float(np.abs(numeric).max(initial=0.0))
    if not size:
        return FLAT if np.abs(claimed).max(initial=0.0) else ""
    if not np.abs(claimed).max(initial=0.0):
        return "always zero"
    close = _Close(size)
    if close(claimed, -numeric):
        return "wrong sign"
    factor = float((claimed * numeric).sum() / (numeric * numeric).sum())
    missed = float(np.abs(claimed - numeric).max())
    if close(claimed, factor * numeric) and np.abs(claimed - factor * numeric).max() <= missed / 2:
        return f"wrong by a factor of {factor:.9g}"
    if missed <= PATTERN * size:
        return f"like an approximation: off by {missed / size:.1g} of the largest derivative"
    return _structured(claimed, numeric, shape, close)


class _Close:
    """Equality to a thousandth of what matters."""

    def __init__(self, size: float) -> None:
        self.size = size

    def __call__(self, one: np.ndarray, other: np.ndarray) -> bool:
        return bool(np.abs(one - other).max(initial=0.0) <= PATTERN * self.size)


def _structured(claimed: np.ndarray, numeric: np.ndarray, shape: tuple[int, ...], close: _Close) -> str:
    if claimed.shape[0] == claimed.shape[1] and close(claimed, numeric.T):
        return "transposed"
    if len(shape) >= 2:
        turned = numeric.reshape(-1, *shape).swapaxes(-1, -2).reshape(numeric.shape)
        if close(claimed, turned):
            return "the gradient is transposed over the last two axes"
    for step in (1, -1):
        if close(claimed, np.roll(numeric, step, axis=1)):
            return f"shifted by {step} element"
        if close(claimed, np.roll(numeric, step, axis=0)):
            return f"takes dy shifted by {step} element"
    wrong = np.abs(claimed - numeric) > PATTERN * close.size
    columns = np.flatnonzero(wrong.any(axis=0))
    if not columns.size:
        return ""
    if not np.abs(claimed[:, columns]).max(initial=0.0):
        return _where("zero", columns, claimed.shape[1])
    if close(claimed[:, columns], -numeric[:, columns]):
        return _where("of the wrong sign", columns, claimed.shape[1])
    ratio = float((claimed[:, columns] * numeric[:, columns]).sum() / ((numeric[:, columns] ** 2).sum() or 1.0))
    if ratio and close(claimed[:, columns], ratio * numeric[:, columns]):
        return _where(f"wrong by a factor of {ratio:.9g}", columns, claimed.shape[1])
    rows = np.flatnonzero(wrong.any(axis=1))
    if len(columns) < claimed.shape[1]:
        return _where("wrong", columns, claimed.shape[1])
    if len(rows) < claimed.shape[0]:
        return f"wrong for {len(rows)} of {claimed.shape[0]} outputs' elements"
    if close(np.broadcast_to(claimed.sum(axis=1, keepdims=True), claimed.shape), claimed * claimed.shape[1]):
        return "the same for every element of the input: one sum too many"
    return ""


def _where(what: str, columns: np.ndarray, size: int) -> str:
    if len(columns) == size:
        return f"{what} everywhere"
    if len(columns) == 1:
        return f"{what} at element {int(columns[0])} only"
    if columns[-1] == size - 1 and len(columns) == columns[-1] - columns[0] + 1:
        return f"{what} in the last {len(columns)} of {size} elements"
    return f"{what} at {len(columns)} of {size} elements"
