"""Failures of a run: their errors, and the notes that name the op and the line that added it.

Results of users' functions are checked in ``opkit.static.plan.user_calls``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from opkit.errors import GraphError, nearest
from opkit.ir import Operation, Value
from opkit.static.builder import add_note, note_site
from opkit.static.scope import Holder


class MissingFeedError(GraphError, ValueError):
    """A program needs a feed that was not given."""


class UninitializedError(GraphError, ValueError):
    """A program reads a variable that is not initialised."""


class TooLargeError(GraphError, MemoryError):
    """The intermediate results of a program do not fit into memory."""


class ForbiddenCallError(GraphError, ValueError):
    """A framework function was called inside a user's function while a program runs."""


def explain_failure(error: Exception, op: Operation) -> None:
    """Add notes to the error of an op that was running: which op, where it was added, and what helps."""
    note_site(error, op.label or op.type, op.site)
    if op.opdef.is_user and isinstance(error, ValueError) and "read-only" in str(error):  # type: ignore[attr-defined]
        add_note(error, "help: arguments are read-only; copy one before writing to it: x = numpy.array(x)")


def check_initialized(read: Collection[str], holders: Sequence[Holder]) -> None:
    """Refuse to run while a variable that is read has no data.

    Args:
        read: names of the variables that a plan reads.
        holders: the places of all that it knows.

    Raises:
        UninitializedError: the message names the variables.
    """
    missing = [holder.name for holder in holders if holder.array is None and holder.name in read]
    if missing:
        raise UninitializedError(
            f"variable{'s' * (len(missing) > 1)} {', '.join(map(repr, missing[:5]))} of the program "
            f"{'are' if len(missing) > 1 else 'is'} not initialised in this scope",
            help="run the startup program first: exe.run(static.default_startup_program())",
        )


def no_source(value: Value, feeds: Sequence[Value]) -> GraphError:
    """Return the error for a Value that is read but never provided."""
    name = value.variable.name
    if value.variable.is_data:
        fed = [item.variable.name for item in feeds]
        # Here the program's name is the right one, and the nearest that was fed is the misspelt one.
        near = nearest(name, fed, limit=1)
        return MissingFeedError(
            f"variable {name!r} is not fed, and the program needs it (fed: {', '.join(fed) or 'nothing'})",
            help=f"feed {near[0]!r} under the name {name!r}" if near else f"add {name!r} to feed",
        )
    return UninitializedError(
        f"variable {name!r} is read, but no op writes it and it is neither fed nor persistable",
        help="make it the output of an op, or declare it with static.data and feed it",
    )
