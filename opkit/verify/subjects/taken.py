"""Taken: a reading of a subject's parameters that forward takes, and how it becomes a checkable."""

from __future__ import annotations

from dataclasses import field, replace

from opkit.checker import Case, Checkable
from opkit.record import record
from opkit.verify.isolation.announced_calls import Looks
from opkit.verify.subjects.from_cases import finished, saying
from opkit.verify.subjects.half_precision import given_in
from opkit.verify.subjects.input_formats import Formats
from opkit.verify.subjects.subject import SubjectRunner


@record
class Taken:
    """A reading that forward takes.

    Args:
        made: the subject so read.
        runner: runs it.
        case: that forward took; backward answered it where it answered any.
        constants: the inputs for which backward gives None.
        is_answered: whether backward answered a case.
        said: what is to be said of backward where it answered none.
        formats: in which it gets its inputs, where it takes neither float32 nor float64.
    """

    made: Checkable
    runner: SubjectRunner
    case: Case
    constants: frozenset[str] = frozenset()
    is_answered: bool = False
    said: str = ""
    formats: Formats = field(default_factory=dict)

    def finished(self, announced: Looks, unserved: Taken | None = None) -> Checkable:
        """Return the subject as a checkable, which says what another reading is not served with (rule 4)."""
        made = replace(self.made, first=self.case)
        if made.starts_in == "float32":
            made = saying(made, "checked in float32: forward refuses float64, or drops its digits")
        known = {arg.name for arg in made.inputs}
        others = [arg.name for arg in unserved.made.inputs if arg.name not in known] if unserved else []
        if unserved is not None and unserved.said and others:
            line = f"not served: {' and '.join(others)} as {'arrays' if others[1:] else 'an array'} ({unserved.said})"
            made = saying(made, line)
        case = given_in(self.runner, self.formats, self.case)
        return finished(made, self.runner, announced, case, self.constants)
