"""Python's own functions as a traced kernel sees them: ``range``, ``len``, ``int``, ``min``, ``math`` ...

Each is Python's wherever nothing traced is passed.

The namespace: what a kernel file's ``np`` is while its kernels are traced.

Functions that get nothing traced run as they are; the others are noted, also those that make arrays from sizes.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from opkit.export.trace.array import TracedArray, TracedList
from opkit.export.trace.graph import Node, Scalar, UntraceableError
from opkit.export.trace.loops import TracedRange
from opkit.export.trace.masks import Selected
from opkit.export.trace.recorder import current, example
from opkit.export.trace.symbols import Symbol, SymbolList, SymbolShape, TracedDtype, scalar_of


def _range(*bounds: Any) -> Any:
    return TracedRange(*bounds) if any(isinstance(item, Symbol) for item in bounds) else range(*bounds)


def _len(value: Any) -> Any:
    if isinstance(value, TracedArray):
        return value.shape[0]
    if isinstance(value, TracedList) or (isinstance(value, SymbolList) and current().rolls):
        return value.length()
    if isinstance(value, Symbol):
        return _called("len", value, len(value.scalar.value))
    return len(value)


def _extreme(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        items = list(args[0]) if len(args) == 1 else list(args)
        if kwargs or not any(isinstance(item, Symbol) for item in items):
            return function(*args, **kwargs)
        scalars = [scalar_of(item) for item in items]
        return Symbol(Scalar("call", (name, *scalars), function(item.value for item in scalars)))

    return call


def _enumerate(items: Any, start: Any = 0) -> Iterator[tuple[Any, Any]]:
    size = _rounds(items)
    if size is None:
        return enumerate(items, start)
    return ((place + start, _item(items, place)) for place in TracedRange(size, is_loop=True))


def _zip(*items: Any, **kwargs: Any) -> Iterator[tuple[Any, ...]]:
    sizes = [_rounds(item) for item in items]
    if not sizes or any(size is None for size in sizes) or not current().is_at_loop(is_after_call=True):
        return zip(*items, **kwargs)
    for size in sizes[1:]:
        if not size == sizes[0]:
            raise UntraceableError("runs through things of different lengths together")
    return (tuple(_item(item, place) for item in items) for place in TracedRange(sizes[0], is_loop=True))


def _rounds(items: Any) -> Any:
    """Return how many rounds a loop over something has, None where that is a plain number."""
    if not current().is_at_loop(is_after_call=True):
        return None
    if isinstance(items, TracedArray):
        return items.shape[0]
    if isinstance(items, TracedList) or (isinstance(items, SymbolList) and current().rolls):
        return items.length()
    if isinstance(items, TracedRange) and items.bounds[0].value == 0 and items.bounds[2].value == 1:
        return None if items.is_reversed else Symbol(items.bounds[1])
    return None


def _item(items: Any, place: Any) -> Any:
    return place if isinstance(items, TracedRange) else items[place]


def _isinstance(value: Any, kinds: Any) -> bool:
    several = kinds if isinstance(kinds, tuple) else (kinds,)
    known: Any = tuple(getattr(kind, "_function", kind) for kind in several)
    if isinstance(value, Symbol):
        return isinstance(value.scalar.value, known)
    if isinstance(value, TracedArray):
        return any(kind in (np.ndarray, TracedArray) for kind in known)
    return isinstance(value, known)


def _round(value: Any, digits: Any = None) -> Any:
    if isinstance(value, Symbol):
        if digits is not None:
            raise UntraceableError("rounds a number that is known only at the call to digits")
        return _called("round", value, round(value.scalar.value))
    return round(value) if digits is None else round(value, digits)


def _called(name: str, value: Symbol, result: Any) -> Symbol:
    return Symbol(Scalar("call", (name, value.scalar), result))


class TracedType:
    """``int``, ``float`` or ``bool``: a function that keeps symbols, and a dtype where numpy takes one."""

    def __init__(self, kind: type) -> None:
        self._function = kind

    def __call__(self, *args: Any) -> Any:
        """Convert a value."""
        if args and isinstance(args[0], Symbol):
            value = self._function(args[0].scalar.value)
            if type(args[0].scalar.value) is self._function:
                return args[0]
            return (
                current().ask(args[0].scalar)
                if self._function is bool
                else _called(self._function.__name__, args[0], value)
            )
        return self._function(*args)

    def __eq__(self, other: object) -> bool:
        return self._function == getattr(other, "_function", other)

    def __hash__(self) -> int:
        return hash(self._function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def math_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of ``math`` that keeps symbols."""

    def call(*args: Any) -> Any:
        if any(isinstance(item, TracedArray) for item in args):
            raise UntraceableError("turns an array into a float, so that what it does depends on values")
        if not any(isinstance(item, Symbol) for item in args):
            plain = [list(item) if isinstance(item, (list, tuple)) else item for item in args]
            if any(isinstance(part, Symbol) for item in plain if isinstance(item, list) for part in item):
                return _product(function, plain[0])
            return function(*args)
        scalars = [scalar_of(item) for item in args]
        return Symbol(
            Scalar("call", (f"math.{function.__name__}", *scalars), function(*(item.value for item in scalars)))
        )

    return call


def _product(function: Callable[..., Any], items: Any) -> Any:
    if function is not math.prod:
        raise UntraceableError(f"calls math.{function.__name__} on a list that is known only at the call")
    found: Any = 1
    for item in items:
        found = item * found
    return found


class TracedMath(ModuleType):
    """``math`` with functions that keep symbols."""

    def __init__(self) -> None:
        super().__init__("math")

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        return math_function(found) if callable(found) else found


def _effect(name: str) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise UntraceableError(f"calls {name}(), whose effect array operations do not have")

    return call


#: What stands for Python's functions in the module of a traced kernel.
BUILTINS: dict[str, Any] = {
    **{name: _effect(name) for name in ("print", "open", "input", "exec", "eval")},
    "range": _range,
    "len": _len,
    "min": _extreme("min", builtins.min),
    "max": _extreme("max", builtins.max),
    "enumerate": _enumerate,
    "zip": _zip,
    "isinstance": _isinstance,
    "round": _round,
    "int": TracedType(int),
    "float": TracedType(float),
    "bool": TracedType(bool),
}


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
