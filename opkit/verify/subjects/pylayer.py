"""A PyLayer as a subject, and its runner.

Where cases come from, and what is made of them, is decided elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.eager import PyLayer, Tensor, install
from opkit.errors import KernelError
from opkit.ops import local
from opkit.verify.subjects.ownership import Owned
from opkit.verify.subjects.parameters import parameters_of
from opkit.verify.subjects.pylayer_gradient_op import LayerGradient
from opkit.verify.subjects.runner import Runner, plain_arrays, tensors_in
from opkit.verify.subjects.source_location import method_at
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
