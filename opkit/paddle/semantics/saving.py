"""Saving: programs and their variables in files with Paddle's suffixes, in opkit's own format.

``.pdparams`` and ``.pdopt`` hold parameters and all other variables, ``.pdmodel`` the program; for inference
``.pdmodel`` and ``.pdiparams``. Nothing in them is code, and nothing is unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from opkit.atomic import write_file
from opkit.errors import UsageError
from opkit.ir import Program, Variable
from opkit.static.program_file import ops_between, read_program, write_program
from opkit.static.scope import Scope
from opkit.static.serialise import SerialiseError
from opkit.static.storage import (
    StorageError,
    program_state,
    read_archive,
    set_program_state,
    write_archive,
)

__all__ = [
    "load_inference_program",
    "load_program",
    "read_program_state",
    "save_inference_program",
    "save_program",
]


def save_program(program: Program, path: str | os.PathLike[str], scope: Scope) -> None:
    """Write ``PATH.pdparams``, ``PATH.pdopt`` and ``PATH.pdmodel``.

    Raises:
        StorageError: a variable is not initialised.
    """
    stem = _stem(path)
    write_archive(stem + ".pdparams", program_state(program, scope, (True,)))
    write_archive(stem + ".pdopt", program_state(program, scope, (False,)))
    try:
        write_program(stem + ".pdmodel", program)
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
    """Write the part that computes the fetches from the feeds: ``PATH.pdmodel`` and ``PATH.pdiparams``.

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
    ops, states = ops_between(block.ops, fed, wanted)
    stem = _stem(path)
    names = {"feeds": [item.name for item in feeds], "fetches": [item.name for item in fetches]}
    write_program(stem + ".pdmodel", program, ops, names)
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
    program, facts = read_program(stem + ".pdmodel", ("feeds", "fetches"))
    for name, array in read_archive(stem + ".pdiparams").items():
        scope.var(name).put(array)
    return program, list(facts["feeds"]), [program.blocks[0].var(name) for name in facts["fetches"]]


def _stem(path: str | os.PathLike[str]) -> str:
    stem = os.fspath(path)
    if not os.path.basename(stem):
        raise UsageError(f"{stem!r} names a folder; give a path that ends in a file name, without a suffix")
    for suffix in (".pdmodel", ".pdparams", ".pdopt", ".pdiparams"):
        stem = stem.removesuffix(suffix)
    return stem
