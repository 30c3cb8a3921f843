"""``paddle.base.dygraph`` (``paddle.fluid.dygraph``): dynamic mode by its oldest names."""

from opkit.paddle.base.dygraph import base
from opkit.paddle.base.dygraph.base import (
    disable_dygraph,
    enable_dygraph,
    enabled,
    grad,
    guard,
    no_grad,
    no_grad_,
    to_variable,
)
from opkit.paddle.framework.tracer import Tracer
from opkit.shim.missing import guard as guarded

__all__ = [
    "Tracer",
    "base",
    "disable_dygraph",
    "enable_dygraph",
    "enabled",
    "grad",
    "guard",
    "no_grad",
    "no_grad_",
    "to_variable",
]

__getattr__ = guarded(__name__, __all__)
