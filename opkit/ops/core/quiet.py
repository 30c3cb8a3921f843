"""Quiet kernels: those whose infinities and NaN are results, not warnings of numpy.

A NaN check decides whether such results are looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def quiet(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel with numpy's floating-point warnings switched off, marked as such (a decorator too)."""
    silenced: Any = np.errstate(all="ignore")(kernel)
    silenced.bare = kernel
    return silenced  # type: ignore[no-any-return]


def bare_kernel(kernel: Any) -> Callable[..., Any] | None:
    """Return what a quiet kernel runs, None for any other: one ``errstate`` may then surround many of them."""
    return getattr(kernel, "bare", None)
