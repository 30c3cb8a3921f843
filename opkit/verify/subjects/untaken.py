"""Untaken: a function that took nothing that was tried, and which of the user's functions raised.

What is tried is the search's business.
"""

from __future__ import annotations

from traceback import walk_tb

from opkit.errors import Location, UsageError
from opkit.verify.subjects.subject import Subject


class UntakenError(UsageError):
    """A function took nothing that was tried.

    Attributes:
        said: why.
    """

    def __init__(self, subject: Subject, said: str, where: Location | None) -> None:
        super().__init__(_nothing_taken(subject, said), where=where)
        self.said = said


def raising(subject: Subject, error: Exception | None) -> str:
    """Return which of the user's functions raised while forward ran."""
    ran = [frame.f_code for frame, _ in walk_tb(error.__traceback__ if error else None)]
    return "setup_context" if getattr(subject.context, "__code__", None) in ran else "forward"


def _nothing_taken(subject: Subject, said: str) -> str:
    names = ", ".join(subject.parameters.names)
    if not names:
        return (
            f"{subject.name} takes nothing that could be differentiated: forward's first parameter is the context, ctx"
        )
    return (
        f"there are no cases for {subject.name}, and {said}; define "
        f"cases_{subject.name}(rng) in the file, which yields dicts of {names}; or, for plain arrays, give "
        "--shape NAME=3,4; or check a script that calls it"
    )
