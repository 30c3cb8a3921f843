"""Step: one case as the checks of a Function use it: applied again and again, as a training step may.

What is compared is the checks' business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.evaluate import InputLeaf
from opkit.ops.core.types import Function
from opkit.record import record
from opkit.verify.subjects.torch.runner import Applied, Runner
from opkit.verify.subjects.torch.tensors import arrays_of


@record
class Step:
    """One case.

    Args:
        runner: applies the Function.
        arrays: inputs by name.
        attrs: all else by name.
        douts: the incoming gradients.
    """

    runner: Runner
    arrays: Arrays
    attrs: Attrs
    douts: Results

    def apply(self, make: Function | None = None, needs: frozenset[str] | None = None) -> Applied:
        """Apply the Function; see ``Runner.apply``."""
        return self.runner.apply(self.arrays, self.attrs, needs, make)

    def apart(self, array: np.ndarray) -> Any:
        """Return a tensor that nothing else holds."""
        return self.runner.device.private(np.asarray(array))

    def seeds(self) -> list[Any]:
        """Return the incoming gradients as tensors."""
        return list(map(self.apart, self.douts))

    def gradients(
        self, applied: Applied, seeds: Sequence[Any] | None = None, only: Sequence[int] | None = None
    ) -> dict[InputLeaf, np.ndarray | None]:
        """Return the gradients of an application; see ``Applied.gradients``."""
        return arrays_of(applied.gradients(self.seeds() if seeds is None else seeds, only))
