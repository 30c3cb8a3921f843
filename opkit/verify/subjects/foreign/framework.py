"""Frameworks: which other frameworks' custom functions can be checked, and the modules that know each.

A framework's module is imported only once the user's own file has imported the framework, as soon as it has; that
import is left to Python's own finders.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opkit.blind.marks import shown
from opkit.replaced import keep
from opkit.verify.subjects.recording import Recording

if TYPE_CHECKING:
    from opkit.verify.subjects.foreign.serving import Framework


class _Finder:
    """Finds the modules that are waited for where others find them, and says when they have been run."""

    def __init__(self, names: Iterable[str], tell: Callable[[str], object]) -> None:
        self._waiting = set(names)
        self._tell = tell

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._waiting:
            return None
        self._waiting.discard(name)  # the question below comes back here
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                self._tell(name)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextmanager
def at_arrival(names: Iterable[str], tell: Callable[[str], object]) -> Iterator[None]:
    """Call a function with the name of each module, once it is imported; at once where it is."""
    wanted = list(names)
    for name in wanted:
        if name in sys.modules:
            tell(name)
    finder = _Finder([name for name in wanted if name not in sys.modules], tell)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


#: The top-level module of each framework, and the module here that offers a ``framework``; an extra of opkit of the
#: same name brings it.
FRAMEWORKS: dict[str, str] = {
    "torch": "opkit.verify.subjects.torch.framework",
    "jax": "opkit.verify.subjects.jax.framework",
}


def missing(error: BaseException) -> str:
    """Return what brings a framework whose import failed, "" where that is not what an error is about."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return f"pip install 'opkit[{name}]' brings {name}" if name in FRAMEWORKS else ""


def framework_of(name: str, device: str = "") -> Framework:
    """Return what is known of a framework that this process has imported, its functions on a device."""
    found: Framework = import_module(FRAMEWORKS[name]).framework
    return found.on(device) if device else found


def loaded_frameworks(device: str = "") -> Iterator[Framework]:
    """Yield the frameworks that this process has imported."""
    for name in FRAMEWORKS:
        if name in sys.modules:
            yield framework_of(name, device)


def frameworks_ready() -> AbstractContextManager[None]:
    """Load what is known of each framework as soon as something imports it, before user code can change it."""

    def arrived(name: str) -> None:
        if name in FRAMEWORKS:
            framework_of(name)
        else:
            keep(name, sys.modules[name])

    return at_arrival((*FRAMEWORKS, "numpy.testing"), arrived)


@contextmanager
def recorded_frameworks(device: str = "") -> Iterator[list[tuple[Framework, Recording]]]:
    """Record the calls of custom functions of every framework, from the moment at which something imports it.

    Args:
        device: where they are checked.

    Yields:
        the frameworks that were imported, each with what was heard; both fill.
    """
    heard: list[tuple[Framework, Recording]] = []
    with ExitStack() as stack:

        def arrived(name: str) -> None:
            with shown():
                framework = framework_of(name, device)
                try:
                    calls = stack.enter_context(framework.recording())
                except (AttributeError, TypeError):  # a release whose calls go another way: nothing is heard
                    calls = Recording()
            heard.append((framework, calls))

        with at_arrival(FRAMEWORKS, arrived):
            yield heard
