"""The namespace: what a kernel file's ``np`` is while its kernels are traced.

Functions that get nothing traced run as they are; the others are noted, also those that make arrays from sizes.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from opkit.export.trace.array import TracedArray, TracedList
from opkit.export.trace.builtin import BUILTINS, TracedMath, TracedType, math_function
from opkit.export.trace.graph import Node, UntraceableError
from opkit.export.trace.masks import Selected
from opkit.export.trace.recorder import current, example
from opkit.export.trace.symbols import Symbol, SymbolList, SymbolShape, TracedDtype

_TRACED = (TracedArray, TracedList, Selected, Symbol, SymbolList, SymbolShape, TracedDtype)
_COPIES = {"array", "asarray", "asanyarray", "copy", "require"}


def _has_traced(value: Any) -> bool:
    if isinstance(value, _TRACED):
        return True
    if isinstance(value, (list, tuple)):
        return any(_has_traced(item) for item in value)
    if isinstance(value, dict):
        return any(_has_traced(item) for item in value.values())
    return isinstance(value, slice) and _has_traced((value.start, value.stop, value.step))


class TracedFunction:
    """A numpy function that notes its calls with traced values.

    Args:
        name: as nodes have it: "exp", "linalg.inv".
        function: the function itself.
    """

    def __init__(self, name: str, function: Any) -> None:
        self._name = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; with traced arguments the call is noted."""
        if self._name.startswith("random."):
            raise UntraceableError(f"calls np.{self._name}, which draws random numbers")
        args = tuple(_bare(item) for item in args)
        kwargs = {key: _bare(item) for key, item in kwargs.items()}
        if not _has_traced((args, kwargs)):
            return self._function(*args, **kwargs)
        if self._name == "put_along_axis":
            return _put_along_axis(*args, **kwargs)
        if self._name in _COPIES:
            return _array(self._name, *args, **kwargs)
        if any(isinstance(item, Selected) for item in args):
            return self._function(*args, **kwargs)
        if self._name in ("finfo", "iinfo", "result_type", "issubdtype", "dtype"):
            return self._function(*[item._known() if isinstance(item, TracedDtype) else item for item in args])
        if isinstance(self._function, type) and issubclass(self._function, np.generic):
            return _cast(self._function, *args)
        if isinstance(self._function, np.ufunc):
            return current().ufunc(self._function, "__call__", args, kwargs)
        first = args[0] if args else None
        if isinstance(first, TracedArray):
            return first.__array_function__(self._function, (), args, kwargs)
        return current().record(self._name, self._function, args, kwargs)

    @property
    def dtype(self) -> Any:
        """The dtype of a scalar type, so that numpy takes this for one."""
        return np.dtype(self._function)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        if isinstance(self._function, np.ufunc) and name in ("at", "reduce", "accumulate", "outer", "reduceat"):

            def call(*args: Any, **kwargs: Any) -> Any:
                if not _has_traced((args, kwargs)):
                    return found(*args, **kwargs)
                return current().ufunc(self._function, name, args, kwargs)

            return call
        return found


class TracedNumpy(ModuleType):
    """numpy, or a module of it, with its functions noted."""

    def __init__(self, module: ModuleType, prefix: str = "") -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module
        self.__dict__["_prefix"] = prefix

    def __getattr__(self, name: str) -> Any:
        return traced(getattr(self._module, name), self._prefix + name)


def traced(value: Any, name: str) -> Any:
    """Return what stands for a thing of numpy's in a traced kernel."""
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "numpy":
        return TracedNumpy(value, "" if value is np else value.__name__.removeprefix("numpy.") + ".")
    if isinstance(value, type):
        is_scalar = issubclass(value, (np.floating, np.integer, np.bool_)) and value not in (np.floating, np.integer)
        return TracedFunction(name, value) if value in (np.finfo, np.iinfo, np.dtype) or is_scalar else value
    if callable(value) and (
        isinstance(value, np.ufunc) or (getattr(value, "__module__", "") or "").startswith("numpy")
    ):
        return TracedFunction(name, value)
    return value


def traced_globals(names: dict[str, Any]) -> dict[str, Any]:
    """Return what stands for numpy's, math's and Python's own things in a module, by name."""
    found: dict[str, Any] = {}
    for key, value in names.items():
        is_numpy = isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "numpy"
        is_function = isinstance(value, np.ufunc) or (
            callable(value)
            and not isinstance(value, type)
            and (getattr(value, "__module__", "") or "").startswith("numpy")
        )
        if is_numpy or is_function:
            name = getattr(value, "__name__", key)
            module = getattr(value, "__module__", "") or ""
            prefix = "linalg." if "linalg" in module and not is_numpy else ""
            found[key] = traced(value, prefix + name)
        elif value is math:
            found[key] = TracedMath()
        elif getattr(value, "__module__", "") == "math" and callable(value):
            found[key] = math_function(value)
    return {key: value for key, value in BUILTINS.items() if key not in names} | found


def _bare(value: Any) -> Any:
    is_type = isinstance(value, TracedType) or (isinstance(value, TracedFunction) and isinstance(value._function, type))
    return value._function if is_type else value


def _put_along_axis(target: Any, indices: Any, values: Any, axis: Any) -> None:
    recorder = current()
    if not isinstance(target, TracedArray):
        raise UntraceableError("writes traced values into an array that is not traced")
    noted = tuple(recorder.noted(item) for item in (target, indices, values, axis))
    value = np.array(example(noted[0]))
    np.put_along_axis(value, example(noted[1]), example(noted[2]), example(noted[3]))
    target.assign(recorder.wrap(Node("put_along_axis", noted, value, line=recorder.line())))


def _array(name: str, value: Any, dtype: Any = None, **_: Any) -> Any:
    if isinstance(value, TracedArray):
        made = value if dtype is None else value.astype(dtype)
        return made.copy() if made is value and name in ("array", "copy") else made
    if isinstance(value, (list, tuple)):
        kwargs = {} if dtype is None else {"dtype": dtype}
        return current().record("array", np.array, (list(value),), kwargs)
    kwargs = {} if dtype is None else {"dtype": dtype}
    return current().record("array", np.array, (value,), kwargs)


def _cast(kind: type, *args: Any) -> Any:
    if isinstance(args[0], (TracedArray, Selected)):
        return args[0].astype(kind)
    return current().record("array", np.array, args[:1], {"dtype": kind})
