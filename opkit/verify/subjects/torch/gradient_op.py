"""The gradient of a Function as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is differentiable itself, so that ``grad(..., create_graph=True)`` leads to the inputs.
"""

from __future__ import annotations

from typing import Any

import torch

from opkit.checker import Arrays, Attrs
from opkit.verify.subjects.gradient_op import GradientOp
from opkit.verify.subjects.torch.runner import Runner


class Twice(GradientOp[Runner]):
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
        """Return whether the gradients can be differentiated with respect to some input."""
        if self.of_first.changes_inputs or any(self.of_first.fixed_outputs(arrays, attrs)):
            return False
        return not self.runner.silent_inputs(arrays, attrs).issuperset(self.targets)
