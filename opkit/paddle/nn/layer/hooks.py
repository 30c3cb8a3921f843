"""Hooks of a layer: adding them, taking them away, and running forward between them.

Which hooks a layer has is in ``layers``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.ops.core.types import Function


class Removable:
    """What ``register_forward_*_hook`` and ``register_state_dict_hook`` return."""

    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self._hooks = hooks
        self._key = key

    def remove(self) -> None:
        """Take the hook away."""
        self._hooks.pop(self._key, None)


def add_hook(hooks: dict[int, Any], hook: Function) -> Removable:
    """Put a hook behind the others."""
    key = max(hooks, default=-1) + 1
    hooks[key] = hook
    return Removable(hooks, key)


def run_between(layer: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Run a layer's forward between its hooks, which may replace its inputs and outputs."""
    for hook in list(layer._pre_hooks.values()):
        changed = hook(layer, inputs)
        if changed is not None:
            inputs = changed if isinstance(changed, tuple) else (changed,)
    outputs = layer.forward(*inputs, **kwargs)
    for hook in list(layer._post_hooks.values()):
        changed = hook(layer, inputs, outputs)
        if changed is not None:
            outputs = changed
    return outputs
