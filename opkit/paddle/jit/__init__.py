"""``paddle.jit`` without a compiler: functions run in dynamic mode; a network can be saved as a graph."""

from opkit.paddle.jit.saving import TranslatedLayer, load, save
from opkit.paddle.jit.static_function import (
    StaticFunction,
    enable_to_static,
    ignore_module,
    not_to_static,
    to_static,
)
from opkit.shim.missing import guard

__all__ = [
    "StaticFunction",
    "TranslatedLayer",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "to_static",
]

__getattr__ = guard(globals())
