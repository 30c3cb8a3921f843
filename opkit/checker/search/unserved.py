"""Unserved: a kind that forward takes and the checks leave out, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.thresholds import FEW
from opkit.checker.model.trial import without_particulars
from opkit.checker.search.answers import Answer, Standing
from opkit.record import record


@record
class Unserved:
    """A kind that forward takes and the checks leave out.

    Args:
        answer: what backward does there.
        is_special: whether it answers there, wrongly, and rightly on a kind with fewer coincidences.
        others: what it answers rightly on.
    """

    answer: Answer
    is_special: bool = False
    others: str = "on other shapes"

    @property
    def shapes(self) -> str:
        """The shapes and options, for a sentence."""
        return described(self.answer.case)

    @property
    def said(self) -> str:
        """What backward does there; what is wrong there is excused by what is right."""
        said = self.answer.said
        is_wrong = self.answer.standing is Standing.WRONG
        return f"wrong there: {said}; not counted, for it is right {self.others}" if is_wrong else said


def described(case: Case) -> str:
    """Return a case's shapes and options, for a sentence."""
    options = [f"without {name}" for name, value in case.inputs.items() if value is None]
    options += [f"{name} {value!r}" for name, value in case.attrs.items()]
    return ", ".join([f"{leaf} of shape {list(array.shape)}" for leaf, array in leaves_of(case.inputs)] + options)


def unserved_line(told: Mapping[str, str]) -> str:
    """Return what is not served, as a sentence; "" for nothing: some of it, by what backward does there.

    Args:
        told: what backward does, by the shapes and options that forward takes.
    """
    if not told:
        return ""
    alike: dict[str, list[str]] = {}
    for shapes, said in islice(told.items(), FEW):
        alike.setdefault(without_particulars(said), []).append(shapes)
    parts = [
        f"{first} ({told[first]})" + "".join(f", and likewise {shapes}" for shapes in others)
        for first, *others in alike.values()
    ]
    more = f"; and {len(told) - FEW} more (--verbose lists all)" if len(told) > FEW else ""
    return f"not served: forward takes {'; '.join(parts)}{more}"
