"""One array in numpy's .npy format, of numbers, truth values or text; nothing else can be in it.

The header is matched against the one form that numpy writes; it is not evaluated.
"""

from __future__ import annotations

import math
import re

import numpy as np

from opkit.foreign.files import FormatError

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 4096
_MOST_AXES = 32
#: No size is larger; numpy counts bytes in 63 bits.
_MOST_SIZE = 1 << 40
_HEADER = re.compile(
    r"\{'descr': '([<>|=]?[a-zA-Z][0-9]{1,9})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,700})\), ?\} *\n?"
)
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
    if data[:6] != _MAGIC or len(data) < 12 or data[6:8] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise FormatError("it does not begin like an array in numpy's format")
    wide = data[6] > 1
    start = 12 if wide else 10
    length = int.from_bytes(data[8:start], "little")
    if length > _LONGEST_HEADER:
        raise FormatError(f"an array's header has {length} bytes, more than {_LONGEST_HEADER}")
    found = _HEADER.fullmatch(data[start : start + length].decode("latin1"))
    if found is None:
        raise FormatError("an array's header is not one that numpy writes for numbers")
    descr, is_fortran, sizes = found.groups()
    words = [word.strip() for word in sizes.split(",")]
    if words and not words[-1]:
        words.pop()
    if not all(re.fullmatch("[0-9]{1,15}", word) for word in words):
        raise FormatError(f"an array's shape is ({sizes})")
    shape = tuple(int(word) for word in words)
    return array_of(data[start + length :], dtype_of(descr), shape, is_fortran == "True")


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
