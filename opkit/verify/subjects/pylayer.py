"""A PyLayer as a subject, its runner, and its checkable from cases or from what a run saw.

Where the cases come from is the caller's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker import Checkable
from opkit.eager import PyLayer, Tensor, install
from opkit.errors import KernelError
from opkit.ops import local
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.from_cases import of_examples
from opkit.verify.subjects.ownership import Owned
from opkit.verify.subjects.parameters import annotations_of, parameters_of
from opkit.verify.subjects.pylayer_gradient_op import LayerGradient
from opkit.verify.subjects.recorder import Traits
from opkit.verify.subjects.runner import Runner, plain_arrays, tensors_in
from opkit.verify.subjects.source_location import location_of, method_at
from opkit.verify.subjects.subject import Signature, Subject

_INCOMING = "the incoming gradient"


def is_layer(value: Any) -> bool:
    """Return whether a value is a PyLayer class that can be applied."""
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

    return Subject(
        name=layer.__name__,
        parameters=parameters,
        annotations=annotations_of(layer.forward),
        runs=lambda signature: LayerRunner(layer, signature, leaves),
        plain=plain_arrays,
        takes_gradient=lambda value: not value.stop_gradient if isinstance(value, Tensor) else None,
        functions=(layer.forward, layer.backward),
        forward_where=method_at(layer, "forward"),
        backward_where=method_at(layer, "backward"),
        offers_second=True,
        uses_misfits=True,
    )


def checkable_of_layer(
    layer: type,
    cases: Callable[[np.random.Generator], Iterable[Sequence[Any] | Mapping[str, Any]]] | None = None,
    *,
    recorded: Sequence[Mapping[str, Any]] = (),
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
    made = of_examples(
        subject,
        declared,
        name or layer.__qualname__.replace("<locals>.", ""),
        cases=cases,
        calls=recorded,
        constants=None if traits is None else traits.constants,
        options=frozenset() if traits is None else traits.options,
        is_idle=traits is not None and traits.is_idle,
    )
    return made if declared.cases_where else replace(made, cases_where=location_of(cases) if cases else None)


class LayerRunner(Runner):
    """Runs a PyLayer, and hears what its backward returns.

    Args:
        layer: the class.
        signature: of its forward.
        leaves: see ``Runner``.
    """

    gradient_op = LayerGradient

    def __init__(self, layer: Any, signature: Signature, leaves: frozenset[str] = frozenset()) -> None:
        heard: list[Any] = []
        super().__init__(_listening(layer, heard).apply, signature, leaves, heard)


def _listening(layer: Any, heard: list[Any]) -> Any:
    """Return a subclass whose backward is the user's, and that keeps what it returns."""
    backward = layer.backward
    given: list[tuple[Tensor, np.ndarray]] = []

    def listening(ctx: Any, *douts: Any) -> Any:
        is_one = len(douts) == 1 and type(douts[0]) is Tensor  # else lists may be among them, which it may change too
        owned = Owned({_INCOMING: douts[0] if is_one else list(douts)})
        result = backward(ctx, *douts)
        owned.verify("backward")
        has_changed = any(item._data is not array for item, array in given)
        given[:] = [(item, item._data) for item in tensors_in(result)]
        if has_changed:
            raise KernelError(
                "backward changed a gradient that it returned earlier, which is read-only: the caller still holds it; "
                "return a new Tensor"
            )
        heard.append(result)
        return result

    return type(layer.__name__, (layer,), {"backward": staticmethod(listening), "__module__": layer.__module__})
