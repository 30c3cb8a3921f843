"""Layers whose arguments are declared as fields, so that families share them: ``declared`` and ``DeclaredLayer``.

No layer of ``paddle.nn`` is defined here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from opkit.errors import ShapeError
from opkit.ops.core.types import Function
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.nn.layer.layers import Layer
from opkit.record import dataclass_transform

_LayerType = TypeVar("_LayerType", bound="DeclaredLayer")


class DeclaredLayer(Layer):
    """Base of the layers that ``declared`` decorates; ``__post_init__`` may follow when the fields are set."""

    #: The settings that ``repr`` shows; None: all.
    _shown: ClassVar[tuple[str, ...] | None] = None
    _settings: ClassVar[tuple[str, ...]] = ()
    #: ``_values(layer)``: the values of these fields, in their order.
    _values: ClassVar[Callable[..., tuple[Any, ...]]] = staticmethod(lambda layer: ())

    def _begin(self) -> None:
        """Make the layer ready for attributes, before the fields are set."""
        super().__init__()

    def _arguments(self) -> dict[str, Any]:
        """Return the fields by name, all except the layer's name."""
        return dict(zip(self._settings, self._values(self)))

    def extra_repr(self) -> str:
        """Return the settings."""
        shown = self._settings if self._shown is None else self._shown
        return ", ".join(f"{name}={getattr(self, name)}" for name in shown)


class FunctionLayer(DeclaredLayer):
    """Base of the declared layers that call a function of ``nn.functional``, the class argument ``function``."""

    _function: ClassVar[Function]

    def __init_subclass__(cls, function: Function | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        if function is not None:
            cls._function = staticmethod(function)


class MapLayer(FunctionLayer):
    """Base of those whose function takes one tensor and the fields."""

    def forward(self, x: Any) -> Any:
        """Return what the function gives for x and the fields."""
        return self._function(x, *self._values(self))


class InputLayer(MapLayer):
    """Base of those whose tensor Paddle calls ``input``."""

    def forward(self, input: Any) -> Any:
        """Return what the function gives for the input and the fields."""
        return self._function(input, *self._values(self))


class ParameterLayer(DeclaredLayer):
    """Base of the declared layers with parameters: these have the default dtype."""

    def _begin(self) -> None:
        Layer.__init__(self, dtype=default_dtype())


class RankedLayer(ParameterLayer):
    """Base of the declared layers that take tensors of certain numbers of axes only, the class argument ``ranks``."""

    _ranks: ClassVar[tuple[int, ...]] = ()

    def __init_subclass__(cls, ranks: tuple[int, ...] = (), **others: Any) -> None:
        super().__init_subclass__(**others)
        cls._ranks = ranks or cls._ranks

    def _check_rank(self, x: Any) -> None:
        if self._ranks and len(x.shape) not in self._ranks:
            known = " or ".join(map(str, self._ranks))
            raise ShapeError(f"{type(self).__name__} takes tensors of {known} axes, got {list(x.shape)}")


@dataclass_transform(eq_default=False)
def declared(kind: type[_LayerType]) -> type[_LayerType]:
    """Give a layer class an ``__init__`` whose parameters are its fields, those of its bases first.

    Fields are annotated names, as in a dataclass; each becomes an attribute. A field that a base has keeps its place
    and takes the new default. Their values are set when the layer can hold parameters and layers, and the defaults
    do not stay on the class, where they would hide a sublayer or buffer of the same name.
    """
    made = dataclass(eq=False, repr=False)(kind)
    fill = made.__init__

    @wraps(fill)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        self._begin()
        fill(self, *args, **kwargs)

    made.__init__ = __init__  # type: ignore[method-assign]  # the same parameters, behind _begin
    for field in fields(made):  # type: ignore[arg-type]  # a dataclass since the first line
        if field.name in vars(made):
            delattr(made, field.name)
    made._settings = tuple(field.name for field in fields(made) if field.name != "name")  # type: ignore[arg-type]
    made._values = staticmethod(_taking(made._settings))
    return made


def _taking(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that takes attributes of these names from an object."""
    if len(names) == 1:
        (name,) = names
        return lambda layer: (getattr(layer, name),)
    return attrgetter(*names) if names else lambda layer: ()
