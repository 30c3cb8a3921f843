"""The one hierarchy of errors that opkit raises.

No error is raised here and nothing is printed here: an error carries fields, ``__str__`` formats them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import TypeVar

from opkit.record import record

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
    "Unknown",
    "UnsupportedError",
    "UsageError",
    "did_you_mean",
    "nearest",
    "unknown",
]

_Error = TypeVar("_Error", bound="OpkitError")
#: Letters from which on a name may be meant for a longer one that begins with it.
_LEAST_STEM = 4
#: Letters that are read as digits.
_ALIKE = str.maketrans("oil", "011")


@record
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


def def_line(code: CodeType) -> int:
    """Return the line of a function's ``def``, beneath its decorators."""
    from linecache import getline

    line = code.co_firstlineno
    while getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return line


class OpkitError(Exception):
    """Base of all errors that opkit raises on purpose.

    Args:
        message: what was being done, and what was expected and got.
        where: the position in the user's files that caused it.
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
    """A framework name that opkit does not have; the message suggests the nearest one."""


class UnsupportedError(OpkitError, NotImplementedError):
    """Something that opkit deliberately does not do (a GPU, a communication op)."""


class InferError(OpkitError, ValueError):
    """Shape, dtype or attribute inference refused its inputs; ``where`` is the line that refused.

    Attributes:
        stage: how many of a definition's functions had run, whatever their lines are.
    """

    stage = 0


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


class CountError(AutogradError):
    """A backward returned another number of gradients than forward has inputs for."""


class ProjectError(OpkitError):
    """An op directory cannot be loaded; ``__cause__`` or the diagnostics say why."""


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names nearest to a mistyped one, best first.

    Args:
        name: the name that was not found.
        known: an iterable of the names that exist.
        limit: how many to return at most.
    """
    folded: dict[str, list[str]] = {}
    for item in dict.fromkeys(known):
        folded.setdefault(item.lower(), []).append(item)
    found: list[str] = []
    shortened = [key for key in folded if len(name) >= _LEAST_STEM and key.startswith(name.lower())]
    same = [key for key in folded if key.translate(_ALIKE) == name.lower().translate(_ALIKE)]
    close = difflib.get_close_matches(name.lower(), folded, n=limit, cutoff=0.6)
    for key in dict.fromkeys([*same, *close, *shortened]):
        # Names that differ only in case, such as Program and program: the exact spelling comes first.
        found += sorted(folded[key], key=lambda item: -difflib.SequenceMatcher(None, name, item).ratio())
    return found[:limit]


@record
class Unknown:
    """The message about a name that does not exist; ``str`` is both parts in one line.

    Args:
        message: what has no such name.
        help: the nearest known names as a question, else the next step; "" where there is neither.
    """

    message: str
    help: str = ""

    def __str__(self) -> str:
        return f"{self.message}; {self.help}" if self.help else self.message

    def error(self, kind: type[_Error], where: Location | None = None) -> _Error:
        """Return an error of that class, with the place of the name."""
        return kind(self.message, where=where, help=self.help)


def did_you_mean(names: Sequence[str]) -> str:
    """Return the question that offers names, best first; "" where there are none.

    >>> did_you_mean(["add", "and", "any"])
    "did you mean 'add', 'and' or 'any'?"
    """
    return _question([repr(name) for name in names])


def _question(shown: list[str]) -> str:
    if len(shown) > 1:
        shown[-2:] = [f"{shown[-2]} or {shown[-1]}"]
    return f"did you mean {', '.join(shown)}?" if shown else ""


def unknown(
    what: str,
    name: object,
    known: Iterable[str],
    *,
    tail: str = "",
    has: str = "",
    prefix: str = "",
    otherwise: str = "",
    limit: int = 1,
) -> Unknown:
    """Return the message about a name that does not exist: the message, and the nearest names that do.

    A name is never offered for itself, even where the known names hold it.

    Args:
        what: the words before the name, such as "op 'relu' has no attribute".
        name: the name that was not found; what is not a string is compared by its ``str``.
        known: the names that exist.
        tail: words after the name.
        has: words before a list of the known names, such as "it has"; "" lists none.
        prefix: the module or class that the name is looked for in, with its dot, such as "flow.math."; the name and the
            offered ones are then shown as code has them (flow.math.relu), else in quotes.
        otherwise: the help line where no known name is near.
        limit: how many names to offer at most.

    >>> print(unknown("op 'scale' has no attribute", "alhpa", ["alpha", "beta"], has="it has"))
    op 'scale' has no attribute 'alhpa' (it has alpha, beta); did you mean 'alpha'?
    """
    names = list(known)
    near = [
        prefix + item if prefix else repr(item)
        for item in nearest(str(name), (item for item in names if item != name), limit)
    ]
    listed = f" ({has} {', '.join(names) or 'none'})" if has else ""
    shown = f"{prefix}{name}" if prefix else repr(name)
    return Unknown(f"{what} {shown}{tail}{listed}", _question(near) or otherwise)
