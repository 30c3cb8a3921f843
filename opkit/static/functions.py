"""Which Python functions a saved program may name: those that the running script registered or allowed.

A function goes by its import path, ``module:name``. A file that names another is refused; nothing is imported because
a file says so.
"""

from __future__ import annotations

import importlib
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from opkit.errors import OpkitError, UsageError

#: What ``allow`` holds: names of modules, or functions.
Allow = Sequence[str | Callable[..., Any]]

_registered: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


class SerialiseError(OpkitError, ValueError):
    """A program holds something that cannot be saved, or a file something that cannot be loaded."""


def register(*functions: Callable[..., Any] | None) -> None:
    """Let saved programs name functions that the running script uses itself; ``static.py_func`` calls this."""
    for function in functions:
        path = path_of(function)
        if path is not None and isinstance(function, types.FunctionType):
            _registered[path] = function


def path_of(function: Any) -> str | None:
    """Return the import path of a function, None where it cannot be found by one.

    A function of Python at the top level of a loaded module has one, within classes too, and a ufunc of numpy.
    """
    if isinstance(function, np.ufunc):
        return f"numpy:{function.__name__}" if _ufunc(function.__name__) is function else None
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    return f"{module}:{name}" if _defined_in(sys.modules.get(module), name) is function else None


class Functions:
    """The functions that the programs of one call may name.

    Args:
        allow: names of modules whose functions may be named, which are imported at once because the caller says so, and
            functions. What a module has from elsewhere stays out.

    Raises:
        UsageError: ``allow`` holds something else, or a module cannot be imported.
    """

    def __init__(self, allow: Allow = ()) -> None:
        if isinstance(allow, str) or not isinstance(allow, Iterable):
            raise UsageError(f"allow is a list of module names and functions, got {allow!r}")
        self._modules: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        for item in allow:
            if isinstance(item, str):
                self._modules[item] = _imported(item)
            elif isinstance(item, types.FunctionType):
                self._functions[f"{item.__module__}:{item.__qualname__}"] = item
            else:
                raise UsageError(f"allow holds names of modules and functions, got {type(item).__name__}")

    def find(self, path: str) -> Callable[..., Any]:
        """Return the function of an import path.

        Raises:
            SerialiseError: it is neither registered nor allowed, or an allowed module does not define it.
        """
        module, _, name = path.partition(":")
        if path in self._functions:
            return self._functions[path]  # type: ignore[no-any-return]
        if module in self._modules:
            found: Callable[..., Any] | None = _defined_in(self._modules[module], name)
            if found is None:
                raise SerialiseError(
                    f"py_func: the program names the function {path!r}, which module {module!r} does not define",
                    help="a function that a module imports from elsewhere is not its own",
                )
            return found
        found = _registered.get(path)
        if found is None and module == "numpy":
            found = _ufunc(name)
        if found is None:
            _refuse(path, module)
        return found


def _refuse(path: str, module: str) -> NoReturn:
    raise SerialiseError(
        f"py_func: the program names the function {path!r}, which this script has neither registered nor allowed; "
        f"nothing was imported",
        help=f"if you know that function and trust the file: load_inference_model(..., allow=[{module!r}])",
    )


def _imported(name: str) -> Any:
    try:
        return sys.modules.get(name) or importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"allow: the module {name!r} cannot be imported: {error}",
            help="make it importable (PYTHONPATH), or allow the function itself",
        ) from error


def _ufunc(name: str) -> Any:
    found = vars(np).get(name)
    return found if isinstance(found, np.ufunc) else None


def _defined_in(module: Any, name: str) -> Any:
    """Return the Python function that a module defines under a name with dots, None where there is none."""
    found = module
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)
        if isinstance(found, staticmethod):
            found = found.__func__
    is_own = isinstance(found, types.FunctionType) and found.__module__ == getattr(module, "__name__", None)
    return found if is_own else None
