"""``paddle.save`` and ``paddle.load``: Paddle's own file format, written atomically, read without running code.

The format is a pickle of plain containers and arrays. Loading resolves only the names that such a pickle needs
(numpy's array constructors and OrderedDict); a file that names anything else is refused.
"""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from opkit.atomic import write_file
from opkit.eager import Tensor, wrap
from opkit.errors import UsageError

__all__ = ["UnsafeFileError", "load", "save"]

_NAMES = "StructuredToParameterName@@"

#: What a pickle of containers and arrays refers to.
_ALLOWED = {
    ("collections", "OrderedDict"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy.core.numeric", "_frombuffer"),
    ("numpy._core.numeric", "_frombuffer"),
    ("_codecs", "encode"),
    ("builtins", "tuple"),  # Paddle writes a Tensor within a container as tuple((name, array))
    ("builtins", "complex"),
}


class UnsafeFileError(UsageError, pickle.UnpicklingError):
    """A file names code that loading it would run."""


class MissingFileError(FileNotFoundError, ValueError):
    """There is no such file (Paddle raises ValueError)."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise UnsafeFileError(
                f"load: the file refers to {module}.{name}, which is neither a container nor an array"
            )
        if module.startswith("numpy.core"):
            module = module.replace("numpy.core", "numpy._core")
        return super().find_class(module, name)


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
    data = pickle.dumps(_plain_state(obj) if _is_state(obj) else _plain(obj, "the object"), protocol)
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
    plain = {key: item.numpy() if isinstance(item, Tensor) else _plain(item, key) for key, item in obj.items()}
    plain[_NAMES] = {key: item.name for key, item in obj.items() if isinstance(item, Tensor)}
    return plain


def _plain(item: Any, where: str) -> Any:
    if isinstance(item, Tensor):
        return (item.name, item.numpy())
    if isinstance(item, Mapping):
        return {key: _plain(value, f"{where}[{key!r}]") for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return type(item)([_plain(value, f"{where}[{i}]") for i, value in enumerate(item)])
    if item is None or isinstance(item, (bool, int, float, complex, str, bytes, np.ndarray, np.generic)):
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
    data = path.getvalue() if isinstance(path, io.BytesIO) else _read(os.fspath(path))
    try:
        found = _Unpickler(io.BytesIO(data), encoding="latin1").load()
    except UnsafeFileError:
        raise
    except Exception as error:
        raise UsageError(f"load: {path!r} is not a file that paddle.save wrote ({error})") from error
    as_tensor = not configs.get("return_numpy", False)
    if isinstance(found, dict) and _NAMES in found:
        names = found[_NAMES]
        if not configs.get("keep_name_table", False):
            found = {key: value for key, value in found.items() if key != _NAMES}
        return {
            key: _tensor(value, names.get(key)) if as_tensor and isinstance(value, np.ndarray) else value
            for key, value in found.items()
        }
    return _restored(found, as_tensor)


def _read(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise MissingFileError(error.errno, error.strerror, name) from None


def _tensor(array: np.ndarray, name: str | None) -> Tensor:
    tensor = wrap(np.array(array))
    if name:
        tensor.name = name
    return tensor


def _restored(item: Any, as_tensor: bool) -> Any:
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], np.ndarray):
        return _tensor(item[1], item[0]) if as_tensor else item[1]
    if isinstance(item, (dict, OrderedDict)):
        return type(item)((key, _restored(value, as_tensor)) for key, value in item.items())
    if isinstance(item, (list, tuple)):
        return type(item)([_restored(value, as_tensor) for value in item])
    return item
