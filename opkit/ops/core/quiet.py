"""Quiet kernels: those whose infinities and NaN are results, not warnings of numpy.

A NaN check decides whether such results are looked for.
"""

from __future__ import annotations

from contextvars import Context
from typing import Any

import numpy as np

from opkit.ops.core.types import Function

#: Fewer elements than this stay in the cache: kernels that work block by block are passed by.
SMALL = 32768


def quiet(kernel: Function) -> Function:
    """Return the kernel with numpy's floating-point warnings switched off, marked as such (a decorator too)."""
    silenced: Any = np.errstate(all="ignore")(kernel)
    silenced.bare = kernel
    return silenced  # type: ignore[no-any-return]


def quiet_runner() -> Function:
    """Return ``run(bare kernel, *arguments)`` for one thread: what ``quiet`` does, without its cost in each call.

    It runs in a context of its own, in which numpy's warnings are off, and so does not run within itself:
    see ``is_running``.
    """
    context = Context()
    context.run(np.seterr, all="ignore")
    return context.run


def is_running(error: Exception) -> bool:
    """Return whether a quiet runner refused because it runs already: a finalizer or a debugger came in between."""
    return isinstance(error, RuntimeError) and "is already entered" in str(error)


def bare_kernel(kernel: Any) -> Function | None:
    """Return what a quiet kernel runs, None for any other: one ``errstate`` may then surround many of them."""
    return getattr(kernel, "bare", None)
