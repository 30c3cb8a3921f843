"""Frameworks: which other frameworks' custom functions can be checked, and the modules that know each.

A framework's module is imported only once the user's own file has imported the framework.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from typing import Any, Protocol

from opkit.blind.call import Kind
from opkit.blind.marks import shown
from opkit.checker import Checkable, OpReport, Options
from opkit.errors import UsageError
from opkit.record import record
from opkit.verify.subjects.foreign.arrivals import at_arrival
from opkit.verify.subjects.foreign.recording import Recording
from opkit.verify.subjects.subject import Subject

#: The top-level module of each framework, and the module here that offers a ``framework``.
FRAMEWORKS: dict[str, str] = {
    "torch": "opkit.verify.subjects.torch.framework",
    "jax": "opkit.verify.subjects.jax.framework",
}

#: The frameworks that an extra of opkit brings, under the framework's own name.
EXTRAS = frozenset({"torch", "jax"})


class DeviceError(UsageError):
    """A framework has no device of that name here."""


@record
class Served:
    """What became of functions of a framework.

    Args:
        checkables: to be checked.
        reports: what can be said without a check.
    """

    checkables: tuple[Checkable, ...] = ()
    reports: tuple[OpReport, ...] = ()


class Framework(Protocol):
    """What is known of one framework."""

    #: What its custom functions are called, for messages.
    kinds: str
    #: What one of them is in an ordinary run.
    kind: Kind

    def on(self, device: str) -> Framework:
        """Return the same for functions that run on a device, "" for where the framework runs them by itself.

        Whether there is such a device is said where a function is served.
        """

    def knows(self, value: Any) -> bool:
        """Say whether a value is a custom function of the user's."""

    def subject_of(self, value: Any) -> Subject:
        """Return a custom function as a subject.

        Raises:
            UsageError: it has no gradient to check.
        """

    def custom(self, target: Any) -> Any:
        """Return the custom function behind a value, such as the one whose ``apply`` it is; else the value itself."""

    def home_of(self, value: Any) -> str:
        """Return the name of the module that defined a custom function."""

    def named(self, value: Any, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve one custom function of a file, whose names may hold cases and exceptions for it.

        Raises:
            OpkitError: it cannot be checked as it is, the device is not there, or a declaration has a wrong form.
        """

    def recording(self) -> AbstractContextManager[Recording]:
        """Record the calls of custom functions from here on; give what ``gathered`` needs."""

    def gathered(
        self, heard: Recording, names: Mapping[str, Any], label: Callable[[Any], str], options: Options
    ) -> Iterator[Served]:
        """Serve what a run called."""

    def trees_of(self, name: str) -> Mapping[str, str]:
        """Return {input: Python text} of the trees of arrays that a function was seen to take, by its name.

        The arrays of an input are ``leaf[0]``, ``leaf[1]`` ..., the file's names ``names``. The text is "" where it
        cannot be written.
        """

    def takes(self, target: Any, inputs: Any = None) -> bool:
        """Say whether ``called`` can serve a value, with these inputs."""

    def called(self, target: Any, inputs: Any, cases: Callable[..., Any] | None, options: Options) -> Served:
        """Serve a function, a custom function or a model of this process, on inputs, on cases, or searched."""


def missing(error: BaseException) -> str:
    """Return what brings a framework whose import failed, "" where that is not what an error is about."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return f"pip install 'opkit[{name}]' brings {name}" if name in EXTRAS else ""


def framework_of(name: str, device: str = "") -> Framework:
    """Return what is known of a framework that this process has imported, its functions on a device."""
    found: Framework = import_module(FRAMEWORKS[name]).framework
    return found.on(device) if device else found


def loaded_frameworks(device: str = "") -> Iterator[Framework]:
    """Yield the frameworks that this process has imported."""
    for name in FRAMEWORKS:
        if name in sys.modules:
            yield framework_of(name, device)


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
