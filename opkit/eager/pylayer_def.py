"""The OpDefs of PyLayers: how observers, profiles and recorders identify an application and a backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opkit.eager.pylayer_faults import function_location
from opkit.ops.core.opdef import ArgDef, GradRule, OpDef


@dataclass(slots=True, eq=False, kw_only=True)
class PyLayerGradDef(OpDef):
    """The backward of a PyLayer.

    Args:
        layer: the class.
    """

    layer: type


@dataclass(slots=True, eq=False, kw_only=True)
class PyLayerDef(OpDef):
    """The op that a PyLayer is.

    Args:
        layer: the class.
        backward: its gradient's OpDef.
    """

    layer: type
    backward: PyLayerGradDef


def pylayer_def(layer: Any, kernel: Callable[..., Any], rule: GradRule) -> PyLayerDef:
    """Return the OpDef of a PyLayer.

    Args:
        layer: the class.
        kernel: its ``apply``.
        rule: its gradient rule.
    """
    sides: Mapping[str, Any] = {
        "inputs": (ArgDef("args", is_variadic=True),),
        "outputs": (ArgDef("out", is_variadic=True),),
    }
    backward = PyLayerGradDef(
        f"{layer.__name__}_backward",
        **sides,
        kernel=layer.backward,
        is_user=True,
        where=function_location(layer, "backward"),
        layer=layer,
    )
    return PyLayerDef(
        layer.__name__,
        **sides,
        kernel=kernel,
        grad=rule,
        is_user=True,
        where=function_location(layer, "forward"),
        layer=layer,
        backward=backward,
    )
