"""The gradient of a Function as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is differentiable itself, so that ``grad(..., create_graph=True)`` leads to the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from opkit.checker import Arg, Case, Checkable
from opkit.verify.subjects.torch.runner import Applied, OwnRunner
from opkit.verify.subjects.torch.tensors import array_of, share

__all__ = ["twice_of"]

#: Cases taken over from the first order.
_MOST = 6


def twice_of(first: Checkable, runner: OwnRunner, example: Mapping[str, Any]) -> Checkable | None:
    """Return the gradient as an op, None where it is not offered.

    Args:
        first: the Function; its inputs are single arrays that are always given.
        runner: applies it.
        example: arguments by name, arrays among them.
    """
    names = [arg.name for arg in first.inputs]
    is_plain = not any(arg.is_variadic or arg.is_optional for arg in first.inputs)
    if not is_plain or not first.gradients or first.surrogate is not None or first.tolerance or runner.changes_inputs:
        return None
    order = _Twice(runner, names, sorted(first.gradients, key=names.index), len(first.outputs))
    attrs = {name: value for name, value in example.items() if name not in names}
    if not order.leads_back({name: example[name] for name in names}, attrs):
        return None
    return Checkable(
        name=f"{first.name} backward",
        inputs=(*first.inputs, *map(Arg, order.douts)),
        outputs=tuple(Arg(f"d{name}") for name in order.targets),
        forward=order.forward,
        vjp=order.vjp,
        attrs=first.attrs,
        cases=None if first.cases is None else order.drawn(first.cases),
        recorded=tuple(order.extended(case) for case in first.recorded[:_MOST]) if first.cases is None else (),
        gradients=frozenset(order.targets) | frozenset(order.douts),
        allow=first.allow,
        forward_where=first.backward_where,
        backward_where=first.backward_where,
        cases_where=first.cases_where,
    )


class _Twice:
    """Runs the gradient of a Function, and the gradient of that.

    Args:
        runner: applies the Function.
        names: its inputs.
        targets: those with a gradient.
        outputs: how many results it has.
    """

    def __init__(self, runner: OwnRunner, names: Sequence[str], targets: Sequence[str], outputs: int) -> None:
        self.runner, self.names, self.targets = runner, names, targets
        known = ["dy"] if outputs == 1 else [f"dy{index}" for index in range(outputs)]
        self.douts = [name if name not in names else f"{name}_" for name in known]

    def leads_back(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> bool:
        """Say whether the gradients can be differentiated with respect to some input."""
        try:
            applied = self.runner.apply(arrays, attrs)
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

    def _seeds(self, arrays: Mapping[str, Any]) -> list[Any]:
        return [share(np.asarray(arrays[name])).requires_grad_() for name in self.douts]

    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        """Return the first gradients; see ``opkit.checker.Forward``."""
        applied = self.runner.apply(self._own(arrays), attrs)
        return [array_of(item) for item in self._gradients(applied, self._seeds(arrays))]

    def vjp(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[list[np.ndarray], Callable[[Sequence[np.ndarray], frozenset[str]], dict[str, Any]]]:
        """Return the first gradients, and the way back from them."""
        applied = self.runner.apply(self._own(arrays), attrs)
        seeds = self._seeds(arrays)
        found = self._gradients(applied, seeds)
        sources = {**{name: applied.leaves[name] for name in self.targets}, **dict(zip(self.douts, seeds))}
        places = [place for place, item in enumerate(found) if item.requires_grad]

        def pullback(douts: Sequence[np.ndarray], needs: frozenset[str]) -> dict[str, Any]:
            given = [share(np.asarray(douts[place])) for place in places]
            roots = [found[place] for place in places]
            back = torch.autograd.grad(roots, list(sources.values()), given, retain_graph=True, allow_unused=True)
            return {
                name: array_of(torch.zeros_like(source) if item is None else item)
                for (name, source), item in zip(sources.items(), back)
                if name in needs
            }

        return [array_of(item) for item in found], pullback

    def _own(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        return {name: arrays[name] for name in self.names}

    def extended(self, case: Case) -> Case:
        """Return a case with incoming gradients beside the inputs."""
        drawn = self._drawn_douts(case.inputs, case.attrs, np.random.default_rng([case.seed, 171]))
        return replace(case, inputs={**case.inputs, **drawn})

    def drawn(
        self, cases: Callable[[np.random.Generator], Iterable[Mapping[str, Any]]]
    ) -> Callable[[np.random.Generator], Iterator[Mapping[str, Any]]]:
        """Return a cases function with incoming gradients beside the inputs."""

        def extended(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
            for case, _ in zip(cases(rng), range(_MOST)):
                attrs = {name: value for name, value in case.items() if name not in self.names}
                yield {**case, **self._drawn_douts(self._own(case), attrs, rng)}

        return extended

    def _drawn_douts(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any], rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        outputs = [array_of(item) for item in self.runner.apply(self._own(arrays), attrs).outputs]
        return {
            name: np.asarray(rng.uniform(-1.5, 1.5, item.shape), item.dtype) for name, item in zip(self.douts, outputs)
        }
