"""The library of emitted inference: the few functions that a definition's own code may call, as text for the file.

Each does what the definition language's function does. The rewriting of definitions is not done here.
"""

from __future__ import annotations

from collections.abc import Mapping

#: {name in compiled definitions: (text, name in the file, names of the library that it calls)}.
LIBRARY: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "idiv": (
        "def _quotient(a, b):\n"
        '    """Divide as C++ does: towards zero."""\n'
        "    return a // b if a >= 0 and b > 0 else -(-a // b) if a < 0 and b > 0 else int(a / b)\n",
        "_quotient",
        (),
    ),
    "irem": (
        "def _remainder(a, b):\n"
        '    """Return the remainder as C++ has it: with the sign of a."""\n'
        "    return a % b if a >= 0 and b > 0 else a - b * int(a / b)\n",
        "_remainder",
        (),
    ),
    "at": (
        "def _at(items, index):\n"
        '    """Return an element; an index out of range is an error, from either end."""\n'
        "    if not 0 <= index < len(items):\n"
        '        raise IndexError(f"index {index} is out of range for {len(items)} elements")\n'
        "    return items[index]\n",
        "_at",
        (),
    ),
    "set": (
        "def _with_size(shape, axis, size):\n"
        '    """Return a shape with another size of an axis."""\n'
        "    if not 0 <= axis < len(shape):\n"
        '        raise IndexError(f"axis {axis} is out of range for {len(shape)} axes")\n'
        "    return (*shape[:axis], size, *shape[axis + 1:])\n",
        "_with_size",
        (),
    ),
    "elements": (
        "def _elements(shape):\n"
        '    """Return the number of elements as the definition counts them: a shape without axes has none."""\n'
        "    return math.prod(shape) if len(shape) else 0\n",
        "_elements",
        (),
    ),
    "shift_negative_axis": (
        "def _axis(axis, count):\n"
        '    """Return an axis counted from the front."""\n'
        "    shifted = axis + count if axis < 0 else axis\n"
        "    if not 0 <= shifted < count:\n"
        '        raise ValueError(f"axis {axis} is out of range for {count} axes")\n'
        "    return shifted\n",
        "_axis",
        (),
    ),
    "create_reduced_shape": (
        "def _reduced(shape, axes):\n"
        '    """Set the reduced axes to 1."""\n'
        "    if not len(axes):\n"
        '        raise ValueError("a reduced shape needs at least one axis")\n'
        "    reduced = [_axis(axis, len(shape)) for axis in axes]\n"
        "    return tuple(1 if axis in reduced else size for axis, size in enumerate(shape))\n",
        "_reduced",
        ("shift_negative_axis",),
    ),
    "create_reduced_shape_or_ones": (
        "def _reduced_or_ones(shape, axes):\n"
        '    """Set the reduced axes to 1; without any, all of them."""\n'
        "    return _reduced(shape, axes) if len(axes) else (1,) * len(shape)\n",
        "_reduced_or_ones",
        ("shift_negative_axis", "create_reduced_shape"),
    ),
    "remove_ones": (
        "def _without(shape, axes):\n"
        '    """Drop axes of size 1."""\n'
        "    dropped = [_axis(axis, len(shape)) for axis in axes]\n"
        "    if any(shape[axis] != 1 for axis in dropped):\n"
        '        raise ValueError(f"the axes {dropped} of {tuple(shape)} are not all of size 1")\n'
        "    return tuple(size for axis, size in enumerate(shape) if axis not in dropped)\n",
        "_without",
        ("shift_negative_axis",),
    ),
    "create_left_extended_shape": (
        "def _extended(shape, count):\n"
        '    """Put ones before a shape until it has that many axes."""\n'
        "    if count < len(shape):\n"
        '        raise ValueError(f"cannot extend {tuple(shape)} to {count} axes")\n'
        "    return (1,) * (count - len(shape)) + tuple(shape)\n",
        "_extended",
        (),
    ),
    "expand_dims_shape": (
        "def _expanded(shape, axis):\n"
        '    """Insert an axis of size 1."""\n'
        "    place = _axis(axis, len(shape) + 1)\n"
        "    return (*shape[:place], 1, *shape[place:])\n",
        "_expanded",
        ("shift_negative_axis",),
    ),
    "ones_shape": ("def _ones(count):\n    return (1,) * count\n", "_ones", ()),
    "regulate_slice_start": (
        "def _slice_start(start, size):\n"
        '    """Clip and shift the start of a slice."""\n'
        "    start = min(max(start, -size), size - 1)\n"
        "    return start + size if start < 0 else start\n",
        "_slice_start",
        (),
    ),
    "regulate_slice_stop": (
        "def _slice_stop(stop, size):\n"
        '    """Clip and shift the stop of a slice."""\n'
        "    stop = min(max(stop, -size - 1), size)\n"
        "    return stop + size if stop < 0 else stop\n",
        "_slice_stop",
        (),
    ),
}
