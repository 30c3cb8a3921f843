"""Frameworks: which other frameworks' custom functions can be checked, and the modules that know each.

A framework's module is imported only once the user's own file has imported the framework.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from opkit.checker import Checkable, OpReport, Options

__all__ = ["FRAMEWORKS", "Framework", "Served", "loaded_frameworks"]

#: The top-level module of each framework, and the module here that offers a ``framework``.
FRAMEWORKS: dict[str, str] = {"torch": "opkit.verify.subjects.torch.framework"}


@dataclass(frozen=True, slots=True)
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

    @property
    def kinds(self) -> str:
        """What its custom functions are called, for messages."""

    def knows(self, value: Any) -> bool:
        """Say whether a value is a custom function of the user's."""

    def named(self, value: Any, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve one custom function of a file, whose names may hold cases and exceptions for it.

        Raises:
            OpkitError: it cannot be checked as it is, or a declaration has a wrong form.
        """

    def recording(self) -> AbstractContextManager[Any]:
        """Record the calls of custom functions from here on; give what is to be told to ``gathered``."""

    def gathered(self, heard: Any, names: Mapping[str, Any], label: str, options: Options) -> Served:
        """Serve what a run called, and the custom functions of its script that it did not call."""

    def called(self, target: Any, inputs: Sequence[Any]) -> Served:
        """Serve a function, a custom function or a model of this process on given inputs."""

    def takes(self, target: Any) -> bool:
        """Say whether ``called`` can serve a value."""


def loaded_frameworks() -> Iterator[Framework]:
    """Yield the frameworks that this process has imported."""
    for name, home in FRAMEWORKS.items():
        if name in sys.modules:
            yield import_module(home).framework
