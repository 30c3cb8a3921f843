"""Layers that hold layers, and lists of layers and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opkit.errors import UsageError
from opkit.paddle.nn.layer.layers import Layer
from opkit.shim.missing import guard as _guard

__all__ = ["LayerDict", "LayerList", "ParameterList", "Sequential"]


class PairsError(UsageError, AssertionError):
    """What a LayerDict was to be filled from is not a dict or a list of pairs."""


class Sequential(Layer):
    """Layers, one after the other.

    Args:
        layers: layers, or (name, layer) pairs, or one list of them.
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)) and not _is_pair(layers[0]):
            layers = tuple(layers[0])
        for position, item in enumerate(layers):
            if _is_pair(item):
                self.add_sublayer(item[0], item[1])
            else:
                self.add_sublayer(str(position), item)

    def forward(self, input: Any) -> Any:
        """Apply the layers in their order."""
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, slice):
            return Sequential(*list(self._sub_layers.values())[name])
        if isinstance(name, str):
            return self._sub_layers[name]
        return list(self._sub_layers.values())[name]

    def __setitem__(self, name: Any, layer: Any) -> None:
        key = name if isinstance(name, str) else list(self._sub_layers)[name]
        self.add_sublayer(key, layer)

    def __delitem__(self, name: Any) -> None:
        del self._sub_layers[name if isinstance(name, str) else list(self._sub_layers)[name]]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sub_layers.values())


def _is_pair(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], str)


class LayerList(Layer):
    """A list of layers whose parameters are registered."""

    def __init__(self, sublayers: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(sublayers or ())

    def append(self, sublayer: Any) -> Any:
        """Add a layer at the end; return this list."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def extend(self, sublayers: Iterable[Any]) -> Any:
        """Add layers at the end; return this list."""
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index: int, sublayer: Any) -> None:
        """Put a layer in front of a position."""
        layers = list(self)
        layers.insert(index, sublayer)
        self._sub_layers.clear()
        self.extend(layers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return LayerList(list(self)[index])
        return list(self._sub_layers.values())[index]

    def __setitem__(self, index: int, sublayer: Any) -> None:
        self.add_sublayer(list(self._sub_layers)[index], sublayer)

    def __delitem__(self, index: int) -> None:
        layers = list(self)
        del layers[index]
        self._sub_layers.clear()
        self.extend(layers)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._sub_layers.values()))


class LayerDict(Layer):
    """A dict of layers whose parameters are registered."""

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def update(self, sublayers: Any) -> None:
        """Add layers, or replace those of the same name.

        Args:
            sublayers: a dict, a LayerDict, or (name, layer) pairs.

        Raises:
            ValueError: an item is not a pair.
        """
        pairs = sublayers.items() if isinstance(sublayers, (Mapping, LayerDict)) else sublayers
        if not isinstance(pairs, Iterable):
            raise PairsError(f"LayerDict.update takes a dict or (name, layer) pairs, got {type(sublayers).__name__}")
        for position, pair in enumerate(pairs):
            if len(pair) != 2:
                raise UsageError(
                    f"LayerDict.update: item {position} is not a (name, layer) pair, its length is {len(pair)}"
                )
            self.add_sublayer(*pair)

    def pop(self, key: str) -> Any:
        """Take a layer out and return it."""
        return self._sub_layers.pop(key)

    def clear(self) -> None:
        """Take all layers out."""
        self._sub_layers.clear()

    def __delitem__(self, name: str) -> None:
        del self._sub_layers[name]

    def __getitem__(self, name: str) -> Any:
        return self._sub_layers[name]

    def __setitem__(self, name: str, sublayer: Any) -> None:
        self.add_sublayer(name, sublayer)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def __contains__(self, name: object) -> bool:
        return name in self._sub_layers

    def keys(self) -> Any:
        """Return the names."""
        return self._sub_layers.keys()

    def values(self) -> Any:
        """Return the layers."""
        return self._sub_layers.values()

    def items(self) -> Any:
        """Return the names with the layers."""
        return self._sub_layers.items()


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def append(self, parameter: Any) -> Any:
        """Add a parameter at the end; return this list."""
        self.add_parameter(str(len(self)), parameter)
        return self

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Refuse: a list of parameters computes nothing."""
        return super().forward(*inputs, **kwargs)

    def __getitem__(self, index: int) -> Any:
        return list(self._parameters.values())[index]

    def __setitem__(self, index: int, parameter: Any) -> None:
        self.add_parameter(list(self._parameters)[index], parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._parameters.values()))


__getattr__ = _guard(globals())
