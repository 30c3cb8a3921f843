"""Records: the decorators of the house's data, dataclasses with slots, frozen but where something is filled in later.

No class of data is defined here; one that needs another setting uses ``dataclasses`` itself. Only ``__init__`` is
compiled for each class: ``dataclasses`` would compile six methods, which took a third of a command's start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform as dataclass_transform
else:

    def dataclass_transform(**settings: Any) -> Callable[[Any], Any]:
        """Stand in for the marker that type checkers and editors read; it does nothing when code runs."""
        return lambda function: function


_Kind = TypeVar("_Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[_Kind]) -> type[_Kind]:
    """Make a class a dataclass whose fields do not change and whose objects hold nothing else."""
    return _made(kind, _FROZEN)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def entity(kind: type[_Kind]) -> type[_Kind]:
    """Make a class a record whose objects are equal to themselves alone, as those that hold arrays must be."""
    own: Any = kind
    own.__eq__, own.__hash__ = object.__eq__, object.__hash__
    return record(kind)


@dataclass_transform(field_specifiers=(field,))
def mutable(kind: type[_Kind]) -> type[_Kind]:
    """Make a class a dataclass whose fields may change, and whose objects hold nothing else and are not hashed."""
    return _made(kind, {"__hash__": None})


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable_entity(kind: type[_Kind]) -> type[_Kind]:
    """Make a class a mutable one whose objects are equal to themselves alone."""
    own: Any = kind
    own.__eq__, own.__hash__ = object.__eq__, object.__hash__
    return mutable(kind)


def _made(kind: type[_Kind], methods: Mapping[str, Any]) -> type[_Kind]:
    given = dict(vars(kind))
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(kind)
    fields = [item for item in made.__dataclass_fields__.values() if item._field_type.name == "_FIELD"]
    methods = {"__repr__": _repr, **_comparing([item.name for item in fields if item.compare]), **methods}
    for name, method in methods.items():
        if given.get(name) is None:
            setattr(made, name, method)
    if "__init__" not in given:
        made.__init__ = _initialiser(made, fields)
    return made  # type: ignore[no-any-return]


def _comparing(names: list[str]) -> dict[str, Callable[..., Any]]:
    given = attrgetter(*names) if names else type
    values = given if len(names) != 1 else lambda self: (given(self),)  # a tuple's items are compared by identity first

    def eq(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": eq, "__hash__": hashed}


def _initialiser(kind: Any, fields: list[Field[Any]]) -> Callable[..., None]:
    space: dict[str, Any] = {"_MISSING": MISSING}
    parameters, lines, names = ["self"], [], ["self"]
    for place, item in enumerate(fields):
        name = value = f"_{place}"
        space[f"_set{name}"] = getattr(kind, item.name).__set__
        if item.default_factory is not MISSING:
            space[f"_make{name}"] = item.default_factory
            value = f"_make{name}() if {name} is _MISSING else {name}" if item.init else f"_make{name}()"
        elif item.default is not MISSING:
            space[f"_default{name}"] = item.default
        if item.init:
            names.append(item.name)
            has_default = item.default is not MISSING
            default = f"_default{name}" if has_default else "_MISSING"
            parameters.append(f"{name}={default}" if has_default or value != name else name)
        elif item.default is not MISSING:
            value = f"_default{name}"
        elif item.default_factory is MISSING:
            continue
        lines.append(f"    _set{name}(self, {value})")
    if hasattr(kind, "__post_init__"):
        lines.append("    self.__post_init__()")
    exec(_compiled(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or ["    pass"])), space)
    made: Any = space["__init__"]
    made.__code__ = made.__code__.replace(co_varnames=tuple(names))
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


@cache
def _compiled(text: str) -> CodeType:
    """Compile what many classes share but for the names of their fields, which are put in afterwards."""
    return compile(text, "<record>", "exec")


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{item.name}={getattr(self, item.name)!r}" for item in self.__dataclass_fields__.values() if item.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _setattr(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)


_FROZEN = {
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
