"""OwnCheck: a check that only subjects of one kind need, and that they bring along.

Data only; the engine runs it on a few cases and reports what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opkit.checker.model.codes import CheckCode
from opkit.checker.model.types import Arrays, Attrs, Results
from opkit.errors import Location
from opkit.record import record


@record
class Fault:
    """What an own check found.

    Args:
        message: in one sentence.
        is_certain: whether it is a failure; otherwise it is undecided.
        is_line: whether it is no fault, but what the verdict names as not served.
        is_beyond: whether it is undecided where the search alone chose the inputs.
        input: the input that it concerns, "" for none.
        where: file and line, None for those of backward.
        expected: a value, for the report.
        actual: the value in its place.
    """

    message: str
    is_certain: bool = True
    is_line: bool = False
    is_beyond: bool = False
    input: str = ""
    where: Location | None = None
    expected: Any = None
    actual: Any = None


@record
class OwnCheck:
    """A check of one code.

    Args:
        row: its code, name and title.
        run: (inputs, attributes, incoming gradients) -> what is wrong; user code that raises is reported as a failure.
            What comes after a fault that is no line is not asked for.
        is_forward: whether it is about forward, whose place the report then names.
        is_thorough: whether it runs on every ordinary case, not on a few that differ.
        is_extreme: whether it runs on the cases of extreme values instead.
    """

    row: CheckCode
    run: Callable[[Arrays, Attrs, Results], Iterable[Fault]]
    is_forward: bool = False
    is_thorough: bool = False
    is_extreme: bool = False

    def first(self, arrays: Arrays, attrs: Attrs, douts: Results) -> list[Fault]:
        """Run it until something is wrong; return that, and the lines before it."""
        found: list[Fault] = []
        for fault in self.run(arrays, attrs, douts):
            found.append(fault)
            if not fault.is_line:
                break
        return found
