"""One array in numpy's .npy format, of numbers, truth values or text; nothing else can be in it.

numpy reads the header, of which nothing is called; what it describes is checked here before an array is made.
"""

from __future__ import annotations

import io
import math
import re

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

from opkit.foreign.files import FormatError

_LONGEST_HEADER = 4096
_HEADERS = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0, (3, 0): read_array_header_2_0}
_MOST_AXES = 32
#: No size is larger; numpy counts bytes in 63 bits.
_MOST_SIZE = 1 << 40
_LONGEST_TEXT = 1 << 24
#: Kinds of dtypes but text, and the sizes of their elements in bytes.
_SIZES = {
    "b": (1,),
    "i": (1, 2, 4, 8),
    "u": (1, 2, 4, 8),
    "f": (2, 4, 8, 12, 16),
    "c": (8, 16, 24, 32),
}


def read_array(data: bytes) -> np.ndarray:
    """Return the array of a .npy file, in native byte order.

    Args:
        data: the whole file.

    Raises:
        FormatError: it is not such a file, its elements are objects or records, or it has more or fewer elements than
            its header says.
    """
    stream = io.BytesIO(data)
    try:
        shape, is_fortran, dtype = _HEADERS[read_magic(stream)](stream, max_header_size=_LONGEST_HEADER)
    except Exception as error:  # the parser of headers meets damage with many kinds of error
        raise FormatError(f"it does not begin like an array in numpy's format: {error}") from error
    return array_of(data[stream.tell() :], dtype_of(dtype.str), shape, is_fortran)


def dtype_of(descr: str) -> np.dtype:
    """Return the dtype that numpy describes by a byte order, a kind and a size: "<f4".

    Raises:
        FormatError: it is of objects or records, of another kind than numbers and text, or does not exist here.
    """
    found = re.fullmatch("([<>|=]?)([biufcUS])([1-9][0-9]{0,7})", descr)
    order, kind, size = found.groups() if found is not None else ("", "", "0")
    if int(size) not in _SIZES.get(kind, range(1, _LONGEST_TEXT)):
        raise FormatError(f"an array's elements are {descr[:40]!a}; only numbers, truth values and text are read")
    try:
        return np.dtype(order + kind + size)
    except TypeError:
        raise FormatError(f"an array's elements are {descr!r}, which this machine does not have") from None


def array_of(raw: bytes, dtype: np.dtype, shape: tuple[int, ...], is_fortran: bool = False) -> np.ndarray:
    """Return a new array, in native byte order, of exactly these bytes.

    Raises:
        FormatError: the shape has too many axes or needs another number of bytes.
    """
    if len(shape) > _MOST_AXES or any(not 0 <= size <= _MOST_SIZE for size in shape):
        raise FormatError(
            f"an array has the shape {shape}; at most {_MOST_AXES} axes of {_MOST_SIZE} elements are read"
        )
    expected = math.prod(shape) * dtype.itemsize
    if expected != len(raw):
        raise FormatError(f"an array {dtype}{list(shape)} needs {expected} bytes, got {len(raw)}")
    native = dtype.newbyteorder("=")
    if not expected:
        if math.prod(size for size in shape if size) > _MOST_SIZE:
            raise FormatError(f"an array has the shape {shape}")
        return np.zeros(shape, native)
    flat = np.frombuffer(raw, dtype).astype(native)
    return flat.reshape(shape, order="F" if is_fortran else "C")
