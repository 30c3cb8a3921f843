"""The gradient of a Function as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is differentiable itself, so that ``grad(..., create_graph=True)`` leads to the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from opkit.checker import Arrays, Attrs, Checkable
from opkit.verify.subjects.order import GradientOp, has_gradient_op
from opkit.verify.subjects.torch.runner import Runner


def twice_of(first: Checkable, runner: Runner, example: Mapping[str, Any]) -> Checkable | None:
    """Return the gradient as an op, None where it is not offered.

    Args:
        first: the Function.
        runner: applies it.
        example: arguments by name, arrays among them.
    """
    if runner.changes_inputs or not has_gradient_op(first):
        return None
    return _Twice(first, runner).checkable(example)


class _Twice(GradientOp[Runner]):
    """See ``GradientOp``."""

    def gradient(self, *values: Any, **options: Any) -> list[Any]:
        """Return a gradient for each target."""
        named = dict(zip(self.names, values))
        sources = [named[name] for name in self.targets]
        outputs = self.of_first.results({**options, **named})
        seeds = values[len(self.names) :]
        found = torch.autograd.grad(outputs, sources, seeds, create_graph=True, allow_unused=True)
        return [torch.zeros_like(source) if item is None else item for item, source in zip(found, sources)]

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Say whether the gradients can be differentiated with respect to some input."""
        if any(self.of_first.fixed_outputs(arrays, attrs)):
            return False
        return not self.runner.silent_inputs(arrays, attrs).issuperset(self.targets)
