"""The one tree of errors that opkit raises.

No error is raised here and nothing is printed here: an error carries fields, ``__str__`` formats them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "AutogradError",
    "DtypeError",
    "GraphError",
    "InferError",
    "KernelError",
    "Location",
    "MissingNameError",
    "OpkitError",
    "ProjectError",
    "ShapeError",
    "UnsupportedError",
    "UsageError",
    "nearest",
]


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a user's file.

    Args:
        file: path as the user would write it.
        line: 1-based line, 0 where unknown.
        col: 1-based column, 0 where unknown.
        function: name of the enclosing function, "" where unknown.
    """

    file: str
    line: int = 0
    col: int = 0
    function: str = ""

    def __str__(self) -> str:
        text = self.file
        if self.line:
            text += f":{self.line}"
            if self.col:
                text += f":{self.col}"
        return text


class OpkitError(Exception):
    """Base of all errors that opkit raises on purpose.

    Args:
        message: what was being done, and what was expected and got.
        where: the place in the user's files that is at fault.
        help: the next step, one line.
    """

    def __init__(self, message: str, *, where: Location | None = None, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.help = help

    def __str__(self) -> str:
        text = self.message
        if self.where is not None:
            text += f"\n  --> {self.where}"
        if self.help:
            text += f"\n  help: {self.help}"
        return text


class UsageError(OpkitError, ValueError):
    """An argument of a public function or of the command line is unusable."""


class MissingNameError(OpkitError, AttributeError):
    """A framework name that opkit does not have; the message offers the nearest it has."""


class UnsupportedError(OpkitError, NotImplementedError):
    """Something that opkit deliberately does not do (a GPU, a communication op)."""


class InferError(OpkitError, ValueError):
    """Shape, dtype or attribute inference refused its inputs; ``where`` is the line that refused."""


class ShapeError(OpkitError, ValueError):
    """Shapes that do not fit an op; names the op and every operand."""


class DtypeError(OpkitError, TypeError, ValueError):
    """Dtypes that do not fit an op; names the op and every operand."""


class KernelError(OpkitError, RuntimeError):
    """A user kernel broke its contract (count, shape, dtype, wrote to an argument)."""


class GraphError(OpkitError, RuntimeError):
    """A static graph was built or run wrongly (unknown variable, missing feed, foreign program)."""


class AutogradError(OpkitError, RuntimeError):
    """A gradient cannot be computed (no rule, graph already freed, version mismatch)."""


class ProjectError(OpkitError):
    """An op directory cannot be loaded; ``__cause__`` or the diagnostics say why."""


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names nearest to a mistyped one, best first.

    Args:
        name: the name that was not found.
        known: an iterable of the names that exist.
        limit: how many to return at the most.
    """
    folded: dict[str, list[str]] = {}
    for item in dict.fromkeys(known):
        folded.setdefault(item.lower(), []).append(item)
    found: list[str] = []
    for key in difflib.get_close_matches(name.lower(), folded, n=limit, cutoff=0.6):
        # Names that differ in their case alone, such as Program and program: the one that is spelled alike comes first.
        found += sorted(folded[key], key=lambda item: -difflib.SequenceMatcher(None, name, item).ratio())
    return found[:limit]
