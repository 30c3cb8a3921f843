"""The errors of PyLayer: what the user's class did, what was expected, and where its function is defined.

The OpDefs of PyLayers: how observers, profiles and recorders identify an application and a backward.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from opkit.errors import AutogradError, CountError, Location, UnsupportedError, def_line
from opkit.ir import current_dialect
from opkit.ops.core.opdef import ArgDef, GradRule, OpDef

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class PyLayerError(AutogradError, ValueError):
    """A PyLayer's forward or backward broke a rule.

    Source: Paddle 2.6 raises ValueError.
    """


class GradientCountError(PyLayerError, CountError):
    """A PyLayer's backward returned more or fewer gradients than forward has Tensor inputs."""


class NoTensorError(PyLayerError):
    """A PyLayer's forward ran and returned no Tensor: a return is missing, or gives something else."""


class MissingForwardError(AutogradError, NotImplementedError):
    """A PyLayer without forward was applied."""


class MissingBackwardError(AutogradError, NotImplementedError, OSError):
    """A PyLayer without backward was differentiated.

    Source: Paddle 2.6 raises OSError for what a backward raises.
    """


class StaticPyLayerError(UnsupportedError, ValueError):
    """A PyLayer was applied while a static program is being built."""


def function_location(cls: Any, name: str) -> Location | None:
    """Return where a PyLayer's forward or backward is defined."""
    function = getattr(cls, name, None)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or code.co_filename.startswith(_OWN):  # PyLayer's own, where the class defines none
        return None
    return Location(code.co_filename, def_line(code), function=f"{cls.__qualname__}.{name}")


def refuse(cls: Any, name: str, message: str, help: str = "", kind: type[PyLayerError] = PyLayerError) -> NoReturn:
    """Raise a PyLayerError about ``forward`` or ``backward`` of a class."""
    raise kind(f"PyLayer {cls.__name__}: {message}", where=function_location(cls, name), help=help)


def refuse_static(cls: Any) -> NoReturn:
    """Raise the error of a PyLayer in static mode."""
    raise StaticPyLayerError(
        f"PyLayer {cls.__name__}: a PyLayer works in dynamic mode only, and a static program is being built",
        where=function_location(cls, "forward"),
        help=current_dialect().words.python_in_graph,
    )


def note(error: BaseException, cls: Any, name: str) -> None:
    """Add a note to a user's exception that names the PyLayer it came from, once."""
    place = function_location(cls, name)
    text = f"in {name} of PyLayer {cls.__name__}" + (f" ({place})" if place is not None else "")
    notes = getattr(error, "__notes__", None)
    if notes is None:
        notes = []
        try:
            error.__notes__ = notes  # type: ignore[attr-defined]  # Python 3.10 has no add_note
        except AttributeError:  # an exception class with slots
            return
    if text not in notes:
        notes.append(text)


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
