"""Arrays and trees of arrays between JAX and numpy.

Nothing of the user's is called here.

Trees of arrays as Python text: what a script needs to put arrays back where a function wants them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import jax
import numpy as np

from opkit.ops.core.types import Function
from opkit.verify.subjects.foreign.running import angles


@contextmanager
def width_of(leaves: Sequence[Any]) -> Iterator[None]:
    """Let JAX keep 64 bits where an array has them, as usual where all have 32, and leave what is raised as it is.

    To take JAX's own frames out of a traceback takes longer than the call, and a search raises thousands of times. The
    process's own settings are left alone.
    """
    filtering = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", "off")
    try:
        with jax.enable_x64(any(np.asarray(leaf).dtype == np.float64 for leaf in leaves)):
            yield
    finally:
        jax.config.update("jax_traceback_filtering", filtering)


#: The classes of arrays of JAX and numpy.
ARRAYS = (jax.Array, np.ndarray, np.generic)


def is_array(value: Any) -> bool:
    """Return whether a value is an array of JAX or numpy."""
    return isinstance(value, ARRAYS)


def is_open(array: Any) -> bool:
    """Return whether an array can take a gradient."""
    return bool(jax.dtypes.issubdtype(array.dtype, np.floating))


def leaves_of(value: Any) -> list[Any]:
    """Return the arrays of a tree."""
    return [item for item in jax.tree.leaves(value) if is_array(item)]


def as_complex(array: Any) -> Any:
    """Return an array of floats as complex numbers, each on a curve of its own (see ``angles``)."""
    if not is_open(array):
        return array
    bend = array * (array / jax.numpy.hypot(array, 1))
    return (array + 1j * bend) * angles(array.shape).astype(np.result_type(array.dtype, np.complex64))


def parted(result: Any) -> Any:
    """Return a result with complex arrays as their real and imaginary parts."""

    def parts(item: Any) -> Any:
        return jax.numpy.stack([item.real, item.imag], -1) if jax.numpy.iscomplexobj(item) else item

    return jax.tree.map(parts, result)


def plain(value: Any) -> Any:
    """Return an array as numpy's, a tree that holds nothing but arrays as a list of them, and all else as it is."""
    if is_array(value):
        return numpy_of(value)
    if isinstance(value, (str, bytes, int, float, bool, complex)) or value is None or callable(value):
        return value
    leaves = jax.tree.leaves(value)
    if leaves and all(is_array(item) for item in leaves) and any(is_open(item) for item in leaves):
        return [numpy_of(item) for item in leaves]
    return value


def numpy_of(value: Any) -> np.ndarray:
    """Return an array's values, as float32 where they are of bfloat16."""
    if value.dtype == jax.numpy.bfloat16:
        return np.asarray(value).astype(np.float32)
    return np.array(value)


def shapes_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return what two lists of arrays have in common that are traced alike."""
    return tuple((item.shape, item.dtype) for item in values)


#: {input and number of arrays: what makes its tree} that examples showed, with the function, by its id.
_TREES: dict[int, tuple[Any, dict[tuple[str, int], Function]]] = {}


def trees_of(function: Any) -> dict[tuple[str, int], Function]:
    """Return what makes the trees that a function was seen to take, by input and number of arrays; it fills."""
    return _TREES.setdefault(id(function), (function, {}))[1]


def trees_known_of(name: str) -> dict[tuple[str, int], Function]:
    """Return what makes the trees that functions of a name were seen to take, by input and number of arrays."""
    return {
        key: tree
        for function, trees in _TREES.values()
        if getattr(getattr(function, "fun", function), "__name__", "") == name
        for key, tree in trees.items()
    }


def learn_trees(function: Any, call: Mapping[str, Any]) -> None:
    """Remember how the trees among a call's arguments are built."""
    known = trees_of(function)
    for name, value in call.items():
        if isinstance(plain(value), list) and not is_array(value):
            tree = jax.tree.structure(value)
            known[name, tree.num_leaves] = tree.unflatten


def texts_known_of(name: str) -> dict[tuple[str, int], str]:
    """Return the Python text of the trees that functions of a name were seen to take, by input and number of arrays."""
    return {key: text_of(planted, key[1]) for key, planted in trees_known_of(name).items()}


class _UnnamedError(Exception):
    """Something of a tree has no text."""


def text_of(planted: Function, count: int) -> str:
    """Return the text of a tree whose arrays are ``leaf[0]``, ``leaf[1]`` ...; "" where its classes cannot be named.

    Args:
        planted: makes it of a list of its arrays. Classes of the file itself are taken from ``names``, the names of
            the file; named tuples and dataclasses are made anew from their fields.
        count: how many arrays.
    """
    try:
        return _text(planted([_Place(number) for number in range(count)]))
    except Exception:  # user code: its classes may refuse what stands in for arrays
        return ""


class _Place:
    """Stands for an array."""

    def __init__(self, number: int) -> None:
        self.number = number


def _text(value: Any) -> str:
    if isinstance(value, _Place):
        return f"leaf[{value.number}]"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {_text(item)}" for key, item in value.items()) + "}"
    if type(value) is list:
        return "[" + ", ".join(map(_text, value)) + "]"
    if type(value) is tuple:
        return "(" + "".join(f"{_text(item)}, " for item in value) + ")"
    return f"{_class(type(value))}({', '.join(f'{key}={_text(item)}' for key, item in _fields(value).items())})"


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value))
    if is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in fields(value) if item.init}
    raise _UnnamedError


def _class(kind: type) -> str:
    """Return the text of a class that stands at the top of its module."""
    if "." in kind.__qualname__:
        raise _UnnamedError
    root = kind.__module__.partition(".")[0]
    if root in ("collections", "jax", "numpy"):
        return f"__import__({kind.__module__!r}, fromlist=[{kind.__name__!r}]).{kind.__name__}"
    return f"names[{kind.__name__!r}]"
