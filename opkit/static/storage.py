"""Storage: persistable arrays of a program in files, written all or nothing; nothing is ever unpickled.

An archive is a ``.npz`` whose entries are named by number, with their names in a JSON entry beside them.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.atomic import write_file
from opkit.errors import OpkitError, unknown
from opkit.foreign import FormatError, Record, read_array, read_entries, read_file, read_json
from opkit.ir import Program, Variable
from opkit.paths import StrPath
from opkit.static.scope import Scope

_INDEX = "names.json"
#: How the record at the end of an archive begins, and its length without the comment.
_END = b"PK\5\6"
_END_LENGTH = 22


class StorageError(OpkitError, RuntimeError, ValueError):
    """A file of saved arrays is missing, damaged, or does not fit the program."""


def program_state(program: Program, scope: Scope, kinds: Collection[bool] = (True, False)) -> dict[str, ndarray]:
    """Return copies of a program's persistable arrays by name.

    Args:
        program: whose.
        scope: where the data is.
        kinds: True for parameters, False for all other persistable Variables.

    Raises:
        StorageError: a variable is not initialised.
    """
    found = {}
    for variable in program.list_vars():
        if variable.persistable and variable.is_parameter in kinds:
            holder = scope.find_var(variable.name)
            if holder is None or holder.array is None:
                raise StorageError(
                    f"variable {variable.name!r} has no data in the scope", help="run the startup program first"
                )
            found[variable.name] = holder.array.copy()
    return found


def set_program_state(program: Program, state: Mapping[str, Any], scope: Scope) -> None:
    """Put arrays into a scope by name.

    Raises:
        StorageError: an array has another shape or dtype than its variable; nothing was changed then.
    """
    known = {variable.name: variable for variable in program.list_vars() if variable.persistable}
    arrays = {}
    for name, item in state.items():
        variable = known.get(name)
        if variable is None:
            said = unknown("no persistable variable of the program is named", name, known, tail=": it was not loaded")
            warnings.warn(str(said), UserWarning, stacklevel=3)
            continue
        arrays[name] = _fitting(variable, getattr(item, "_data", item))
    for name, array in arrays.items():
        scope.var(name).put(array)


def _fitting(variable: Variable, item: Any) -> ndarray:
    array = np.array(item)
    if array.shape != variable.shape or array.dtype.name != variable.desc.dtype:
        raise StorageError(
            f"variable {variable.name!r} is {variable.desc}, the value to load is {array.dtype}{list(array.shape)}",
            help="the file belongs to another network",
        )
    return array


def write_archive(path: StrPath, arrays: Mapping[str, ndarray]) -> None:
    """Write arrays by name to one file, which appears whole or not at all."""
    write_file(path, archive_of(arrays))


def archive_of(arrays: Mapping[str, ndarray]) -> bytes:
    """Return arrays by name as the contents of one file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(_INDEX, json.dumps(list(arrays)))
        for number, array in enumerate(arrays.values()):
            entry = io.BytesIO()
            np.lib.format.write_array(entry, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
            archive.writestr(f"{number}.npy", entry.getvalue())
    return data.getvalue()


def marked(data: bytes, mark: str) -> bytes:
    """Return an archive with a mark, which all files of one save share; what is not an archive stays as it is."""
    if data[-2:] != b"\0\0":  # it does not end with the length of an empty comment
        return data
    return data[:-2] + len(mark).to_bytes(2, "little") + mark.encode("ascii")


def mark_of(data: bytes) -> bytes:
    """Return the mark of an archive, b"" where it has none."""
    at = data.rfind(_END)
    return data[at + _END_LENGTH :] if at >= 0 else b""


def read_archive(path: StrPath) -> dict[str, ndarray]:
    """Return the arrays of a file that ``write_archive`` wrote, by name.

    Raises:
        StorageError: there is no such file, or it is not such an archive.
    """
    return arrays_of_archive(file_bytes(path), path)


def file_bytes(path: StrPath) -> bytes:
    """Return what a file of a saved program or its arrays holds.

    Raises:
        StorageError: there is no such file, or it cannot be read.
    """
    try:
        return read_file(path)
    except FileNotFoundError as error:
        raise StorageError(
            f"there is no file {os.fspath(path)!r}", help="check the path; it is given without its suffix"
        ) from error
    except (OSError, ValueError, MemoryError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StorageError(f"cannot read {os.fspath(path)!r}: {why or type(error).__name__}") from error


def arrays_of_archive(data: bytes, path: StrPath) -> dict[str, ndarray]:
    """Return the arrays by name that ``archive_of`` wrote.

    Args:
        data: the contents of the file.
        path: where they are from, for messages.

    Raises:
        StorageError: they are not such an archive.
    """
    try:
        entries, _ = read_entries(data)
        names = Record({"names": read_json(entries.pop(_INDEX, b"null"))}).texts("names")
        expected = [f"{number}.npy" for number in range(len(names))]
        if len(set(names)) < len(names) or sorted(expected) != sorted(entries):
            raise FormatError(f"it has {len(entries)} arrays, and names {len(names)}")
        return {name: read_array(entries[entry]) for name, entry in zip(names, expected)}
    except FormatError as error:
        raise StorageError(f"{os.fspath(path)!r} is damaged or was not saved by opkit: {error}") from error
