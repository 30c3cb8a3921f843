"""Program files: one program in one archive, and the part of it that computes some Variables from others.

The archive holds the program as JSON and the arrays that it refers to; nothing in it is code, nothing is unpickled, and
nothing is imported for it. The facade names such files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

import numpy as np

from opkit.errors import UsageError, unknown
from opkit.foreign import FormatError, Record, read_json
from opkit.ir import Operation, Program, Value
from opkit.paths import StrPath
from opkit.static.deserialise import program_from_data
from opkit.static.functions import Functions
from opkit.static.serialise import program_to_data
from opkit.static.storage import StorageError, archive_of, arrays_of_archive

_PROGRAM = "program.json"


def program_bytes(
    program: Program, ops: Sequence[Operation] | None = None, facts: Mapping[str, Sequence[str]] | None = None
) -> bytes:
    """Return a program as the contents of one file.

    Args:
        program: what to save.
        ops: the Operations to save; left out: all.
        facts: names that are kept beside the program.

    Raises:
        SerialiseError: a Python function has no import path, or an attribute is not a plain value.
    """
    named = {name for names in (facts or {}).values() for name in names}
    data, arrays = program_to_data(program, ops, named)
    text = json.dumps({**data, **(facts or {})}, indent=1)
    entries = {_PROGRAM: np.frombuffer(text.encode(), np.uint8)}
    return archive_of({**entries, **{str(number): array for number, array in enumerate(arrays)}})


def program_of(
    data: bytes, path: StrPath, functions: Functions, facts: Sequence[str] = ()
) -> tuple[Program, dict[str, list[str]]]:
    """Return the program that ``program_bytes`` wrote, and the names beside it, each of which is of a Variable.

    Args:
        data: the contents of the file.
        path: where they are from, for messages.
        functions: the Python functions that the program may name.
        facts: which lists of names to return.

    Raises:
        StorageError: the data are damaged, or lack one of the facts.
        SerialiseError: an op does not exist here, or a Python function may not be named.
    """
    entries = arrays_of_archive(data, path)
    try:
        text = entries.pop(_PROGRAM, None)
        if text is None or text.dtype != np.uint8 or set(entries) != {str(number) for number in range(len(entries))}:
            raise FormatError("its entries are not those of a program")
        found = read_json(text.tobytes())
        program = program_from_data(found, [entries[str(number)] for number in range(len(entries))], functions)
        names = {name: Record(found).texts(name) for name in facts}
        for name in (item for items in names.values() for item in items):
            if name not in program.blocks[0].vars:
                raise FormatError(str(unknown("it feeds or fetches a variable", name, program.blocks[0].vars)))
    except FormatError as error:
        raise StorageError(f"{os.fspath(path)!r} holds no program: {error}") from error
    return program, names


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
