"""The gradient of a function of JAX as an op of its own; JAX differentiates the rule to get the gradient of that."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs
from opkit.verify.subjects.gradient_op import GradientOp
from opkit.verify.subjects.jax.runner import Runner


class Twice(GradientOp[Runner]):
    """See ``GradientOp``."""

    def gradient(self, *values: Any, **options: Any) -> list[Any]:
        """Return a gradient for each target."""
        call = self.of_first.call_of(dict(zip(self.names, values)), options)
        found = dict(zip((place.name for place in call.sources), call.gradient(call.arrays, values[len(self.names) :])))
        return [found[name] for name in self.targets]

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether JAX can differentiate the gradients; what takes integers, or gives some, is not asked."""
        if not all(isinstance(value, np.ndarray) and value.dtype.kind == "f" for value in arrays.values()):
            return False
        found, pullback = self.runner.vjp(arrays, attrs)
        pullback([np.ones_like(item) for item in found], frozenset(self.targets))
        return True
