"""Halves: in what a gradient in bfloat16 or float16 differs from the one in float32, as far as half precision can tell.

float16 has a small range; what leaves it is told apart from what a function does wrong. Nothing is run here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opkit.checker.model.agreement import mostly_agree

_HALF = np.finfo(np.float16)
#: The power of an input that float16 must hold before a gradient that is not finite in it is a fault: formulas with a
#: square of a square norm (reflections, normalizations) leave its range on the way for values whose gradient it holds.
_POWER = 4


def difference(
    exact: np.ndarray,
    given: np.ndarray,
    dtype: str,
    eps: float,
    incoming: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
    sources: Sequence[np.ndarray],
) -> str:
    """Say what a gradient in half precision is that float32's is not, "" where they agree or the range explains it.

    Args:
        exact: the gradient in float32.
        given: that in half precision, as float32 or as it is.
        dtype: "float16" or "bfloat16".
        eps: its resolution.
        incoming: the incoming gradients.
        results: forward's, in half precision.
        sources: the inputs.
    """
    if dtype == "float16" and not np.isfinite(given).all():
        if not all(np.isfinite(item).all() for item in _floats(results)) or is_beyond_half(exact, given, sources):
            return ""
        return f"is not finite in {dtype}, which can hold what float32 gives"
    largest = max((float(np.abs(item).max(initial=0.0)) for item in _floats(incoming)), default=0.0)
    return "" if mostly_agree([exact], [given], eps, largest) else f"is another one in {dtype} than in float32"


def is_beyond_half(exact: np.ndarray, given: np.ndarray, sources: Sequence[np.ndarray]) -> bool:
    """Say whether float16's range explains why a gradient is not finite in it.

    It does where the exact gradient lies beyond the range, or a power of an input that formulas go through on the way.

    Args:
        exact: in a wider dtype.
        given: in float16.
        sources: the inputs.
    """
    lost = ~np.isfinite(given)
    if exact.shape != given.shape or not (np.abs(exact[lost]) <= float(_HALF.max)).all():
        return True
    for array in _floats(sources):
        sizes = np.abs(array.astype(np.float64))
        least = float(sizes.min(initial=1.0, where=sizes > 0))
        with np.errstate(over="ignore"):
            most = float((sizes * sizes).sum()) ** (_POWER / 2)
        if least**_POWER < float(_HALF.smallest_subnormal) or most > float(_HALF.max):
            return True
    return False


def _floats(items: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [item for item in items if item.dtype.kind == "f"]
