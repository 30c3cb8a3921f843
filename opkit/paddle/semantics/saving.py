"""Saving: programs and their variables in files with Paddle's suffixes, in opkit's own format.

``.pdparams`` and ``.pdopt`` hold parameters and all other variables, ``.pdmodel`` the program; for inference
``.pdmodel`` and ``.pdiparams``. Nothing in them is code, and nothing is unpickled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.ir import Operation, Program, Value, Variable
from opkit.static.scope import Scope
from opkit.static.serialise import SerialiseError, program_from_data, program_to_data
from opkit.static.storage import (
    StorageError,
    program_state,
    read_archive,
    set_program_state,
    write_archive,
    write_file,
)

__all__ = [
    "load_inference_program",
    "load_program",
    "read_program_state",
    "save_inference_program",
    "save_program",
]

_PROGRAM = "program.json"


def save_program(program: Program, path: str | os.PathLike[str], scope: Scope) -> None:
    """Write ``PATH.pdparams``, ``PATH.pdopt`` and ``PATH.pdmodel``.

    Raises:
        StorageError: a variable is not initialised.
    """
    stem = _stem(path)
    write_archive(stem + ".pdparams", program_state(program, scope, (True,)))
    write_archive(stem + ".pdopt", program_state(program, scope, (False,)))
    try:
        _write_program(stem + ".pdmodel", program, None, {})
    except SerialiseError as error:  # the arrays are what is loaded; the program is for reading then
        write_file(stem + ".pdmodel", f"{program}\n\n// not saved for loading: {error}\n".encode())


def load_program(program: Program, path: str | os.PathLike[str], scope: Scope) -> None:
    """Put the arrays of ``PATH.pdparams`` and ``PATH.pdopt`` into a scope.

    Raises:
        StorageError: a file is missing or damaged, or an array does not fit its variable.
    """
    set_program_state(program, read_program_state(path), scope)


def read_program_state(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays of ``PATH.pdparams`` and, where there is one, ``PATH.pdopt`` by name."""
    stem = _stem(path)
    state = read_archive(stem + ".pdparams")
    if os.path.isfile(stem + ".pdopt"):
        state.update(read_archive(stem + ".pdopt"))
    return state


def save_inference_program(
    path: str | os.PathLike[str],
    feeds: Sequence[Variable],
    fetches: Sequence[Variable],
    scope: Scope,
) -> None:
    """Write what computes the fetches from the feeds: ``PATH.pdmodel`` and ``PATH.pdiparams``.

    Raises:
        SerialiseError: a Python function on the way has no import path.
        UsageError: nothing is fetched, or the fetches need something that is not fed.
    """
    if not fetches:
        raise UsageError("save_inference_model: fetch_vars is empty")
    program = fetches[0].block.program.clone(for_test=True)
    block = program.blocks[0]
    fed = {block.var(item.name).value for item in feeds}
    wanted = [block.var(item.name).value for item in fetches]
    ops, states = _between(block.ops, fed, wanted)
    stem = _stem(path)
    names = {"feeds": [item.name for item in feeds], "fetches": [item.name for item in fetches]}
    _write_program(stem + ".pdmodel", program, ops, names)
    arrays = {}
    for name in states:
        holder = scope.find_var(name)
        if holder is None or holder.array is None:
            raise StorageError(f"variable {name!r} has no data in the scope", help="run the startup program first")
        arrays[name] = holder.array
    write_archive(stem + ".pdiparams", arrays)


def load_inference_program(path: str | os.PathLike[str], scope: Scope) -> tuple[Program, list[str], list[Variable]]:
    """Return a saved program, the names of its feeds and the Variables to fetch; its arrays go into the scope.

    Raises:
        StorageError: a file is missing or damaged.
        SerialiseError: an op or a Python function does not exist here.
    """
    stem = _stem(path)
    entries = read_archive(stem + ".pdmodel")
    try:
        data = json.loads(bytes(entries.pop(_PROGRAM)).decode())
        feeds, fetches = list(data["feeds"]), list(data["fetches"])
    except (KeyError, ValueError) as error:
        raise StorageError(f"{stem + '.pdmodel'!r} holds no inference program: {error!r}") from error
    program = program_from_data(data, [entries[str(number)] for number in range(len(entries))])
    for name, array in read_archive(stem + ".pdiparams").items():
        scope.var(name).put(array)
    return program, feeds, [program.blocks[0].var(name) for name in fetches]


def _between(ops: Sequence[Operation], fed: set[Value], wanted: Sequence[Value]) -> tuple[list[Operation], list[str]]:
    """Return the Operations that compute some Values from others, and the names of the variables that they read."""
    needed = {value for value in wanted if value not in fed}
    kept = []
    for op in reversed(ops):
        if any(value in needed for value in op.outputs):
            kept.append(op)
            needed.update(value for value in op.inputs if value is not None and value not in fed)
    kept.reverse()
    made = {value for op in kept for value in op.outputs}
    states = []
    for value in needed - made:
        if value.variable.persistable:
            states.append(value.variable.name)
        else:
            raise UsageError(
                f"save_inference_model: the fetches need variable {value.variable.name!r}, which is not fed",
                help="add it to feed_vars",
            )
    return kept, sorted(set(states))


def _write_program(path: str, program: Program, ops: Sequence[Operation] | None, extra: Mapping[str, Any]) -> None:
    data, arrays = program_to_data(program, ops)
    text = json.dumps({**data, **extra}, indent=1)
    entries = {_PROGRAM: np.frombuffer(text.encode(), np.uint8)}
    write_archive(path, {**entries, **{str(number): array for number, array in enumerate(arrays)}})


def _stem(path: str | os.PathLike[str]) -> str:
    stem = os.fspath(path)
    if not os.path.basename(stem):
        raise UsageError(f"{stem!r} names a folder; a path with a file's name, without a suffix, is needed")
    for suffix in (".pdmodel", ".pdparams", ".pdopt", ".pdiparams"):
        stem = stem.removesuffix(suffix)
    return stem
