"""The library of emitted inference: the few functions that a definition's own code may call, as text for the file.

Each does what the definition language's function does. The rewriting of definitions is not done here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from opkit.tables import pairs

#: {name in compiled definitions: name in the file}.
OWN_NAMES: Mapping[str, str] = pairs(
    """
    idiv _quotient
    irem _remainder
    at _at
    elements _elements
    shift_negative_axis _axis
    create_reduced_shape _reduced
    create_reduced_shape_or_ones _reduced_or_ones
    remove_ones _without
    create_left_extended_shape _extended
    expand_dims_shape _expanded
    ones_shape _ones
    regulate_slice_start _slice_start
    regulate_slice_stop _slice_stop
    """
)
_TEXTS = '''
def _quotient(a, b):
    """Divide as C++ does: towards zero."""
    return a // b if a >= 0 and b > 0 else -(-a // b) if a < 0 and b > 0 else int(a / b)

def _remainder(a, b):
    """Return the remainder as C++ has it: with the sign of a."""
    return a % b if a >= 0 and b > 0 else a - b * int(a / b)

def _at(items, index):
    """Return an element; an index out of range is an error, from either end."""
    if not 0 <= index < len(items):
        raise IndexError(f"index {index} is out of range for {len(items)} elements")
    return items[index]

def _elements(shape):
    """Return the number of elements as the definition counts them: a shape without axes has none."""
    return math.prod(shape) if len(shape) else 0

def _axis(axis, count):
    """Return an axis counted from the front."""
    shifted = axis + count if axis < 0 else axis
    if not 0 <= shifted < count:
        raise ValueError(f"axis {axis} is out of range for {count} axes")
    return shifted

def _reduced(shape, axes):
    """Set the reduced axes to 1."""
    if not len(axes):
        raise ValueError("a reduced shape needs at least one axis")
    reduced = [_axis(axis, len(shape)) for axis in axes]
    return tuple(1 if axis in reduced else size for axis, size in enumerate(shape))

def _reduced_or_ones(shape, axes):
    """Set the reduced axes to 1; without any, all of them."""
    return _reduced(shape, axes) if len(axes) else (1,) * len(shape)

def _without(shape, axes):
    """Drop axes of size 1."""
    dropped = [_axis(axis, len(shape)) for axis in axes]
    if any(shape[axis] != 1 for axis in dropped):
        raise ValueError(f"the axes {dropped} of {tuple(shape)} are not all of size 1")
    return tuple(size for axis, size in enumerate(shape) if axis not in dropped)

def _extended(shape, count):
    """Put ones before a shape until it has that many axes."""
    if count < len(shape):
        raise ValueError(f"cannot extend {tuple(shape)} to {count} axes")
    return (1,) * (count - len(shape)) + tuple(shape)

def _expanded(shape, axis):
    """Insert an axis of size 1."""
    place = _axis(axis, len(shape) + 1)
    return (*shape[:place], 1, *shape[place:])

def _ones(count):
    return (1,) * count

def _slice_start(start, size):
    """Clip and shift the start of a slice."""
    start = min(max(start, -size), size - 1)
    return start + size if start < 0 else start

def _slice_stop(stop, size):
    """Clip and shift the stop of a slice."""
    stop = min(max(stop, -size - 1), size)
    return stop + size if stop < 0 else stop
'''
#: {name in the file: its text}.
LIBRARY: Mapping[str, str] = {text[4 : text.index("(")]: text + "\n" for text in _TEXTS.strip().split("\n\n")}


def needed_by(own: str) -> dict[str, str]:
    """Return a function and those that it calls, by name: what is called stands before its callers."""
    found: dict[str, str] = {}
    for name in re.findall(r"\b(_\w+)\(", LIBRARY[own])[1:]:
        found |= needed_by(name)
    return found | {own: LIBRARY[own]}
