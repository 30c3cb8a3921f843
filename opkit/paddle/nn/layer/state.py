"""What a layer's state is, and how it is loaded.

The layer itself is in ``layers``; files are in ``opkit.paddle.framework.io``.

Hooks of a layer: adding them, taking them away, and running forward between them.

Which hooks a layer has is in ``layers``.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager import Tensor
from opkit.ops.core.types import Function


def collect(layer: Any, into: Any, deep: bool, prefix: str, *, transient: bool, hooked: bool) -> Any:
    """Return parameters and buffers by dotted name.

    Args:
        layer: whose.
        into: the dict that they are put into; None: a new one.
        deep: with those of sublayers.
        prefix: in front of each name.
        transient: with the buffers that are not persistable.
        hooked: let each layer's state hooks change the dict, or replace it, behind its sublayers.
    """
    found = OrderedDict() if into is None else into
    found.update((prefix + name, item) for name, item in layer._parameters.items() if item is not None)
    left_out = () if transient else layer._non_persistable_buffer_names_set
    found.update(
        (prefix + name, item) for name, item in layer._buffers.items() if item is not None and name not in left_out
    )
    if deep:
        for name, sublayer in layer._sub_layers.items():
            if sublayer is not None:
                found = collect(sublayer, found, deep, f"{prefix}{name}.", transient=transient, hooked=hooked)
    if hooked:
        for hook in list(layer._state_dict_hooks.values()):
            changed = hook(found)
            found = found if changed is None else changed
    return found


def load(layer: Any, state: Mapping[str, Any], by_structure: bool) -> tuple[list[str], list[str]]:
    """Load parameters and buffers; return ``(missing names, unexpected names)``.

    A name that is missing, or whose shape differs, is warned of and left as it is; one whose shape differs is in both
    lists (Paddle 2.6.2). What a subclass's own ``state_dict`` says is not asked.
    """
    own = collect(layer, None, True, "", transient=False, hooked=False)
    missing: list[str] = []
    matched: list[tuple[Any, Any]] = []
    used: set[str] = set()
    for path, item in own.items():
        name = path if by_structure else item.name
        fault = _misfit(item, state[name]) if state.get(name) is not None else "the state does not have it"
        if fault:
            missing.append(name)
            warnings.warn(f"set_state_dict: {name!r} is left unchanged: {fault}", stacklevel=3)
        else:
            used.add(name)
            matched.append((item, state[name]))
    for item, value in matched:
        item.set_value(value)
    return missing, [name for name in state if name not in used]


def _array(value: Any) -> ndarray:
    return value._data if isinstance(value, Tensor) else np.asarray(value)


def _misfit(item: Any, value: Any) -> str:
    shape = _array(value).shape
    return "" if shape == tuple(item.shape) else f"its shape is {list(item.shape)}, that of the state {list(shape)}"


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
