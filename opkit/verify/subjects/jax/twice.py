"""The gradient of a function of JAX as an op of its own; JAX differentiates the rule to get the gradient of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from opkit.checker import Arrays, Attrs, Checkable, Pullback
from opkit.verify.subjects.jax.device import Device
from opkit.verify.subjects.jax.runner import Runner
from opkit.verify.subjects.order import GradientOp, has_gradient_op
from opkit.verify.subjects.parameters import Parameters


class FirstRunner(Protocol):
    """What is needed of the runner of a function."""

    device: Device

    def forward(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Run the function."""

    def gradient_of(
        self, places: Sequence[tuple[str, int | None]], attrs: Mapping[str, Any], opened: Sequence[int]
    ) -> Callable[..., Any]:
        """Return (leaves, incoming gradients of the float results) -> gradients of the open leaves."""


def twice_of(first: Checkable, runner: FirstRunner, example: Mapping[str, Any]) -> Checkable | None:
    """Return the gradient as an op, None where it is not offered.

    Args:
        first: the function.
        runner: runs it.
        example: arguments by name, arrays among them.
    """
    return _Twice(first, runner).checkable(example) if has_gradient_op(first) else None


class _Twice(GradientOp):
    """Runs the gradient of a function as a function of its own, which JAX differentiates.

    Args:
        first: the function.
        runner: runs it.
    """

    def __init__(self, first: Checkable, runner: FirstRunner) -> None:
        super().__init__(first)
        self._of_first = runner
        inputs = (*self.names, *self.douts)
        parameters = Parameters(inputs, "", tuple(attr.name for attr in first.attrs), False, {})
        closed = frozenset(self.names) - frozenset(self.targets)
        self._runner = Runner(self._gradient, parameters, frozenset(inputs), closed, {}, runner.device)

    def _gradient(self, *arrays: Any, **options: Any) -> list[Any]:
        places = [(name, None) for name in self.names]
        opened = [self.names.index(name) for name in self.targets]
        gradient = self._of_first.gradient_of(places, options, opened)
        return list(gradient(arrays[: len(self.names)], arrays[len(self.names) :]))

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Say whether JAX can differentiate the gradients; what takes integers, or gives some, is not asked."""
        if not all(isinstance(value, np.ndarray) and value.dtype.kind == "f" for value in arrays.values()):
            return False
        try:
            results = self.outputs(arrays, attrs)
            seeds = {name: np.ones_like(item) for name, item in zip(self.douts, results)}
            found, pullback = self.vjp({**arrays, **seeds}, attrs)
            pullback([np.ones_like(item) for item in found], frozenset(self.targets))
        except Exception:  # whatever is wrong at first order is reported there
            return False
        return all(item.dtype.kind == "f" for item in results)

    def outputs(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Return what the function computes."""
        return self._of_first.forward({name: arrays[name] for name in self.names}, attrs)

    def forward(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Return the first gradients; see ``opkit.checker.Forward``."""
        return self._runner.forward(arrays, attrs)

    def vjp(self, arrays: Arrays, attrs: Attrs) -> tuple[list[np.ndarray], Pullback]:
        """Return the first gradients, and the way back from them."""
        return self._runner.vjp(arrays, attrs)
