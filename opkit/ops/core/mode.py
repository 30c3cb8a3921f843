"""The current mode of a thread, and ``apply``: the one function that every op goes through.

A mode is only an ``apply`` function. Eager installs its own as the default; static installs its own while it
builds a graph. This module does not know which mode is current.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.quiet import is_running, quiet, quiet_runner
from opkit.ops.core.types import Attrs, Values

ApplyFn = Callable[[OpDef, Values, Attrs], Any]

_NO_ATTRS: Attrs = MappingProxyType({})

#: Held while something is changed in the Modes of several threads.
lock = threading.Lock()


def _no_mode(opdef: OpDef, inputs: Values, attrs: Attrs) -> Any:
    raise UsageError(f"op {opdef.name!r} was applied before any mode was installed; import opkit.eager first")


class Mode:
    """One thread's state of the runtime.

    Attributes:
        apply: the current mode's apply function.
        is_grad_enabled: whether eager mode records what it runs.
        is_static: whether ops are appended to a Program instead of being run.
        observers: those that are notified of every op that runs (``opkit.ops.core.observers`` puts them here).
        differentiated: while observers are on, the op whose gradient dynamic mode computes right now, else None.
        quietly: runs the bare kernels of quiet ops (``opkit.ops.core.quiet``).
    """

    __slots__ = ("__weakref__", "_is_static", "apply", "differentiated", "is_grad_enabled", "observers", "quietly")

    #: What a new thread starts with; eager installs itself here.
    default: ApplyFn = staticmethod(_no_mode)
    #: Observers of all threads.
    observers_everywhere: tuple[Any, ...] = ()
    #: The Modes of all threads that live.
    _all: weakref.WeakSet[Mode] = weakref.WeakSet()

    def __init__(self) -> None:
        self.apply: ApplyFn = Mode.default
        self.is_grad_enabled = True
        self._is_static = False
        self.differentiated: OpDef | None = None
        self.quietly = quiet_runner()
        with lock:
            self.observers: tuple[Any, ...] = Mode.observers_everywhere
            Mode._all.add(self)

    @classmethod
    def all(cls) -> list[Mode]:
        """Return the Modes of all threads; hold ``lock`` while they are changed."""
        return list(cls._all)

    @property
    def is_static(self) -> bool:
        """Whether ops are appended to a Program instead of being run."""
        return self._is_static

    @is_static.setter
    def is_static(self, value: bool) -> None:
        self._is_static = value
        if value:
            ever.static = True


class _Ever:
    """Facts about the process, which hot code checks before the thread's Mode.

    Attributes:
        static: whether any thread has built a graph.
    """

    __slots__ = ("static",)

    def __init__(self) -> None:
        self.static = False


ever = _Ever()


class _Local(threading.local):
    def __init__(self) -> None:
        self.mode = Mode()


#: ``local.mode`` is the current thread's Mode. Hot code reads it once and keeps it.
local = _Local()


def run_quietly(bare: Callable[..., Any], *arguments: Any) -> Any:
    """Run what computes with arrays, with numpy's warnings off."""
    try:
        return local.mode.quietly(bare, *arguments)
    except RuntimeError as error:
        if not is_running(error):
            raise
        return quiet(bare)(*arguments)


def install_default(function: ApplyFn) -> None:
    """Make a mode the default of this thread and all new threads."""
    Mode.default = staticmethod(function)
    local.mode.apply = function


def apply(opdef: OpDef, inputs: Values, attrs: Attrs = _NO_ATTRS) -> Any:
    """Apply an op in the current mode.

    Args:
        opdef: the op.
        inputs: one value of the current mode per input, None for an optional one left out.
        attrs: every declared attribute by name.

    Returns:
        The output, or a tuple of outputs where the op declares several or a variadic one.
    """
    return local.mode.apply(opdef, inputs, attrs)


def perform(opdef: OpDef, /, *inputs: Any, **attrs: Any) -> Any:
    """Apply an op in the current mode to inputs and attributes given one by one.

    Builders of ops that take a microsecond call ``local.mode.apply`` themselves: a call more is a twentieth of theirs.
    """
    return local.mode.apply(opdef, inputs, attrs)
