"""Formats: a function of torch, and its gradient, in any floating-point format; references in float64 throughout.

What a reference casts to narrower floats on its way is cast to float64; what a kernel casts is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from opkit.verify.subjects.torch.device import Device
from opkit.verify.subjects.torch.tensors import array_of, is_float

Pull: TypeAlias = "Callable[[Any, Sequence[Any]], Mapping[tuple[str, int | None], Any]]"

_NARROW = frozenset({torch.float32, torch.bfloat16, torch.float16})
_CASTS = frozenset({torch.Tensor.float, torch.Tensor.bfloat16, torch.Tensor.half})


class _Widened(TorchFunctionMode):  # type: ignore[misc]  # without torch its base is unknown
    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function in _CASTS:
            return args[0].double()
        named = {key: _wide(item) for key, item in (kwargs or {}).items()}
        return function(*map(_wide, args), **named)


def _wide(item: Any) -> Any:
    return torch.float64 if isinstance(item, torch.dtype) and item in _NARROW else item


@contextmanager
def widened() -> Iterator[None]:
    """Let what runs within compute in float64."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Widened():
            yield
    finally:
        torch.set_default_dtype(usual)


class FormatRunner(Protocol):
    """What is needed of a runner."""

    device: Device

    def apply(
        self,
        arrays: Mapping[str, Any],
        attrs: Mapping[str, Any],
        needs: frozenset[str] | None = None,
        make: Callable[[np.ndarray], Any] | None = None,
    ) -> Any:
        """Apply the function to tensors that ``make`` makes."""


def in_format(
    runner: FormatRunner,
    pull: Pull,
    arrays: Mapping[str, Any],
    attrs: Mapping[str, Any],
    douts: Sequence[np.ndarray] | None,
    format: str,
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Run a function in a format; see ``opkit.checker.model.reference.InFormat``.

    ``pull`` gives the gradient of each leaf of an application for seeds.
    """
    dtype = getattr(torch, format)

    def make(array: np.ndarray) -> Any:
        tensor = runner.device.private(array)
        return tensor.to(dtype) if is_float(tensor) else tensor

    applied = runner.apply(arrays, attrs, make=make)
    outputs = [array_of(item.double() if is_float(item) else item) for item in applied.outputs]
    if douts is None:
        return outputs, {}
    rest = [np.zeros(item.shape) for item in outputs[len(douts) :]]
    found = pull(applied, [runner.device.private(np.asarray(item)) for item in (*douts, *rest)])
    wide = {key: None if item is None else item.double() for key, item in found.items()}
    return outputs, by_name(applied.leaves, wide, frozenset(name for name, _ in found))


def by_name(
    leaves: Mapping[str, Any], found: Mapping[tuple[str, int | None], Any], needs: frozenset[str]
) -> dict[str, Any]:
    """Return gradients by input; zeros where autograd gives none for a leaf that takes one."""
    result: dict[str, Any] = {}
    for name, value in leaves.items():
        if name not in needs:
            continue
        if isinstance(value, list):
            result[name] = [_gradient(item, found.get((name, index))) for index, item in enumerate(value)]
        elif value is not None:
            result[name] = _gradient(value, found.get((name, None)))
    return result


def _gradient(leaf: Any, gradient: Any) -> np.ndarray:
    return np.zeros(tuple(leaf.shape), array_of(leaf).dtype) if gradient is None else array_of(gradient)


def referred(
    runner: FormatRunner,
    pull: Pull,
    names: Collection[str] | None,
    arrays: Mapping[str, Any],
    attrs: Mapping[str, Any],
    douts: Sequence[np.ndarray] | None,
    format: str,
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Run a reference in a format, float64 throughout; of the options it gets those that it names, None for all."""
    chosen = attrs if names is None else {name: value for name, value in attrs.items() if name in names}
    with widened() if format == "float64" else nullcontext():
        return in_format(runner, pull, arrays, chosen, douts, format)
