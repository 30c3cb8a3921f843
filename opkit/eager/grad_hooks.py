"""Hooks on gradients: ``Tensor.register_hook`` and ``Tensor.retain_grads``.

A hook on a computed Tensor replaces its node's rule, so that a walk without hooks has no extra cost.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from opkit.eager.tensor import Tensor, wrap
from opkit.errors import AutogradError, UsageError

Hook = Callable[[Tensor], "Tensor | None"]
_ids = itertools.count()


class HookHandle:
    """The result of ``register_hook``: ``remove()`` removes the hook, once."""

    def __init__(self, hooks: dict[int, Hook]) -> None:
        self._hooks = hooks
        self._id = next(_ids)

    def remove(self) -> bool:
        """Remove the hook; return whether it was still there."""
        return self._hooks.pop(self._id, None) is not None


class HookedRule:
    """A node's rule with hooks on some of its outputs."""

    __slots__ = ("hooks", "rule")

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self.hooks: dict[int, dict[int, Hook]] = {}

    def hooked(self, douts: Sequence[Any]) -> list[Any]:
        """Return the cotangents as the hooks leave them."""
        return [
            dout if dout is None or index not in self.hooks else run_hooks(self.hooks[index], dout)
            for index, dout in enumerate(douts)
        ]

    def __call__(self, step: Any, douts: Sequence[Any], release: bool) -> Sequence[Any]:
        """Run the hooks, then the rule."""
        grads: Sequence[Any] = self.rule(step, self.hooked(douts), release)
        return grads


def run_hooks(hooks: dict[int, Hook], cotangent: Tensor) -> Tensor:
    """Run hooks in their order; what one returns replaces the cotangent.

    Raises:
        UsageError: a hook returned something that is neither a Tensor nor None.
    """
    for hook in list(hooks.values()):
        replaced = hook(cotangent)
        if replaced is None:
            continue
        if not isinstance(replaced, Tensor):
            raise UsageError(
                f"a gradient hook must return a Tensor or None, {getattr(hook, '__name__', hook)!r} "
                f"returned {type(replaced).__name__}"
            )
        cotangent = replaced if not replaced._sg else _taking(replaced)
    return cotangent


def _taking(gradient: Tensor) -> Tensor:
    """Return a Tensor on the same data whose stop_gradient is False, as gradients have it."""
    return wrap(gradient._data, stop_gradient=False)


def register_hook(tensor: Tensor, hook: Hook) -> HookHandle:
    """Call a function with the gradient of this Tensor whenever a backward computes it.

    Args:
        tensor: one that takes a gradient.
        hook: ``hook(grad)`` returns None, or a Tensor that replaces the gradient.

    Raises:
        AutogradError: the Tensor takes no gradient.
    """
    if tensor._sg:
        raise AutogradError(
            f"cannot register a hook on tensor {tensor.name!r}: it stops the gradient",
            help="set stop_gradient = False before the tensor is used",
        )
    hooks = _hooks_of(tensor)
    handle = HookHandle(hooks)
    hooks[handle._id] = hook
    return handle


def retain_grads(tensor: Tensor) -> None:
    """Make backward write ``grad`` of this Tensor too, although it is not a leaf."""
    if tensor._sg or tensor._node is None or tensor.__dict__.get("_retains"):
        return
    tensor._retains = True  # type: ignore[attr-defined]
    held = ref(tensor)  # the node must not keep its output alive

    def keep(cotangent: Tensor) -> None:
        owner = held()
        if owner is not None:
            if owner._grad is None:
                owner._grad = wrap(cotangent._data.copy(), cotangent._sg)
            else:
                owner._grad._data = owner._grad._data + cotangent._data

    _hooks_of(tensor)[next(_ids)] = keep


def _hooks_of(tensor: Tensor) -> dict[int, Hook]:
    node = tensor._node
    if node is None:
        if tensor._hooks is None:
            tensor._hooks = {}
        return tensor._hooks
    if type(node.walk_rule) is not HookedRule:
        node.walk_rule = HookedRule(node.walk_rule)
    hooks: dict[int, Hook] = node.walk_rule.hooks.setdefault(tensor._index, {})
    return hooks
