"""An observer that finds the op which first makes NaN or infinity out of finite numbers.

It is told of every op that runs (``opkit.ops.core.mode``); installing it is the caller's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import OpkitError
from opkit.ops.core.opdef import OpDef

__all__ = ["NonFiniteResultError", "refuse_non_finite"]


class NonFiniteResultError(OpkitError, ArithmeticError):
    """An op made NaN or infinity out of finite numbers, and the user asked to be told."""


def refuse_non_finite(
    opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any], seconds: float
) -> None:
    """Raise where an op's result is not finite though its inputs are.

    Raises:
        NonFiniteResultError: names the op, the output and how many of its values are not finite.
    """
    for index, output in enumerate(outputs):
        bad = _count(output)
        if bad and not any(_count(item) for item in inputs):
            shown = ", ".join(_range_of(item) for item in inputs if isinstance(item, np.ndarray))
            raise NonFiniteResultError(
                f"op {opdef.name!r} made {bad} NaN or infinite value{'s' if bad > 1 else ''} of {np.size(output)} in "
                f"output {index} out of finite inputs ({shown})",
                where=opdef.where,
            )


def _count(item: Any) -> int:
    if not isinstance(item, np.ndarray) or item.dtype.kind not in "fc":
        return 0
    return int(item.size - np.count_nonzero(np.isfinite(item)))


def _range_of(array: np.ndarray) -> str:
    if not array.size or array.dtype.kind not in "fiu":
        return f"{array.dtype}{list(array.shape)}"
    return f"{array.dtype}{list(array.shape)} from {array.min():.3g} to {array.max():.3g}"
