"""saved_tensors_hooks: what a graph keeps for its gradients goes through a user's pack and unpack functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from opkit.errors import UsageError


class Packing(threading.local):
    """The hooks in force in this thread, innermost last.

    ``depth`` is 0 in every thread while no hooks are in force anywhere, so that hot code reads no thread-local.
    """

    def __init__(self) -> None:
        self.hooks: list[saved_tensors_hooks] = []


class _Depth:
    __slots__ = ("depth", "local")

    def __init__(self) -> None:
        self.depth = 0
        self.local = Packing()


packing = _Depth()


class saved_tensors_hooks:  # noqa: N801 - a context, called like a function
    """A context in which tensors saved for a gradient are packed by one function and unpacked by another.

    Args:
        pack_hook: called with each Tensor that is saved; what it returns is kept instead.
        unpack_hook: called with that when the gradient needs it; returns a Tensor of the same content.

    Source: Paddle 2.6, paddle.autograd.saved_tensors_hooks.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise UsageError(f"saved_tensors_hooks: {name} must be callable, got {type(hook).__name__}")
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        packing.local.hooks.append(self)
        packing.depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        packing.local.hooks.pop()
        packing.depth -= 1


class Packed:
    """A saved tensor in its packed form."""

    __slots__ = ("_hook", "_value")

    def __init__(self, hook: Callable[[Any], Any], value: Any) -> None:
        self._hook = hook
        self._value = value

    def unpack(self) -> Any:
        """Return the tensor.

        Raises:
            UsageError: the unpack hook returned something else.
        """
        tensor = self._hook(self._value)
        if not hasattr(tensor, "_data"):
            raise UsageError(f"saved_tensors_hooks: unpack_hook must return a Tensor, got {type(tensor).__name__}")
        return tensor


def pack(tensor: Any) -> Any:
    """Return a saved tensor as this thread's hooks pack it; the tensor itself where there are none."""
    hooks = packing.local.hooks
    active = hooks[-1] if hooks else _NO_HOOKS
    if active is _NO_HOOKS:
        return tensor
    hooks.append(_NO_HOOKS)  # what the pack hook computes is not packed
    try:
        return Packed(active.unpack_hook, active.pack_hook(tensor))
    finally:
        hooks.pop()


#: In force while a pack hook runs.
_NO_HOOKS = saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)
