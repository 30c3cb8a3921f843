"""A PyLayer as a subject, and its checkable from cases or from what a run saw.

Where the cases come from is the caller's business; the PyLayer is applied by its runner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker import Checkable
from opkit.eager import PyLayer, Tensor, install
from opkit.errors import Location
from opkit.ops import local
from opkit.verify.isolation.blame import shown_path
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.making import named, of_examples
from opkit.verify.subjects.parameters import annotations_of, parameters_of
from opkit.verify.subjects.places import location_of
from opkit.verify.subjects.recorder import Traits
from opkit.verify.subjects.runner import Runner, plain_arrays
from opkit.verify.subjects.subject import Subject


def is_layer(value: Any) -> bool:
    """Say whether a value is a PyLayer class that can be applied."""
    return isinstance(value, type) and issubclass(value, PyLayer) and value is not PyLayer


def dynamic_mode() -> None:
    """Go back to dynamic mode, whatever a user's file switched on when it was imported."""
    install()
    local.mode.is_static = False
    local.mode.is_grad_enabled = True


def layer_subject(layer: Any, leaves: frozenset[str] = frozenset()) -> Subject:
    """Return a PyLayer as a subject.

    Args:
        layer: the class.
        leaves: the inputs that a run gave as leaves.
    """
    parameters = parameters_of(layer)

    def make(inputs: frozenset[str], constants: frozenset[str]) -> Runner:
        return Runner(layer, parameters, inputs, constants, leaves)

    return Subject(
        name=layer.__name__,
        parameters=parameters,
        annotations=annotations_of(layer.forward),
        make=make,
        plain=plain_arrays,
        takes_gradient=lambda value: not value.stop_gradient if isinstance(value, Tensor) else None,
        functions=(layer.forward, layer.backward),
        forward_where=_where(layer, "forward"),
        backward_where=_where(layer, "backward"),
        offers_second=True,
        uses_misfits=True,
    )


def checkable_of_layer(
    layer: type,
    cases: Callable[[np.random.Generator], Iterable[Sequence[Any] | Mapping[str, Any]]] | None = None,
    *,
    recorded: Sequence[Mapping[str, Any]] = (),
    given: Sequence[Any] = (),
    traits: Traits | None = None,
    declared: Declared | None = None,
    name: str = "",
    is_twice: bool = False,
) -> Checkable:
    """Make a checkable of a PyLayer.

    Args:
        layer: the class.
        cases: yields forward's arguments, by name or in order; float arrays take a gradient, integer ones do not,
            other values pass through.
        recorded: arguments by name, as a run saw them, checked besides the cases; without cases what lies near them
            is searched.
        given: arguments by name or in order that count as recorded.
        traits: how a recorded run's Tensors stood in the graph.
        declared: exceptions that the file declares.
        name: what the report calls it.
        is_twice: whether the run asked for a gradient of its gradient.

    Raises:
        UsageError: there is no case, or a case does not fit forward's parameters.
    """
    # What a run gave as a leaf works as the result of an op too; a case may be returned as it is, which a leaf may not.
    leaves = traits.leaves if traits is not None and cases is None else frozenset()
    subject = layer_subject(layer, leaves)
    declared = declared or Declared()
    declared = replace(declared, second_order=declared.second_order or is_twice)
    seen = [dict(case) for case in recorded] + [named(subject, case) for case in given]
    made = of_examples(
        subject,
        declared,
        name or layer.__qualname__.replace("<locals>.", ""),
        cases=cases,
        calls=seen,
        constants=None if traits is None else traits.constants,
        options=frozenset() if traits is None else traits.options,
        is_idle=traits is not None and traits.is_idle,
        origin="given" if given else "recorded",
    )
    return made if declared.cases_where else replace(made, cases_where=location_of(cases) if cases else None)


def _where(layer: type, name: str) -> Location | None:
    found = location_of(getattr(layer, name))
    return found if found is None else Location(shown_path(found.file), found.line, 0, f"{layer.__name__}.{name}")
