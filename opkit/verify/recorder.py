"""Recorder: the inputs on which a run called its custom ops, a few per op and signature.

It listens at the one observer hook and copies; making checkables of what it heard is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opkit.eager import Tensor
from opkit.ops import OpDef
from opkit.verify.pylayer import parameters_of

__all__ = ["Heard", "Recorder"]

#: So many inputs are kept per op and signature, and so many signatures per op.
MOST_CALLS = 3
MOST_SIGNATURES = 16


@dataclass(slots=True)
class Heard:
    """The calls of one op.

    Args:
        key: the PyLayer's class, or the OpDef of another op's first call.
        is_layer: whether it is a PyLayer.
        calls: arguments by name, arrays copied; one list per signature.
        constants: of each signature, the float inputs that took no gradient (PyLayers).
    """

    key: Any
    is_layer: bool
    calls: dict[Any, list[dict[str, Any]]] = field(default_factory=dict)
    constants: dict[Any, frozenset[str]] = field(default_factory=dict)


class Recorder:
    """An observer (``opkit.ops.mode.Observer``) that keeps inputs of user ops."""

    def __init__(self) -> None:
        self.heard: dict[Any, Heard] = {}

    def __call__(
        self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any], seconds: float
    ) -> None:
        """Take note of an op that ran."""
        if not opdef.is_user:
            return
        if "pylayer" in attrs:
            layer = attrs["pylayer"]
            values = parameters_of(layer).bind(attrs["args"], attrs["kwargs"])
            self._keep(layer, True, values, _constants(values))
        else:
            self._keep(opdef, False, {"inputs": list(inputs), "attrs": dict(attrs)}, frozenset())

    def _keep(self, key: Any, is_layer: bool, values: Mapping[str, Any], constants: frozenset[str]) -> None:
        name = key if is_layer else (key.name, str(key.where))
        heard = self.heard.get(name)
        if heard is None:
            heard = self.heard[name] = Heard(key, is_layer)
        signature = (constants, _signature(values))
        calls = heard.calls.get(signature)
        if calls is None:
            if len(heard.calls) >= MOST_SIGNATURES:
                return
            calls = heard.calls[signature] = []
            heard.constants[signature] = constants
        if len(calls) < MOST_CALLS:
            calls.append({name: _copied(value) for name, value in values.items()})


def _constants(values: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(
        name
        for name, value in values.items()
        if any(
            isinstance(item, Tensor) and item.stop_gradient and item._data.dtype.kind == "f"
            for item in (value if isinstance(value, (list, tuple)) else [value])
        )
    )


def _signature(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value._data
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str)
    if isinstance(value, Mapping):
        return tuple((name, _signature(item)) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_signature(item) for item in value)
    return (type(value).__name__, value if isinstance(value, (int, float, str, bool)) else id(value))


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value._data
    if isinstance(value, np.ndarray):
        return np.array(value)
    if isinstance(value, Mapping):
        return {name: _copied(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_copied(item) for item in value)
    return value
