"""The gradient of a PyLayer as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is written in differentiable ops, so that ``grad(..., create_graph=True)`` leads back to
the inputs; a backward that works on numpy arrays has no second order, and none is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from opkit.checker import Arg, Case, Checkable
from opkit.eager import Tensor, grad, wrap

__all__ = ["LayerRunner", "second_of"]

#: Cases taken over from the first order.
_MOST = 6


class LayerRunner(Protocol):
    """What is needed of a PyLayer's runner: ``applied(arrays, attrs)`` -> (outputs, leaves by input)."""

    def applied(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> tuple[list[Tensor], Mapping[str, Tensor]]:
        """Apply the PyLayer to Tensors that take a gradient."""


def second_of(first: Checkable, runner: LayerRunner, example: Mapping[str, Any]) -> Checkable | None:
    """Return the gradient as an op, None where it is not offered.

    Args:
        first: the PyLayer; its inputs are single arrays that are always given.
        runner: applies it.
        example: arguments of forward by name, arrays among them.
    """
    names = [arg.name for arg in first.inputs]
    is_plain = not any(arg.is_variadic or arg.is_optional for arg in first.inputs)
    if not is_plain or not first.gradients or first.surrogate is not None or first.tolerance:
        return None
    order = _Second(runner, names, sorted(first.gradients, key=names.index))
    attrs = {name: value for name, value in example.items() if name not in names}
    if not order.leads_back({name: example[name] for name in names}, attrs):
        return None
    douts = [f"d{arg.name}" for arg in first.outputs]
    order.douts = douts = [name if name not in names else f"{name}_" for name in douts]
    return Checkable(
        name=f"{first.name} backward",
        inputs=(*first.inputs, *(Arg(name) for name in douts)),
        outputs=tuple(Arg(f"d{name}") for name in order.targets),
        forward=order.forward,
        vjp=order.vjp,
        attrs=first.attrs,
        cases=None if first.cases is None else order.drawn(first.cases),
        recorded=tuple(order.extended(case) for case in first.recorded[:_MOST]),
        gradients=frozenset(order.targets) | frozenset(douts),
        allow=first.allow,
        forward_where=first.backward_where,
        backward_where=first.backward_where,
        cases_where=first.cases_where,
    )


class _Second:
    """Runs the gradient of a PyLayer, and the gradient of that.

    Args:
        runner: applies the PyLayer.
        names: its inputs.
        targets: those with a gradient.
    """

    def __init__(self, runner: LayerRunner, names: Sequence[str], targets: Sequence[str]) -> None:
        self.runner, self.names, self.targets = runner, names, targets
        self.douts: Sequence[str] = ()

    def leads_back(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> bool:
        """Say whether the gradients can be differentiated with respect to some input."""
        try:
            outputs, leaves = self.runner.applied(arrays, attrs)
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

    def _seeds(self, arrays: Mapping[str, Any]) -> list[Tensor]:
        return [wrap(np.asarray(arrays[name]), stop_gradient=False) for name in self.douts]

    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        """Return the first gradients; see ``opkit.checker.Forward``."""
        outputs, leaves = self.runner.applied(arrays, attrs)
        return [item._data for item in self._gradients(outputs, leaves, self._seeds(arrays))]

    def vjp(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[list[np.ndarray], Callable[[Sequence[np.ndarray], frozenset[str]], dict[str, Any]]]:
        """Return the first gradients, and the way back from them."""
        outputs, leaves = self.runner.applied(arrays, attrs)
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

    def extended(self, case: Case) -> Case:
        """Return a case with incoming gradients beside the inputs."""
        rng = np.random.default_rng([case.seed, 171])
        return Case(
            {**case.inputs, **self._drawn_douts(case.inputs, case.attrs, rng)}, case.attrs, case.regime, case.seed
        )

    def drawn(
        self, cases: Callable[[np.random.Generator], Iterable[Mapping[str, Any]]]
    ) -> Callable[[np.random.Generator], Iterator[Mapping[str, Any]]]:
        """Return a cases function with incoming gradients beside the inputs."""

        def extended(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
            for case, _ in zip(cases(rng), range(_MOST)):
                arrays = {name: case[name] for name in self.names}
                attrs = {name: value for name, value in case.items() if name not in arrays}
                yield {**case, **self._drawn_douts(arrays, attrs, rng)}

        return extended

    def _drawn_douts(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any], rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        outputs, _ = self.runner.applied(arrays, attrs)
        shapes = [(item._data.shape, item._data.dtype) for item in outputs]
        return {
            name: np.asarray(rng.uniform(-1.5, 1.5, shape), dtype) for name, (shape, dtype) in zip(self.douts, shapes)
        }
