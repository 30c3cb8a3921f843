"""Placeholders: what an import gives for a name or module that the framework has and opkit lacks.

A name can be imported, subclassed, used as a decorator, in annotations, as a default and in ``isinstance``; whoever
calls it, computes or compares with it gets an error that says what is missing and where the script uses it.
Which names exist is not known here.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any, NoReturn, Union

from opkit.errors import Location, MissingNameError
from opkit.static.site import user_site

__all__ = ["MissingModule", "MissingName", "missing_exception"]


class MissingName:
    """Stands for a name that the framework has and opkit lacks; every use raises a MissingNameError.

    Args:
        path: the name as scripts know it, such as ``paddle.vision.models.resnet50``.
        release: the framework's release that has it.
        help: says what the nearest is that opkit has; asked on a use.
    """

    def __init__(self, path: str, release: str, help: Callable[[], str] = str) -> None:
        fields = {"_path": path, "_release": release, "_help": help, "_standin": None}
        vars(self).update(fields)

    # ---- not a use ---------------------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{self._path} is not in opkit, and has no {name!r}")
        return self._part(name, f".{name}")

    def _part(self, key: str, suffix: str) -> MissingName:
        return vars(self).setdefault(key, MissingName(self._path + suffix, self._release, self._help))  # type: ignore[no-any-return]

    def __getitem__(self, item: Any) -> MissingName:
        # Annotations such as Missing[int]; a value read from it raises as soon as it is used.
        return MissingName(f"{self._path}[...]", self._release, self._help)

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._base())

    def __subclasscheck__(self, subclass: Any) -> bool:
        return subclass is self or issubclass(subclass, self._base())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type]:
        return (self._base(),)

    def _base(self) -> type:
        """Return the class that stands in its place among the bases of a user's class; instantiating it is a use."""
        if self._standin is None:

            def refuse(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
                raise self._used(f"instantiating its subclass {cls.__name__!r}")

            vars(self)["_standin"] = type(self._path.rpartition(".")[2], (), {"__new__": refuse})
        return self._standin  # type: ignore[no-any-return]

    def __copy__(self) -> MissingName:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> MissingName:
        return self

    def __repr__(self) -> str:
        return f"<{self._path}: not in opkit>"

    def __hash__(self) -> int:
        return id(self)

    # ---- uses --------------------------------------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        # typing and others of Python's own modules compare whatever they are given with what they look for.
        if sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] in sys.stdlib_module_names:
            return self is other
        raise self._used("comparing with it")

    def __call__(self, *args: Any, **kwargs: Any) -> MissingName:
        """Refuse; on a decorator's line what is decorated becomes missing too."""
        if _is_decorating(args):
            return self
        raise self._used("calling it")

    def _used(self, doing: str) -> MissingNameError:
        """Return the error about a use."""
        message = f"opkit has no {self._path} ({self._release} has it): it can be imported, but {doing} is not possible"
        site = user_site()
        where = None if site is None else Location(site[0], site[1], 0, site[2])
        return MissingNameError(message, where=where, help=self._help())


def _refusing(doing: str) -> Callable[..., NoReturn]:
    def refuse(self: MissingName, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._used(doing)

    return refuse


#: what a use is called -> the methods that Python calls for it
_USES: dict[str, Sequence[str]] = {
    "comparing with it": ("lt", "le", "gt", "ge"),
    "computing with it": (
        *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod"),
        *("pow", "rpow", "matmul", "rmatmul", "and", "rand", "xor", "rxor", "neg", "pos", "invert", "abs"),
        *("int", "float", "index", "complex", "array"),
    ),
    "taking its truth": ("bool",),
    "iterating over it": ("iter", "len", "contains", "next"),
    "entering it": ("enter", "exit"),
}
for _doing, _methods in _USES.items():
    for _method in _methods:
        setattr(MissingName, f"__{_method}__", _refusing(_doing))


def _is_decorating(args: tuple[Any, ...]) -> bool:
    """Return whether the line of the user's file that is running is a decorator's."""
    site = user_site()
    if site is None:
        return False
    line = linecache.getline(site[0], site[1]).lstrip()
    # Before 3.11 Python says that a decorator is applied at the line of what it decorates.
    if sys.version_info < (3, 11) and len(args) == 1 and isinstance(args[0], type | FunctionType | MissingName):
        return line.startswith(("@", "def ", "async def ", "class "))
    return line.startswith("@")


def missing_exception(path: str, release: str, help: Callable[[], str] = str) -> type[Exception]:
    """Return an exception class, which can stand in ``except`` clauses and be subclassed; opkit never raises it.

    Args:
        path: its path as scripts know it.
        release: the framework's release that has it.
        help: says what the nearest is that opkit has.
    """
    module, _, name = path.rpartition(".")
    return type(name, (Exception,), {"__module__": module, "__doc__": f"{release}'s; opkit never raises it. {help()}"})


class MissingModule(ModuleType):
    """A module that the framework has and opkit lacks: its names can be imported.

    Args:
        path: its path as scripts know it.
        names: its public names.
        find: returns the value of a name, or raises a MissingNameError.
    """

    def __init__(self, path: str, names: Sequence[str], find: Callable[[str], Any]) -> None:
        super().__init__(path, "A module that opkit lacks: its names can be imported, not used.")
        self.__path__: list[str] = []
        self.__all__ = list(names)
        self._find = find

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return self._find(name)

    def __dir__(self) -> list[str]:
        return self.__all__
