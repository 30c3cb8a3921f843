"""The gradient of an op as an op of its own: (inputs, incoming gradients) -> gradients, and the cases of it.

How a framework differentiates is its own module's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from opkit.checker import Arg, Arrays, Attrs, Case, Checkable
from opkit.verify.subjects.parameters import Parameters, numbered
from opkit.verify.subjects.subject import Signature, SubjectRunner

Runner = TypeVar("Runner", bound=SubjectRunner)
#: Cases taken over from the first order.
_MOST = 6


def _has_gradient_op(first: Checkable) -> bool:
    """Return whether a gradient can be an op: inputs are single arrays, all given, and backward is the derivative."""
    is_plain = not any(arg.is_variadic or arg.is_optional for arg in first.inputs)
    return is_plain and bool(first.gradients) and first.surrogate is None and not first.tolerance


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

    def checkable(self, example: Mapping[str, Any]) -> Checkable | None:
        """Return the gradient as something to check, None where it cannot be, or cannot be differentiated.

        Args:
            example: arguments by name, arrays among them.
        """
        if not _has_gradient_op(self._first):
            return None
        arrays, attrs = self._split(example)
        try:
            seeds = {name: np.ones_like(item) for name, item in zip(self.douts, self.outputs(arrays, attrs))}
            if not self.leads_back({**arrays, **seeds}, attrs):
                return None
        except Exception:  # whatever is wrong at first order is reported there
            return None
        first = self._first
        return Checkable(
            name=f"{first.name} backward",
            inputs=(*first.inputs, *map(Arg, self.douts)),
            outputs=tuple(Arg(f"d{name}") for name in self.targets),
            forward=self.runner.forward,
            vjp=self.runner.vjp,
            attrs=first.attrs,
            cases=None if first.cases is None else self._drawn(first.cases),
            recorded=tuple(map(self._extended, first.recorded[:_MOST])),
            gradients=frozenset(self.targets) | frozenset(self.douts),
            allow=first.allow,
            forward_where=first.backward_where,
            backward_where=first.backward_where,
            cases_where=first.cases_where,
        )

    def _split(self, example: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {name: example[name] for name in self.names}
        return arrays, {name: value for name, value in example.items() if name not in arrays}

    def _extended(self, case: Case) -> Case:
        """Return a case with incoming gradients beside the inputs."""
        rng = np.random.default_rng([case.seed, 171])
        return replace(case, inputs={**case.inputs, **self._drawn_douts(case.inputs, case.attrs, rng)})

    def _drawn(
        self, cases: Callable[[np.random.Generator], Iterable[Mapping[str, Any]]]
    ) -> Callable[[np.random.Generator], Iterator[Mapping[str, Any]]]:
        """Return a cases function with incoming gradients beside the inputs."""

        def extended(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
            for case, _ in zip(cases(rng), range(_MOST)):
                yield {**case, **self._drawn_douts(*self._split(case), rng)}

        return extended

    def _drawn_douts(self, arrays: Arrays, attrs: Attrs, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {
            name: np.asarray(rng.uniform(-1.5, 1.5, item.shape), item.dtype)
            for name, item in zip(self.douts, self.outputs(arrays, attrs))
        }
