"""The gradient of an op as an op of its own: (inputs, incoming gradients) -> gradients, and the cases of it.

How a framework differentiates is its own module's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from opkit.checker import Arg, Arrays, Attrs, Case, Checkable
from opkit.verify.subjects.parameters import Parameters, numbered
from opkit.verify.subjects.subject import Signature, SubjectRunner

Runner = TypeVar("Runner", bound=SubjectRunner)


class GradientOp(ABC, Generic[Runner]):
    """The gradient of an op as a function, which a runner of its own runs as it does any other.

    Args:
        first: the op.
        of_first: its runner.

    Attributes:
        names: the op's inputs.
        targets: those with a gradient.
        douts: the incoming gradients.
    """

    def __init__(self, first: Checkable, of_first: Runner) -> None:
        self._first, self.of_first = first, of_first
        self.names = [arg.name for arg in first.inputs]
        self.targets = sorted(first.gradients or (), key=self.names.index)
        self.douts = numbered("dy", len(first.outputs), self.names)
        inputs = (*self.names, *self.douts)
        parameters = Parameters(inputs, named=tuple(attr.name for attr in first.attrs))
        self.runner = self.made(Signature(parameters, frozenset(inputs), of_first.constants))

    def made(self, signature: Signature) -> SubjectRunner:
        """Return a runner of the gradient."""
        return self.of_first.like(self.gradient, signature)

    @abstractmethod
    def gradient(self, *values: Any, **options: Any) -> Any:
        """Return a gradient for each target, given the framework's own values of inputs and incoming gradients."""

    @abstractmethod
    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether the gradients can be differentiated with respect to some input.

        Args:
            arrays: the op's inputs, and incoming gradients.
            attrs: its options.

        Raises:
            Exception: they cannot.
        """

    def outputs(self, arrays: Arrays, attrs: Attrs) -> list[np.ndarray]:
        """Return what the op itself computes."""
        return list(self.of_first.forward({name: arrays[name] for name in self.names}, attrs))

    def checkable(self, case: Case) -> Checkable | None:
        """Return the gradient as something to check, None where it cannot be, or cannot be differentiated.

        Args:
            case: that the op takes.
        """
        first = self._first
        is_plain = not any(arg.is_variadic or arg.is_optional for arg in first.inputs)
        if not (is_plain and self.targets) or first.surrogate is not None or first.tolerance:
            return None  # single arrays, all given, and a backward that is the derivative
        arrays, attrs = case.inputs, case.attrs
        try:
            outputs = dict(zip(self.douts, self.outputs(arrays, attrs)))
            if not self.leads_back({**arrays, **{name: np.ones_like(item) for name, item in outputs.items()}}, attrs):
                return None
        except Exception:  # whatever is wrong at first order is reported there
            return None
        rng = np.random.default_rng([case.seed, 171])
        douts = {key: np.asarray(rng.uniform(-1.5, 1.5, item.shape), item.dtype) for key, item in outputs.items()}
        return Checkable(
            name=f"{first.name} backward",
            inputs=(*first.inputs, *map(Arg, self.douts)),
            outputs=tuple(Arg(f"d{name}") for name in self.targets),
            forward=self.runner.forward,
            vjp=self.runner.vjp,
            attrs=first.attrs,
            recorded=(replace(case, inputs={**arrays, **douts}),),
            gradients=frozenset(self.targets) | frozenset(self.douts),
            allow=first.allow,
            forward_where=first.backward_where,
            backward_where=first.backward_where,
        )
