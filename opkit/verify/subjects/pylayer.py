"""PyLayers as subjects: how one is found and served, its runner, and its gradient as an op of its own.

Where cases come from, and what is made of them, is decided elsewhere. That op, (inputs, incoming gradients) ->
gradients, is offered where backward is written in differentiable ops, so that ``grad(..., create_graph=True)`` leads
back to the inputs; a backward that works on numpy arrays has no second order, and none is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.blind.call import Kind
from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.types import Ran
from opkit.eager import PyLayer, Tensor, grad, install, wrap
from opkit.errors import KernelError, UsageError
from opkit.ops import local
from opkit.verify.options import NoGradientError
from opkit.verify.subjects.foreign.serving import Framework
from opkit.verify.subjects.gradient_op import GradientOp
from opkit.verify.subjects.parameters import parameters_of
from opkit.verify.subjects.runner import Owned, Runner, plain_arrays, tensors_in
from opkit.verify.subjects.source_location import location_of, method_at
from opkit.verify.subjects.subject import Signature, Subject


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


_INCOMING = "the incoming gradient"


def is_layer(value: Any) -> bool:
    """Return whether a value is a PyLayer class that can be applied."""
    return isinstance(value, type) and issubclass(value, PyLayer) and value is not PyLayer


def dynamic_mode() -> None:
    """Go back to dynamic mode, whatever a user's file switched on when it was imported."""
    install()
    local.mode.is_static = False
    local.mode.is_grad_enabled = True


def layer_subject(value: Any) -> Subject:
    """Return a PyLayer as a subject."""
    return Subject(
        name=value.__name__,
        parameters=parameters_of(value),
        runs=lambda signature: LayerRunner(value, signature),
        plain=plain_arrays,
        takes_gradient=lambda value: not value.stop_gradient if isinstance(value, Tensor) else None,
        functions=(value.forward, value.backward),
        forward_where=method_at(value, "forward"),
        backward_where=method_at(value, "backward"),
        offers_second=True,
        widening='x.astype("float64") and Tensors of numpy arrays (paddle.to_tensor(np.ones(3))) are float64',
        uses_misfits=True,
    )


class LayerRunner(Runner):
    """Runs a PyLayer, and hears what its backward returns.

    Args:
        layer: the class.
        signature: of its forward.
    """

    gradient_op = LayerGradient

    def __init__(self, layer: Any, signature: Signature) -> None:
        heard: list[Any] = []
        super().__init__(_listening(layer, heard).apply, signature, heard)


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


class Layers(Framework):
    """See ``Framework``."""

    kinds = "PyLayer"
    kind = Kind.LAYER
    knows = staticmethod(is_layer)
    heard_subject = staticmethod(layer_subject)  # one without a backward fails

    def subject_of(self, value: Any) -> Subject:
        """Return a PyLayer as a subject.

        Raises:
            UsageError: it has no forward.
            NoGradientError: it has no backward.
        """
        if value.forward is PyLayer.forward:
            raise UsageError(f"{value.__name__} has no forward", where=location_of(value))
        if value.backward is PyLayer.backward:
            raise NoGradientError(
                f"{value.__name__} has no backward: there is no gradient to check",
                where=location_of(value),
                help="define backward(ctx, *incoming gradients) as a static method",
            )
        return layer_subject(value)


layers = Layers()
