"""The public names of the installed paddlepaddle, as the table ``opkit/shim/known/paddle.txt`` lists them.

Run by an interpreter that has paddlepaddle 2.6.2: ``python benchmarks/paddle_names.py > opkit/shim/known/paddle.txt``.
A line is a module and its names. ``name=path`` is the same object as that shorter path, ``!name`` an exception class.
"""

import importlib
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout

warnings.simplefilter("ignore")
# Whatever a module of the framework prints on import must not be taken for a line of the table.
with redirect_stdout(sys.stderr):
    import paddle

#: Modules that scripts import although their names are private.
_PRIVATE_YET_USED = ("_C_ops", "_legacy_C_ops")


def main() -> None:
    """Print the table."""
    with redirect_stdout(sys.stderr):
        without = {name for name in _walk(paddle) if name not in sys.modules}
    modules = {
        name: module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] == "paddle"
        and isinstance(module, types.ModuleType)
        and not any(_is_private(part) for part in name.split(".")[1:])
    }
    names = {path: _names(module) for path, module in modules.items()}
    shortest = _shortest(names)
    print(f"# public names of paddlepaddle {paddle.__version__}: written by benchmarks/paddle_names.py")
    for path, own in sorted({**{path: {} for path in without}, **names}.items()):
        print(path, *(_word(path, name, value, shortest) for name, value in own.items()))


def _walk(package: types.ModuleType) -> Iterator[str]:
    """Import all modules of a package that can be imported here."""
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if _is_private(info.name.rpartition(".")[2]):
            continue
        try:
            module = importlib.import_module(info.name)
        except BaseException as error:  # a module may need what is not installed, or exit
            print(f"without its names: {info.name}: {error!r}", file=sys.stderr)
            yield info.name
            continue
        yield info.name
        if info.ispkg:
            yield from _walk(module)


def _names(module: types.ModuleType) -> dict[str, object]:
    """Return the framework's own names in a module: modules, classes and functions of Python or others are left out.

    Private functions and classes belong to the module that defines them alone; scripts do import some.
    """
    named = {
        name: value
        for name, value in sorted(vars(module).items())
        if not _is_private(name) or _defines(module, name, value)
    }
    return {name: value for name, value in named.items() if _home(value) == "paddle"}


def _is_private(name: str) -> bool:
    return name.startswith("_") and name not in _PRIVATE_YET_USED


def _defines(module: types.ModuleType, name: str, value: object) -> bool:
    """Say whether a private name is that of a function or class which the module defines."""
    place = (getattr(value, "__module__", ""), getattr(value, "__name__", ""))
    return not name.startswith("__") and place == (module.__name__, name)


def _home(value: object) -> str:
    """Return the root package that an object comes from; plain values count as the framework's."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0]
    if isinstance(value, types.BuiltinFunctionType | type) or callable(value):
        return str(getattr(value, "__module__", None) or "paddle").partition(".")[0]
    return "paddle"


def _shortest(names: dict[str, dict[str, object]]) -> dict[int, str]:
    """Return for each object of the framework the shortest of its paths, the first of equal ones."""
    paths: dict[int, list[str]] = {}
    for path in names:
        paths.setdefault(id(sys.modules.get(path)), []).append(path)
    for path, own in names.items():
        for name, value in own.items():
            if callable(value):
                paths.setdefault(id(value), []).append(f"{path}.{name}")
    return {key: min(found, key=lambda item: (item.count("."), item)) for key, found in paths.items()}


def _word(path: str, name: str, value: object, shortest: dict[int, str]) -> str:
    mark = "!" if isinstance(value, type) and issubclass(value, BaseException) else ""
    best = shortest.get(id(value), "")
    return f"{mark}{name}={best}" if best and best != f"{path}.{name}" else f"{mark}{name}"


if __name__ == "__main__":
    main()
