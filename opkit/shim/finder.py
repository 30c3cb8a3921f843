"""The import finder that maps ``oneflow*`` and ``paddle*`` to opkit's packages, and a context manager around it.

It maps names to names: no framework is imported here until a script asks for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

from opkit.errors import nearest

__all__ = ["FRAMEWORKS", "frameworks"]

#: import name -> opkit's package that serves it
FRAMEWORKS = {"oneflow": "opkit.oneflow", "paddle": "opkit.paddle"}


class _AliasLoader:
    """Hand out opkit's own module under a framework's name."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._own_spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._target)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import machinery has just put the alias's spec on opkit's module; give it its own back.
        module.__spec__ = self._own_spec


class _AliasFinder:
    """First on ``sys.meta_path``: serves a framework's names, exactly those and their submodules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, dot, rest = fullname.partition(".")
        package = FRAMEWORKS.get(root)
        if package is None:
            return None
        real = package + dot + rest
        if importlib.util.find_spec(real) is None:
            raise ModuleNotFoundError(_missing(fullname, package), name=fullname)
        return ModuleSpec(fullname, _AliasLoader(real), is_package=True)


class _MissingNameFinder:
    """Last on ``sys.meta_path``: words the error of ``from paddle import name`` where opkit lacks the name.

    The import statement looks for a submodule of that name before it gives up; nobody else found one.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for framework, package in FRAMEWORKS.items():
            if fullname.startswith(package + "."):
                shown = framework + fullname[len(package) :]
                if _is_lookup_by_name(fullname):
                    return None
                raise ImportError(_missing(shown, package), name=shown)
        return None


def _is_lookup_by_name(fullname: str) -> bool:
    """Whether ``find_spec`` or ``import_module`` asks, who want an answer and no advice."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib._bootstrap"):
        if frame.f_code.co_name == "_handle_fromlist":
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return True


def _missing(shown: str, package: str) -> str:
    """Return the message about a name of a framework that opkit lacks."""
    parent, _, name = shown.rpartition(".")
    framework = shown.partition(".")[0]
    text = f"opkit's {framework} has no {shown!r}"
    module = sys.modules.get(package + parent[len(framework) :])
    near = nearest(name, _names(module)) if module is not None else []
    if near:
        return text + f"; did you mean {' or '.join(f'{parent}.{item}' for item in near)}?"
    return text


def _names(module: ModuleType) -> Iterable[str]:
    yield from (name for name in dir(module) if not name.startswith("_"))
    yield from (item.name for item in pkgutil.iter_modules(getattr(module, "__path__", [])))


def _is_framework(name: str) -> bool:
    return name.partition(".")[0] in FRAMEWORKS


@contextmanager
def frameworks() -> Iterator[None]:
    """Let ``import oneflow`` and ``import paddle`` mean opkit's packages within a ``with`` block.

    Modules of those names that were imported before are put aside and come back afterwards. May be nested.

    Example:
        >>> import sys
        >>> with frameworks():
        ...     "paddle" in sys.modules
        False
    """
    aside = {name: module for name, module in sys.modules.items() if _is_framework(name)}
    for name in aside:
        del sys.modules[name]
    first, last = _AliasFinder(), _MissingNameFinder()
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)
    try:
        yield
    finally:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not first and finder is not last]
        for name in [name for name in sys.modules if _is_framework(name)]:
            del sys.modules[name]
        sys.modules.update(aside)
