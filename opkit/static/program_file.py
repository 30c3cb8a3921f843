"""Program files: one program in one archive, and the part of it that computes some Variables from others.

The archive holds the program as JSON and the arrays that it refers to; nothing in it is code, nothing is unpickled.
The facade names such files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.ir import Operation, Program, Value
from opkit.static.serialise import program_from_data, program_to_data
from opkit.static.storage import StorageError, read_archive, write_archive

__all__ = ["ops_between", "read_program", "write_program"]

_PROGRAM = "program.json"


def write_program(
    path: str | os.PathLike[str],
    program: Program,
    ops: Sequence[Operation] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Write a program to one file, which appears whole or not at all.

    Args:
        path: the file.
        program: what to save.
        ops: the Operations to save; left out: all.
        facts: JSON data that is kept beside the program.

    Raises:
        SerialiseError: a Python function has no import path, or an attribute is not a plain value.
    """
    data, arrays = program_to_data(program, ops)
    text = json.dumps({**data, **(facts or {})}, indent=1)
    entries = {_PROGRAM: np.frombuffer(text.encode(), np.uint8)}
    write_archive(path, {**entries, **{str(number): array for number, array in enumerate(arrays)}})


def read_program(path: str | os.PathLike[str], facts: Sequence[str] = ()) -> tuple[Program, dict[str, Any]]:
    """Return the program of a file, and the facts of these names beside it.

    Raises:
        StorageError: the file is missing or damaged, or lacks one of the facts.
        SerialiseError: an op or a Python function does not exist here.
    """
    entries = read_archive(path)
    try:
        data = json.loads(bytes(entries.pop(_PROGRAM)).decode())
        found = {name: data[name] for name in facts}
    except (KeyError, ValueError) as error:
        raise StorageError(f"{os.fspath(path)!r} holds no program: {error!r}") from error
    return program_from_data(data, [entries[str(number)] for number in range(len(entries))]), found


def ops_between(
    ops: Sequence[Operation], fed: set[Value], wanted: Sequence[Value]
) -> tuple[list[Operation], list[str]]:
    """Return the Operations that compute some Values from others, and the names of the variables that they read.

    Raises:
        UsageError: they need a Variable that is neither fed nor kept across runs.
    """
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
        if not value.variable.persistable:
            raise UsageError(
                f"the fetches need variable {value.variable.name!r}, which is not fed", help="feed it as well"
            )
        states.append(value.variable.name)
    return kept, sorted(set(states))
