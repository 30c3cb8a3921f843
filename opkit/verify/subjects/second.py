"""The gradient of a PyLayer as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is written in differentiable ops, so that ``grad(..., create_graph=True)`` leads back to
the inputs; a backward that works on numpy arrays has no second order, and none is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from opkit.checker import Arrays, Attrs, Checkable, Pullback
from opkit.eager import Tensor, grad, wrap
from opkit.verify.subjects.order import GradientOp, has_gradient_op


class LayerRunner(Protocol):
    """What is needed of a PyLayer's runner: ``applied(arrays, attrs)`` -> (outputs, leaves by input)."""

    def applied(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> tuple[list[Tensor], Mapping[str, Tensor]]:
        """Apply the PyLayer to Tensors that take a gradient."""


def second_of(first: Checkable, runner: LayerRunner, example: Mapping[str, Any]) -> Checkable | None:
    """Return the gradient as an op, None where it is not offered.

    Args:
        first: the PyLayer.
        runner: applies it.
        example: arguments of forward by name, arrays among them.
    """
    return _Second(first, runner).checkable(example) if has_gradient_op(first) else None


class _Second(GradientOp):
    """Runs the gradient of a PyLayer, and the gradient of that.

    Args:
        first: the PyLayer.
        runner: applies it.
    """

    def __init__(self, first: Checkable, runner: LayerRunner) -> None:
        super().__init__(first, [f"d{arg.name}" for arg in first.outputs])
        self._runner = runner

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Say whether the gradients can be differentiated with respect to some input."""
        try:
            outputs, leaves = self._runner.applied(arrays, attrs)
            if any(item._sg or item._data.dtype.kind != "f" for item in outputs):
                return False
            seeds = [wrap(np.ones(item._data.shape, item._data.dtype), stop_gradient=False) for item in outputs]
            found = self._gradients(outputs, leaves, seeds)
            open_ = [item for item in found if not item._sg and item._node is not None]
            sources = [leaves[name] for name in self.targets]
            return bool(open_) and any(item is not None for item in grad(open_, sources, allow_unused=True))
        except Exception:  # whatever is wrong at first order is reported there
            return False

    def _gradients(
        self, outputs: Sequence[Tensor], leaves: Mapping[str, Tensor], seeds: Sequence[Tensor]
    ) -> list[Tensor]:
        sources = [leaves[name] for name in self.targets]
        found = grad(outputs, sources, list(seeds), create_graph=True, allow_unused=True)
        return [wrap(np.zeros_like(source._data)) if item is None else item for item, source in zip(found, sources)]

    def _seeds(self, arrays: Arrays) -> list[Tensor]:
        return [wrap(np.asarray(arrays[name]), stop_gradient=False) for name in self.douts]

    def outputs(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Return what the PyLayer computes."""
        return [item._data for item in self._runner.applied(arrays, attrs)[0]]

    def forward(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Return the first gradients; see ``opkit.checker.Forward``."""
        outputs, leaves = self._runner.applied(arrays, attrs)
        return [item._data for item in self._gradients(outputs, leaves, self._seeds(arrays))]

    def vjp(self, arrays: Arrays, attrs: Attrs) -> tuple[list[np.ndarray], Pullback]:
        """Return the first gradients, and the way back from them."""
        outputs, leaves = self._runner.applied(arrays, attrs)
        seeds = self._seeds(arrays)
        found = self._gradients(outputs, leaves, seeds)
        sources = {**{name: leaves[name] for name in self.targets}, **dict(zip(self.douts, seeds))}
        places = [place for place, item in enumerate(found) if not item._sg and item._node is not None]

        def pullback(douts: Sequence[np.ndarray], needs: frozenset[str]) -> dict[str, Any]:
            given = [wrap(douts[place]) for place in places]
            back = grad([found[place] for place in places], list(sources.values()), given, allow_unused=True)
            return {
                name: np.zeros_like(source._data) if item is None else item._data
                for (name, source), item in zip(sources.items(), back)
                if name in needs
            }

        return [item._data for item in found], pullback
