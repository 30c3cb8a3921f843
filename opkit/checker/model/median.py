"""Middle: the median of a few numbers.

numpy's own imports masked arrays when it is first called, which takes a tenth of a whole check.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from opkit.checker.model.numbers import widened


def median(values: Sequence[float] | ndarray) -> float:
    """Return what ``np.median`` returns for numbers (n,), n > 0: NaN where one is NaN."""
    ordered = np.sort(widened(values), axis=None)
    if np.isnan(ordered[-1]):
        return float("nan")
    half = ordered.size // 2
    return float(ordered[half] if ordered.size % 2 else (ordered[half - 1] + ordered[half]) / 2.0)
