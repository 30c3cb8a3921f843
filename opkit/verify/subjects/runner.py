"""Runner: a PyLayer applied to arrays, its gradients as backward itself returned them.

Which arguments are inputs, and what they hold, is decided where the checkable is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.eager import Tensor, grad, wrap
from opkit.verify.subjects.parameters import Parameters

__all__ = ["Runner", "plain_arrays", "tensors_in"]


def plain_arrays(value: Any) -> Any:
    """Return Tensors and numpy scalars as arrays, lists of them as lists of arrays, and all else as it is."""
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, np.ndarray)) for item in value):
        return [plain_arrays(item) for item in value]
    return value


def tensors_in(result: Any) -> list[Tensor]:
    """Return the Tensors of what a forward returned: bare, in a tuple or list, or in a list in that."""
    found: list[Tensor] = []
    for item in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, (list, tuple)) and all(isinstance(member, Tensor) for member in item):
            found.extend(item)
    return found


class Runner:
    """Runs a PyLayer on arrays.

    Args:
        layer: the class.
        parameters: of its forward.
        inputs: the parameters that take arrays.
        constants: those of them that take no gradient.
    """

    def __init__(self, layer: type, parameters: Parameters, inputs: frozenset[str], constants: frozenset[str]) -> None:
        self._parameters = parameters
        self._inputs = inputs
        self._constants = constants
        self._raw: list[Any] = []
        self._layer = _listening(layer, self._raw)

    def arguments(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any], *, takes_gradient: bool
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return forward's arguments, arrays as Tensors."""
        values: dict[str, Any] = {}
        for name in dict.fromkeys((*self._parameters.names, *arrays, *attrs)):
            value = arrays.get(name) if name in self._inputs else attrs.get(name)
            if name in self._inputs and value is not None:
                is_leaf = takes_gradient and name not in self._constants
                values[name] = _tensors(value, is_leaf)
            elif name not in self._inputs and name in attrs:
                values[name] = value
        return self._parameters.call(values)

    def count_outputs(self, values: Mapping[str, Any]) -> int:
        """Return how many Tensors forward returns for arguments by name; 1 where it raises (the checks tell that)."""
        arrays = {name: plain_arrays(values.get(name)) for name in self._inputs}
        attrs = {name: value for name, value in values.items() if name not in self._inputs}
        try:
            return len(self.forward(arrays, attrs))
        except Exception:
            return 1

    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        """Run forward; see ``opkit.checker.Forward``."""
        args, kwargs = self.arguments(arrays, attrs, takes_gradient=False)
        return [tensor._data for tensor in tensors_in(self._layer.apply(*args, **kwargs))]  # type: ignore[attr-defined]

    def applied(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> tuple[list[Tensor], Mapping[str, Tensor]]:
        """Return the outputs of one application, and the leaf of each input that is a single array."""
        args, kwargs = self.arguments(arrays, attrs, takes_gradient=True)
        outputs = tensors_in(self._layer.apply(*args, **kwargs))  # type: ignore[attr-defined]
        named = self._parameters.bind(args, kwargs)
        return outputs, {name: value for name, value in named.items() if isinstance(value, Tensor)}

    def vjp(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[list[np.ndarray], Callable[[Sequence[np.ndarray], frozenset[str]], dict[str, Any]]]:
        """Run forward and keep its context for any number of backward calls."""
        args, kwargs = self.arguments(arrays, attrs, takes_gradient=True)
        outputs = tensors_in(self._layer.apply(*args, **kwargs))  # type: ignore[attr-defined]
        slots = _slots(self._parameters.bind(args, kwargs))

        def pullback(douts: Sequence[np.ndarray], needs: frozenset[str]) -> dict[str, Any]:
            leaves = [leaf for _, items in slots for leaf in items if not leaf._sg]
            self._raw.clear()
            seeds = [wrap(dout) for dout in douts]
            found = grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True)
            by_leaf = {id(leaf): None if item is None else item._data for leaf, item in zip(leaves, found)}
            return self._by_name(slots, by_leaf, arrays, needs)

        return [tensor._data for tensor in outputs], pullback

    def _by_name(
        self,
        slots: Sequence[tuple[str, list[Tensor]]],
        found: Mapping[int, Any],
        arrays: Mapping[str, Any],
        needs: frozenset[str],
    ) -> dict[str, Any]:
        """Return gradients by input, as backward itself returned them where that can be told."""
        raw = _raw_slots(self._raw[-1], len(slots)) if self._raw else None
        result: dict[str, Any] = {}
        for position, (name, leaves) in enumerate(slots):
            if name not in needs:
                continue
            values = [found.get(id(leaf)) for leaf in leaves]
            given = None if raw is None else raw[position]
            if given is not None and len(given) == len(values):
                values = [value if own is None else own for own, value in zip(given, values)]
            result[name] = values if isinstance(arrays[name], (list, tuple)) else values[0]
        return result


def _tensors(value: Any, is_leaf: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return [_tensors(item, is_leaf) for item in value]
    return wrap(value, stop_gradient=not (is_leaf and value.dtype.kind == "f"))


def _slots(values: Mapping[str, Any]) -> list[tuple[str, list[Tensor]]]:
    """Return the gradient slots of a call in its order: (parameter, its Tensors)."""
    slots: list[tuple[str, list[Tensor]]] = []
    for name, value in values.items():
        if isinstance(value, Tensor):
            slots.append((name, [value]))
        elif isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
            slots.append((name, [item for item in value if isinstance(item, Tensor)]))
    return slots


def _raw_slots(result: Any, count: int) -> list[list[Any] | None] | None:
    """Return the arrays that backward returned, by slot; None where they do not line up with the slots."""
    items = list(result) if isinstance(result, (list, tuple)) and count != 1 else [result]
    if count == 1 and isinstance(result, (list, tuple)) and len(result) == 1:
        items = list(result)
    if len(items) != count:
        return None
    return [
        [item._data]
        if isinstance(item, Tensor)
        else ([part._data for part in tensors_in(item)] if isinstance(item, (list, tuple)) else None)
        for item in items
    ]


def _listening(layer: type, heard: list[Any]) -> type:
    """Return a subclass whose backward is the user's, and that keeps what it returns."""
    backward = layer.backward  # type: ignore[attr-defined]

    def listening(ctx: Any, *douts: Any) -> Any:
        result = backward(ctx, *douts)
        heard.append(result)
        return result

    return type(layer.__name__, (layer,), {"backward": staticmethod(listening), "__module__": layer.__module__})
