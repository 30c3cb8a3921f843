"""``static_pylayer``: a part of a graph whose gradient is built by a function of the script's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any

from opkit.errors import UsageError
from opkit.ir import Variable
from opkit.ops.core.mode import local
from opkit.ops.core.types import Function, Name
from opkit.shim.missing import guard as _guard
from opkit.static.own_gradient import OwnGradientError, with_own_gradient
from opkit.static.py_func import StaticModeError

__all__ = ["static_pylayer"]


def static_pylayer(
    forward_fn: Function, inputs: Sequence[Any], backward_fn: Function | None = None, name: Name = None
) -> Any:
    """Append what ``forward_fn`` builds, with the gradient that ``backward_fn`` builds.

    Args:
        forward_fn: takes the inputs, returns a Variable or a list of them.
        inputs: a list of Variables.
        backward_fn: takes one incoming gradient per result, returns one gradient per input; None where no input takes
            a gradient.
        name: accepted, without effect.

    Returns:
        what ``forward_fn`` returns: a Variable, or a list or tuple of them.

    Raises:
        StaticModeError: dynamic mode is on.
        OwnGradientError: the inputs are not a list of Variables, or a function returns something else.
        UsageError: an input takes a gradient and there is no ``backward_fn``.

    Source: Paddle 2.6.2, paddle.static.nn.static_pylayer.
    """
    if not local.mode.is_static:
        raise StaticModeError(
            "static_pylayer adds to a program", help="in dynamic mode write a paddle.autograd.PyLayer"
        )
    if not isinstance(inputs, (list, tuple)) or not all(isinstance(item, Variable) for item in inputs):
        raise OwnGradientError("static_pylayer: inputs is a list of Variables")
    if backward_fn is None:
        takers = [item.name for item in inputs if not item.stop_gradient]
        if takers:
            raise UsageError(f"static_pylayer: {takers} take gradients and there is no backward_fn")
        return forward_fn(*inputs)
    kind: list[Any] = []

    @wraps(forward_fn)
    def forward(*given: Any) -> Any:
        returned = forward_fn(*given)
        kind.append(type(returned))
        return returned

    made = with_own_gradient(forward, backward_fn, inputs, "static_pylayer")
    return tuple(made) if kind[0] is tuple else made if kind[0] is list else made[0]


__getattr__ = _guard(globals())
