"""Identity: parameters that a function gets as arguments and reaches through an object too, such as their module.

They are perturbed where they are, and put back: a copy would not be what the object holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import torch

from opkit.checker import Attrs
from opkit.checker.model.evaluate import InputLeaf
from opkit.record import mutable
from opkit.verify.subjects.parameters import leaves_in


@mutable
class Identities:
    """Keeps, of each function and the objects among its arguments, the parameters that it got beside them."""

    _known: dict[Any, dict[tuple[int, ...], tuple[list[Any], dict[InputLeaf, Any]]]] = field(default_factory=dict)

    def note(self, function: Any, call: Mapping[str, Any]) -> None:
        """Keep the parameters of a call, where an object that may lead to them is among its arguments."""
        kept = {place: item for place, item in leaves_in(call) if isinstance(item, torch.nn.Parameter)}
        objects = _objects(call)
        if kept and objects:
            self._known.setdefault(function, {})[tuple(map(id, objects))] = objects, kept

    def of(self, function: Any, attrs: Attrs) -> Mapping[InputLeaf, Any]:
        """Return the parameters of a call by their places; none where no object leads to any."""
        known = self._known.get(function)
        return known.get(tuple(map(id, _objects(attrs))), ([], {}))[1] if known else {}

    def has(self, function: Any) -> bool:
        """Return whether a function has such arguments."""
        return function in self._known


identities = Identities()


@contextmanager
def holding(tensors: Mapping[Any, Any]) -> Iterator[None]:
    """Let parameters hold other data, and put back what they held, gradients included."""
    before = [(item, item.data, item.grad, item.requires_grad) for item in tensors]
    try:
        for item, data in tensors.items():
            item.grad = None
            item.data = data.detach()
        yield
    finally:
        for item, data, grad, takes in before:
            item.data = data
            item.grad = grad
            item.requires_grad_(takes)


def _objects(values: Mapping[str, Any]) -> list[Any]:
    plain = (bool, int, float, str, type(None), torch.Tensor, torch.dtype, torch.device)
    return [
        item
        for _, item in leaves_in(dict(sorted(values.items())))
        if not isinstance(item, plain) and hasattr(item, "__dict__")
    ]
