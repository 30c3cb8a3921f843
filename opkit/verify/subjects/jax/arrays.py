"""Arrays and trees of arrays between JAX and numpy.

Nothing of the user's is called here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from opkit.verify.subjects.foreign.running import angles


def width_of(leaves: Sequence[Any]) -> Any:
    """Return a context in which JAX keeps 64 bits where an array has them, and is as usual where all have 32.

    The process's own setting is left alone.
    """
    return jax.enable_x64(any(np.asarray(leaf).dtype == np.float64 for leaf in leaves))


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
