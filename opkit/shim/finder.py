"""The import finder that maps ``oneflow*`` and ``paddle*`` to opkit's packages, and a context manager around it.

It maps names to names: no framework is imported here until a script asks for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType

from opkit.collection import Freezing, uncollected
from opkit.errors import unknown
from opkit.shim.missing import missing_module, present_name

#: import name -> opkit's package that serves it
FRAMEWORKS = {"oneflow": "opkit.oneflow", "paddle": "opkit.paddle"}


class _AliasLoader(Loader):
    """Provide opkit's own module under a framework's name."""

    def __init__(self, target: str, freezing: Freezing) -> None:
        self._target = target
        self._freezing = freezing
        self._own_spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        with uncollected():
            module = importlib.import_module(self._target)
            # Imported modules stay: the garbage collector need not visit them, now or while the script runs.
            self._freezing.freeze()
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import machinery has just set the alias's spec on opkit's module; restore its own.
        module.__spec__ = self._own_spec


class _AliasFinder(MetaPathFinder):
    """First on ``sys.meta_path``: serves a framework's names, exactly those and their submodules."""

    def __init__(self, freezing: Freezing) -> None:
        self._freezing = freezing

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, dot, rest = fullname.partition(".")
        package = FRAMEWORKS.get(root)
        if package is None:
            return None
        real = package + dot + rest
        present = package + present_name(fullname)[len(root) :]
        for module in (real, present):
            if _has_module(module):
                _keep(fullname, ask=False)
                return ModuleSpec(fullname, _AliasLoader(module, self._freezing), is_package=True)
        placeholder = missing_module(fullname)
        if placeholder is None:
            return None
        _keep(fullname, ask=True)
        return ModuleSpec(fullname, _PlaceholderLoader(placeholder), is_package=True)


class _Package(ModuleType):
    """A package in which a function stays when a submodule of its name is imported, as the framework's own do."""

    def __setattr__(self, name: str, value: object) -> None:
        held = self.__dict__.get(name)
        if not isinstance(value, ModuleType) or held is None or isinstance(held, ModuleType):
            super().__setattr__(name, value)


def _keep(fullname: str, *, ask: bool) -> None:
    """Let a package keep what it has under the name of a submodule that is to be imported.

    Args:
        fullname: the submodule's.
        ask: let the package look a name up that it does not hold yet, which may read the table of missing names.
    """
    parent, _, name = fullname.rpartition(".")
    package = sys.modules.get(parent)
    if type(package) is not ModuleType:
        return
    try:
        held = package.__dict__[name] if name in package.__dict__ or not ask else package.__getattr__(name)
    except (AttributeError, KeyError):
        return
    if not isinstance(held, ModuleType):
        package.__dict__[name] = held
        package.__class__ = _Package


def _has_module(real: str) -> bool:
    """Return whether opkit has a module; the parent of one that it lacks may be missing too."""
    try:
        return importlib.util.find_spec(real) is not None
    except ModuleNotFoundError:
        return False


class _PlaceholderLoader(Loader):
    """Provide the placeholder of a module that opkit lacks."""

    def __init__(self, placeholder: ModuleType) -> None:
        self._placeholder = placeholder

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._placeholder

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the placeholder is whole."""


class _MissingNameFinder(MetaPathFinder):
    """Last on ``sys.meta_path``: writes the error message of an import statement for a name that opkit does not have.

    Callers of ``importlib.util.find_spec`` only want an answer: they get None, as usual.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        running = _import_functions()
        root = fullname.partition(".")[0]
        if root in FRAMEWORKS and "_handle_fromlist" in running:
            # The parent is a placeholder, whose own name is the framework's.
            raise ImportError(_missing(fullname, FRAMEWORKS[root]), name=fullname)
        if root in FRAMEWORKS and "_find_and_load_unlocked" in running:
            raise ModuleNotFoundError(_missing(fullname, FRAMEWORKS[root]), name=fullname)
        for framework, package in FRAMEWORKS.items():
            # `from paddle import name` looks for a submodule of that name before it gives up.
            if fullname.startswith(package + ".") and "_handle_fromlist" in running:
                shown = framework + fullname[len(package) :]
                raise ImportError(_missing(shown, package), name=shown)
        return None


def _import_functions() -> set[str]:
    """Return the names of the import machinery's functions that are running right now."""
    names: set[str] = set()
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") in ("importlib._bootstrap", "_frozen_importlib"):
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names


def _missing(shown: str, package: str) -> str:
    """Return the message about a name of a framework that opkit lacks."""
    from opkit.shim.known import OPTIONAL

    if shown in OPTIONAL:
        return f"opkit has no {shown}: {OPTIONAL[shown]}"
    parent, _, name = shown.rpartition(".")
    framework = shown.partition(".")[0]
    module = sys.modules.get(package + parent[len(framework) :])
    known = _names(module) if module is not None else ()
    return str(unknown("opkit has no", name, known, prefix=f"{parent}.", limit=3))


def _names(module: ModuleType) -> Iterable[str]:
    yield from (name for name in dir(module) if not name.startswith("_"))
    yield from (item.name for item in pkgutil.iter_modules(getattr(module, "__path__", [])))


def _is_framework(name: str) -> bool:
    return name.partition(".")[0] in FRAMEWORKS


def install_frameworks() -> Callable[[], None]:
    """Let ``import oneflow`` and ``import paddle`` mean opkit's packages from now on.

    Modules with those names that were imported before are set aside.

    Returns:
        a function that undoes it all: the finders are removed, the modules that were set aside come back, and the
            garbage
        collector sees again what was imported.
    """
    aside = {name: module for name, module in sys.modules.items() if _is_framework(name)}
    for name in aside:
        del sys.modules[name]
    freezing = Freezing()
    first, last = _AliasFinder(freezing), _MissingNameFinder()
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)

    def undo() -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not first and finder is not last]
        for name in [name for name in sys.modules if _is_framework(name)]:
            del sys.modules[name]
        sys.modules.update(aside)
        freezing.end()

    return undo


@contextmanager
def frameworks() -> Iterator[None]:
    """Let ``import oneflow`` and ``import paddle`` mean opkit's packages within a ``with`` block; may be nested.

    Example:
        >>> import sys
        >>> with frameworks():
        ...     "paddle" in sys.modules
        False
    """
    undo = install_frameworks()
    try:
        yield
    finally:
        undo()
