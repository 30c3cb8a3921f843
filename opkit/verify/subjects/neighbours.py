"""Neighbours: a recorded subject as one whose inputs and options are searched near what it was seen with.

The search is the checker's; what fails only there is undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opkit.checker import Attr, Checkable, compared_in, constants_of, marks_in
from opkit.ops.core.types import Function
from opkit.verify.subjects.functions import is_plain_option

#: Options of these values are usual; which one is tried decides nothing.
_WORDS = ("mean", "sum", "none")


def near(made: Checkable, functions: Sequence[Function], defaults: Mapping[str, Any] | None = None) -> Checkable:
    """Return a recorded subject with what lies near its recording, to be searched after it.

    Args:
        made: the subject; its recorded cases are what was seen.
        functions: the user's, whose constants and comparisons are hints.
        defaults: of options that a signature gives them, values to try beside those that were seen.
    """
    attrs = tuple(_seen(attr, made, defaults or {}) for attr in made.attrs)
    constants = made.constants or constants_of(functions)
    other = replace(made, recorded=(), seen=made.recorded, second=None, attrs=attrs, constants=constants)
    return replace(made, beyond=with_choices(other, functions))


def _seen(attr: Attr, made: Checkable, defaults: Mapping[str, Any]) -> Attr:
    """Return an option with what was seen first as its default, and what else was seen as its choices."""
    values = [case.attrs[attr.name] for case in made.recorded if attr.name in case.attrs]
    first = values[0] if values else attr.default
    others = [*values, *([defaults[attr.name]] if attr.name in defaults else [])]
    return replace(attr, default=first, choices=(*attr.choices, *filter(is_plain_option, others)))


def with_choices(made: Checkable, functions: Sequence[Function]) -> Checkable:
    """Return the subject with what its functions compare its options with among their choices, and marks of inputs."""
    known, marks = compared_in(functions), marks_in(functions)
    inputs = tuple(replace(arg, marks=marks.get(arg.name, ())) for arg in made.inputs)
    return replace(made, inputs=inputs, attrs=tuple(_with(attr, known.get(attr.name, ())) for attr in made.attrs))


def _with(attr: Attr, values: Sequence[Any]) -> Attr:
    kept = values if attr.type == "any" else [value for value in values if type(value) is type(attr.default)]
    # One word more: what a function does for all other words.
    words = [word for word in _WORDS if word not in values][:1] if any(isinstance(one, str) for one in kept) else []
    return replace(attr, choices=(*attr.choices, *kept, *words))
