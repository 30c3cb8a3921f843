"""Saving: programs and their variables in files with Paddle's suffixes, in opkit's own format.

``.pdparams`` and ``.pdopt`` hold parameters and all other variables, ``.pdmodel`` the program; for inference
``.pdmodel`` and ``.pdiparams``. The files of one save carry one mark, and files of two saves are not loaded together.
Nothing in them is code, nothing is unpickled, and nothing is imported for them.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from numpy import ndarray

from opkit.atomic import placed, write_together
from opkit.errors import UsageError
from opkit.ir import Program, Variable
from opkit.ops.basis.creation import IDENTITY
from opkit.ops.core.define import NO_ATTRS
from opkit.paths import StrPath
from opkit.static.builder import append, build_in
from opkit.static.functions import Allow, Functions, SerialiseError
from opkit.static.program_file import ops_between, program_bytes, program_of
from opkit.static.scope import Scope
from opkit.static.storage import (
    StorageError,
    archive_of,
    arrays_of_archive,
    file_bytes,
    mark_of,
    marked,
    program_state,
    set_program_state,
)

#: How often files are read again that another process is just saving, and the seconds between.
_ATTEMPTS = 40
_PAUSE = 0.01


def save_program(program: Program, path: StrPath, scope: Scope) -> None:
    """Write ``PATH.pdparams``, ``PATH.pdopt`` and ``PATH.pdmodel``, all of them or none.

    Raises:
        StorageError: a variable is not initialised, or a file cannot be written.
    """
    stem = _stem(path)
    files = {
        ".pdparams": archive_of(program_state(program, scope, (True,))),
        ".pdopt": archive_of(program_state(program, scope, (False,))),
    }
    try:
        files[".pdmodel"] = program_bytes(program)
    except SerialiseError as error:  # the arrays are what is loaded; the program is for reading then
        files[".pdmodel"] = f"{program}\n\n// not saved for loading: {error}\n".encode(errors="backslashreplace")
    _write(stem, files)


def load_program(program: Program, path: StrPath, scope: Scope) -> None:
    """Put the arrays of ``PATH.pdparams`` and ``PATH.pdopt`` into a scope.

    Raises:
        StorageError: a file is missing, damaged or of another save, or an array does not fit its variable.
    """
    set_program_state(program, read_program_state(path), scope)


def read_program_state(path: StrPath) -> dict[str, ndarray]:
    """Return the arrays of ``PATH.pdparams`` and, where there is one, ``PATH.pdopt`` by name.

    Raises:
        StorageError: a file is missing, damaged or of another save.
    """
    stem = _stem(path)
    state = {}
    for suffix, data in _read(stem, ".pdparams", ".pdopt").items():
        state.update(arrays_of_archive(data, stem + suffix))
    return state


def save_inference_program(path: StrPath, feeds: Sequence[Variable], fetches: Sequence[Variable], scope: Scope) -> None:
    """Write the part that computes the fetches from the feeds: ``PATH.pdmodel`` and ``PATH.pdiparams``.

    Raises:
        SerialiseError: a Python function on the way has no import path.
        UsageError: nothing is fetched, the fetches need something that is not fed, or do not need what is fed.
    """
    if not fetches:
        raise UsageError("save_inference_model: fetch_vars is empty")
    program = fetches[0].block.program.clone(for_test=True)
    block = program.blocks[0]
    for item in fetches:
        _own_value(block.var(item.name))
    fed = {block.var(item.name).value for item in feeds}
    wanted = [block.var(item.name).value for item in fetches]
    ops, states = ops_between(block.ops, fed, wanted)
    read = {value for op in ops for value in op.inputs} | set(wanted)
    useless = [item.name for item in feeds if block.var(item.name).value not in read]
    if useless:
        raise UsageError(
            f"save_inference_model: the fetches do not depend on {useless}", help="leave it out of feed_vars"
        )
    stem = _stem(path)
    names = {"feeds": [item.name for item in feeds], "fetches": [item.name for item in fetches]}
    arrays = {}
    for name in states:
        holder = scope.find_var(name)
        if holder is None or holder.array is None:
            raise StorageError(f"variable {name!r} has no data in the scope", help="run the startup program first")
        arrays[name] = holder.array
    _write(stem, {".pdmodel": program_bytes(program, ops, names), ".pdiparams": archive_of(arrays)})


def _own_value(variable: Variable) -> None:
    """Give a Variable a Value of its own where it means another's, since the op between them is gone for inference."""
    held = variable.value
    if held.variable is not variable:
        with build_in(variable.block.program):
            append(variable.block, IDENTITY, (held.variable.at(held),), NO_ATTRS, into=[variable])


def load_inference_program(path: StrPath, scope: Scope, allow: Allow = ()) -> tuple[Program, list[str], list[Variable]]:
    """Return a saved program, the names of its feeds and the Variables to fetch; its arrays go into the scope.

    Args:
        path: the files, without a suffix.
        scope: where the arrays go.
        allow: modules whose functions a py_func of the program may name, and functions; those that this process has
            used in a py_func of its own are allowed anyway.

    Raises:
        StorageError: a file is missing, damaged or of another save, or an array does not fit its variable.
        SerialiseError: an op does not exist here, or a function is not allowed.
    """
    stem = _stem(path)
    functions = Functions(allow)
    files = _read(stem, ".pdmodel", ".pdiparams")
    program, facts = program_of(files[".pdmodel"], stem + ".pdmodel", functions, ("feeds", "fetches"))
    if ".pdiparams" not in files:
        raise StorageError(f"there is no file {stem + '.pdiparams'!r}", help="it holds the arrays of the .pdmodel")
    arrays = arrays_of_archive(files[".pdiparams"], stem + ".pdiparams")
    _check_arrays(program, arrays, stem + ".pdiparams")
    for name, array in arrays.items():
        scope.var(name).put(array)
    return program, facts["feeds"], [program.blocks[0].var(name) for name in facts["fetches"]]


def _check_arrays(program: Program, arrays: Mapping[str, ndarray], path: str) -> None:
    """Refuse arrays that are not of the program's own Variables, and a program that reads others."""
    kept = {item.name: item for item in program.list_vars() if item.persistable}
    for name, array in arrays.items():
        variable = kept.get(name)
        if variable is None or array.shape != variable.shape or array.dtype.name != variable.desc.dtype:
            expected = f"{variable.desc}" if variable is not None else "no variable of that name"
            raise StorageError(
                f"{path!r}: variable {name!r} is {array.dtype}{list(array.shape)}, the program has {expected}",
                help="the file belongs to another program",
            )
    read = {value.variable.name for op in program.blocks[0].ops for value in op.inputs if value is not None}
    missing = sorted(name for name in kept if name in read and name not in arrays)
    if missing:
        raise StorageError(f"{path!r} lacks variable {missing[0]!r}, which the program reads")


# ---- the files of one save -------------------------------------------------------------------------------------------
def _write(stem: str, files: Mapping[str, bytes]) -> None:
    mark = hashlib.sha256(b"".join(files.values())).hexdigest()[:16]
    name = os.path.basename(stem)
    try:
        write_together(
            os.path.dirname(stem) or ".", name, {name + suffix: marked(data, mark) for suffix, data in files.items()}
        )
    except OSError as error:
        raise StorageError(f"cannot save {stem!r}: {error.filename or ''}: {error.strerror}") from error


def _read(stem: str, first: str, second: str) -> dict[str, bytes]:
    """Return the contents of two files of one save by suffix; the second one may be missing."""
    for _ in range(_ATTEMPTS):
        files = _read_once(stem, first, second)
        if len({mark_of(data) for data in files.values()} - {b""}) <= 1:
            return files
        time.sleep(_PAUSE)  # another process is moving its files to their places
    raise StorageError(
        f"{stem + first!r} and {stem + second!r} were not saved together",
        help="files of two saves were mixed: save again, or copy both files of one save",
    )


def _read_once(stem: str, first: str, second: str) -> dict[str, bytes]:
    folder, name = os.path.dirname(stem) or ".", os.path.basename(stem)
    files = {}
    for suffix in (first, second):
        place = placed(folder, name, name + suffix)
        try:
            files[suffix] = file_bytes(place)
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError) and place != Path(folder, name + suffix):
                return _read_once(stem, first, second)  # it was moved to its place just now
            if suffix == second and isinstance(error.__cause__, FileNotFoundError):
                continue
            raise
    return files


def _stem(path: StrPath) -> str:
    stem = os.fspath(path)
    if not os.path.basename(stem):
        raise UsageError(f"{stem!r} names a folder; give a path that ends in a file name, without a suffix")
    for suffix in (".pdmodel", ".pdparams", ".pdopt", ".pdiparams"):
        stem = stem.removesuffix(suffix)
    return stem
