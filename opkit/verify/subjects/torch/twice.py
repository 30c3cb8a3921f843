"""The gradient of a Function as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is differentiable itself, so that ``grad(..., create_graph=True)`` leads to the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from opkit.checker import Arrays, Attrs, Checkable, Pullback
from opkit.verify.subjects.order import GradientOp, has_gradient_op
from opkit.verify.subjects.torch.runner import Applied, OwnRunner
from opkit.verify.subjects.torch.tensors import array_of


def twice_of(first: Checkable, runner: OwnRunner, example: Mapping[str, Any]) -> Checkable | None:
    """Return the gradient as an op, None where it is not offered.

    Args:
        first: the Function.
        runner: applies it.
        example: arguments by name, arrays among them.
    """
    if runner.changes_inputs or not has_gradient_op(first):
        return None
    return _Twice(first, runner).checkable(example)


class _Twice(GradientOp):
    """Runs the gradient of a Function, and the gradient of that.

    Args:
        first: the Function.
        runner: applies it.
    """

    def __init__(self, first: Checkable, runner: OwnRunner) -> None:
        super().__init__(first)
        self._runner = runner

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Say whether the gradients can be differentiated with respect to some input."""
        try:
            applied = self._runner.apply(arrays, attrs)
            if not all(item.requires_grad for item in applied.outputs):
                return False
            seeds = [torch.ones_like(item).requires_grad_() for item in applied.outputs]
            found = [item for item in self._gradients(applied, seeds) if item.requires_grad]
            sources = [leaf for _, _, leaf in applied.sources()]
            back = torch.autograd.grad([item.sum() for item in found], sources, allow_unused=True)
            return any(item is not None for item in back)
        except Exception:  # whatever is wrong at first order is reported there
            return False

    def _gradients(self, applied: Applied, seeds: Sequence[Any]) -> list[Any]:
        sources = [applied.leaves[name] for name in self.targets]
        found = torch.autograd.grad(applied.outputs, sources, list(seeds), create_graph=True, allow_unused=True)
        return [torch.zeros_like(source) if item is None else item for item, source in zip(found, sources)]

    def _seeds(self, arrays: Arrays) -> list[Any]:
        return [self._runner.device.share(np.asarray(arrays[name])).requires_grad_() for name in self.douts]

    def outputs(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Return what the Function computes."""
        return [array_of(item) for item in self._runner.apply(self._own(arrays), attrs).outputs]

    def forward(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Return the first gradients; see ``opkit.checker.Forward``."""
        applied = self._runner.apply(self._own(arrays), attrs)
        return [array_of(item) for item in self._gradients(applied, self._seeds(arrays))]

    def vjp(self, arrays: Arrays, attrs: Attrs) -> tuple[list[np.ndarray], Pullback]:
        """Return the first gradients, and the way back from them."""
        applied = self._runner.apply(self._own(arrays), attrs)
        seeds = self._seeds(arrays)
        found = self._gradients(applied, seeds)
        sources = {**{name: applied.leaves[name] for name in self.targets}, **dict(zip(self.douts, seeds))}
        places = [place for place, item in enumerate(found) if item.requires_grad]

        def pullback(douts: Sequence[np.ndarray], needs: frozenset[str]) -> dict[str, Any]:
            given = [self._runner.device.share(np.asarray(douts[place])) for place in places]
            roots = [found[place] for place in places]
            back = torch.autograd.grad(roots, list(sources.values()), given, retain_graph=True, allow_unused=True)
            return {
                name: array_of(torch.zeros_like(source) if item is None else item)
                for (name, source), item in zip(sources.items(), back)
                if name in needs
            }

        return [array_of(item) for item in found], pullback

    def _own(self, arrays: Arrays) -> dict[str, Any]:
        return {name: arrays[name] for name in self.names}
