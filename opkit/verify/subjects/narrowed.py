"""Narrowed: what a runner runs, as a function that hands on arrays of float32 in other formats.

Which formats these are is found out by whoever makes a checkable of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opkit.checker import Arrays, Attrs, Case, Checkable, Results
from opkit.checker.model.evaluate import frozen
from opkit.checker.model.types import Ran
from opkit.verify.subjects.input_formats import Formats, narrow, widen
from opkit.verify.subjects.subject import SubjectRunner


def in_formats(made: Checkable, runner: SubjectRunner, formats: Formats) -> Checkable:
    """Return what a runner runs as one that gets arrays of float32 and hands them on in formats.

    Args:
        made: as it is without.
        runner: of it; one that has formats itself keeps to them from here on.
        formats: of the inputs; where there are none, it is as it is.
    """
    if runner.formats is not None:
        runner.formats = formats
    if not formats:
        return made
    made = replace(made, formats=formats, starts_in="float32")
    if runner.formats is not None:
        return made
    forward, run = made.forward, made.run

    def vjp(arrays: Arrays, attrs: Attrs) -> Ran:
        outputs, back = run(narrow(arrays, formats), attrs)

        def pullback(douts: Results, needs: frozenset[str]) -> dict[str, Any]:
            seeds = [frozen(dout.astype(item.dtype)) for dout, item in zip(douts, outputs)]
            return {name: widen(value) for name, value in back(seeds, needs).items()}

        return widen(outputs), pullback

    return replace(
        made,
        forward=lambda arrays, attrs: widen(forward(narrow(arrays, formats), attrs)),
        backward=None,
        vjp=vjp,
        in_format=None,
        unlike="",
    )


def given_in(runner: SubjectRunner, formats: Formats, case: Case) -> Case:
    """Return a case as a runner gets it."""
    return case if runner.formats is not None else replace(case, inputs=narrow(case.inputs, formats))
