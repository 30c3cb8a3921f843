"""The gradient of a PyLayer as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is written in differentiable ops, so that ``grad(..., create_graph=True)`` leads back to
the inputs; a backward that works on numpy arrays has no second order, and none is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.types import Ran
from opkit.eager import Tensor, grad, wrap
from opkit.errors import UsageError
from opkit.verify.subjects.gradient_op import GradientOp
from opkit.verify.subjects.runner import Runner, tensors_in
from opkit.verify.subjects.subject import Signature


class _GradientRunner(Runner):
    """Runs a gradient, which is recorded in any case; what leads nowhere has the derivative zero."""

    shares = False

    def forward(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run the gradient; see ``opkit.checker.Forward``."""
        return self.vjp(arrays, attrs)[0]

    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        """Run the gradient and keep its record."""
        outputs, pullback = super().vjp(arrays, attrs)

        def filled(douts: Results, needs: frozenset[str]) -> dict[str, Any]:
            found = pullback(douts, needs)
            return {name: np.zeros_like(arrays[name]) if item is None else item for name, item in found.items()}

        return outputs, filled


class LayerGradient(GradientOp[Runner]):
    """See ``GradientOp``."""

    def made(self, signature: Signature) -> Runner:
        """Return a runner of the gradient."""
        return _GradientRunner(self.gradient, signature)

    def gradient(self, *values: Tensor, **options: Any) -> list[Tensor]:
        """Return a gradient for each target."""
        named = dict(zip(self.names, values))
        sources = [named[name] for name in self.targets]
        outputs = tensors_in(self.of_first.called({**named, **options}))
        if any(item._sg for item in outputs):
            raise UsageError("an output takes no part in differentiation")
        seeds = values[len(self.names) :]
        found = grad(outputs, sources, seeds, create_graph=True, allow_unused=True)
        return [wrap(np.zeros_like(source._data)) if item is None else item for item, source in zip(found, sources)]

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether the gradients can be differentiated with respect to some input."""
        if any(item.dtype.kind != "f" for item in self.outputs(arrays, attrs)):
            return False
        assert isinstance(self.runner, Runner)
        outputs, pullback = Runner.vjp(self.runner, arrays, attrs)
        found = pullback([np.ones_like(item) for item in outputs], frozenset(self.targets))
        return any(item is not None for item in found.values())
