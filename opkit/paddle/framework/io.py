"""``paddle.save`` and ``paddle.load``: Paddle's own file format, written atomically, read without running code.

The format is a pickle of plain containers and arrays. ``opkit.foreign.pickled`` reads it, which can make nothing else;
a file that names anything else is refused.
"""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.atomic import write_file
from opkit.eager import Tensor, wrap
from opkit.errors import UsageError
from opkit.foreign import FormatError, NamesCodeError, read_file, read_pickle
from opkit.ir import DTYPES
from opkit.shim.missing import guard as _guard

__all__ = ["UnsafeFileError", "load", "save"]

_NAMES = "StructuredToParameterName@@"

#: How deep containers may be nested, as in the reader.
_DEEPEST = 90


class UnsafeFileError(UsageError, pickle.UnpicklingError):
    """A file names code that loading it would run."""


class MissingFileError(FileNotFoundError, ValueError):
    """There is no such file (Paddle raises ValueError)."""


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Write an object that consists of dicts, lists, tuples, Tensors, arrays, numbers and strings to a file.

    The file appears whole or not at all.

    Args:
        obj: usually a ``state_dict()``.
        path: a file name, whose folder is made, or an open binary file (``io.BytesIO``).
        protocol: of pickle, 2 to 4.
        configs: accepted for Paddle's sake.

    Raises:
        UsageError: the path is a folder, or the object holds something that cannot be saved.
    """
    if not isinstance(protocol, int) or not 2 <= protocol <= 4:
        raise UsageError(f"save: protocol is 2, 3 or 4, got {protocol!r}")
    data = pickle.dumps(_plain_state(obj) if _is_state(obj) else _plain(obj, "the object", 0), protocol)
    if isinstance(path, io.BytesIO):
        path.write(data)
        return
    name = os.fspath(path)
    if not os.path.basename(name) or os.path.isdir(name):
        raise UsageError(f"save: {name!r} is a folder, a file name is needed")
    write_file(name, data)


def _is_state(obj: Any) -> bool:
    return (
        isinstance(obj, Mapping)
        and bool(obj)
        and any(isinstance(item, Tensor) for item in obj.values())
        and all(isinstance(key, str) and not isinstance(item, (list, tuple)) for key, item in obj.items())
        and not any(isinstance(item, (int, float, str)) for item in obj.values())
    )


def _plain_state(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state dict as Paddle writes it: arrays, and the names of the parameters beside them."""
    plain = {key: item.numpy() if isinstance(item, Tensor) else _plain(item, key, 1) for key, item in obj.items()}
    plain[_NAMES] = {key: item.name for key, item in obj.items() if isinstance(item, Tensor)}
    return plain


def _plain(item: Any, where: str, depth: int) -> Any:
    if isinstance(item, Tensor):
        return (item.name, item.numpy())
    if isinstance(item, (Mapping, list, tuple)) and depth == _DEEPEST:
        raise UsageError(f"save: the object holds itself, or is nested more than {_DEEPEST} deep")
    if isinstance(item, Mapping):
        return {key: _plain(value, f"{where}[{key!r}]", depth + 1) for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return type(item)([_plain(value, f"{where}[{i}]", depth + 1) for i, value in enumerate(item)])
    if isinstance(item, (ndarray, np.generic)) and item.dtype.kind not in "biufcSU":
        raise UsageError(f"save: {where} is an array of {item.dtype}, which cannot be saved")
    if item is None or isinstance(item, (bool, int, float, complex, str, bytes, ndarray, np.generic)):
        return item
    raise UsageError(f"save: {where} is a {type(item).__name__}, which cannot be saved")


def load(path: Any, **configs: Any) -> Any:
    """Read what ``save`` wrote, or what Paddle's own ``paddle.save`` wrote.

    Args:
        path: a file name or an open binary file.
        configs: ``return_numpy=True`` returns arrays instead of Tensors; ``keep_name_table`` keeps Paddle's table.

    Raises:
        FileNotFoundError: there is no such file.
        UnsafeFileError: the file refers to code.
        UsageError: it is not a file of this kind.
    """
    try:
        found = read_pickle(path.getvalue() if isinstance(path, io.BytesIO) else _read(os.fspath(path)))
        return _restored(found, configs)
    except NamesCodeError as error:
        raise UnsafeFileError(f"load: {path!r}: {error}") from error
    except FormatError as error:
        raise UsageError(f"load: {path!r} is not a file that paddle.save wrote ({error})") from error


def _read(name: str) -> bytes:
    try:
        return read_file(name)
    except FileNotFoundError as error:
        raise MissingFileError(error.errno, error.strerror, name) from None
    except (OSError, MemoryError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise UsageError(f"load: cannot read {name!r}: {getattr(error, 'strerror', None) or error!r}") from error


def _restored(found: Any, configs: Mapping[str, Any]) -> Any:
    as_tensor = not configs.get("return_numpy", False)
    if not isinstance(found, dict) or _NAMES not in found:
        return _mapped(found, {}, _tensor if as_tensor else lambda array, name: array)
    names = found[_NAMES]
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise FormatError("its table of names is malformed")
    if not configs.get("keep_name_table", False):
        found = {key: value for key, value in found.items() if key != _NAMES}
    return {
        key: _tensor(value, names.get(key)) if as_tensor and isinstance(value, ndarray) else value
        for key, value in found.items()
    }


def _tensor(array: ndarray, name: str | None) -> Any:
    if array.dtype.name not in DTYPES:  # text stays an array
        return array
    tensor = wrap(array.copy())
    if name:
        tensor.name = name
    return tensor


def _mapped(item: Any, made: dict[int, Any], of_pair: Callable[[ndarray, str], Any]) -> Any:
    """Return an object with something else for its pairs of an array and a name; what it holds twice is made once."""
    if not isinstance(item, (dict, list, tuple)) or not item:
        return item
    found = made.get(id(item))
    if found is None:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], ndarray):
            found = of_pair(item[1], item[0])
        elif isinstance(item, (dict, OrderedDict)):
            found = type(item)((key, _mapped(value, made, of_pair)) for key, value in item.items())
        else:
            found = type(item)([_mapped(value, made, of_pair) for value in item])
        made[id(item)] = found
    return found


__getattr__ = _guard(globals())
