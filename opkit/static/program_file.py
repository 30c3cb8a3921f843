"""Program files: one program in one archive, and the part of it that computes some Variables from others.

The archive holds the program as JSON and the arrays that it refers to; nothing in it is code, nothing is unpickled, and
nothing is imported for it. The facade names such files.

Serialise: a program as JSON and arrays. Ops go by name, functions by import path; no code is stored.

``opkit.static.deserialise`` reads them; which file they become is ``opkit.static.program_file``'s.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError, unknown
from opkit.foreign import FormatError, Record, read_json
from opkit.ir import Operation, Program, Value, Variable
from opkit.ops.core.types import Function
from opkit.paths import StrPath
from opkit.static.deserialise import SCHEMA, known_op, program_from_data
from opkit.static.functions import Functions, SerialiseError, path_of
from opkit.static.py_func import PyFuncDef, PyFuncGradDef, label_of
from opkit.static.storage import StorageError, archive_of, arrays_of_archive


def program_to_data(
    program: Program, ops: Sequence[Operation] | None = None, named: Collection[str] = ()
) -> tuple[dict[str, Any], list[ndarray]]:
    """Return a program as JSON data, and the arrays that the data refers to by number.

    Args:
        program: what to save.
        ops: the Operations to save; left out: all.
        named: names of Variables that are kept also where none of these reads or writes them.

    Raises:
        SerialiseError: a Python function has no import path, or an attribute is not a plain value; names the op's line.
    """
    chosen = program.blocks[0].ops if ops is None else ops
    numbers: dict[Value, int] = {}
    arrays: list[ndarray] = []
    records = [_op_record(op, numbers, arrays) for op in chosen]
    used = {value.variable.name for value in numbers} | set(named)
    variables = [_variable_record(item, numbers) for item in program.list_vars() if ops is None or item.name in used]
    values = [
        {
            "variable": value.variable.name,
            "version": value.version,
            "shape": list(value.shape),
            "dtype": value.dtype.name,
        }
        for value in numbers
    ]
    data = {"schema": SCHEMA, "variables": variables, "values": values, "ops": records}
    return data, arrays


def _variable_record(variable: Variable, numbers: dict[Value, int]) -> dict[str, Any]:
    return {
        "name": variable.name,
        "shape": list(variable.shape),
        "dtype": variable.desc.dtype,
        "persistable": variable.persistable,
        "is_data": variable.is_data,
        "is_parameter": variable.is_parameter,
        "trainable": variable.trainable,
        "stop_gradient": variable.stop_gradient,
        "value": numbers.get(variable.value),
    }


def _op_record(op: Operation, numbers: dict[Value, int], arrays: list[ndarray]) -> dict[str, Any]:
    def number(value: Value | None) -> int | None:
        return None if value is None else numbers.setdefault(value, len(numbers))

    record: dict[str, Any] = {
        "type": op.type,
        "inputs": [number(value) for value in op.inputs],
        "outputs": [number(value) for value in op.outputs],
        "writes": list(op.writes),
        "role": op.role,
        "attrs": {name: _encoded(value, arrays, op, name) for name, value in op.attrs.items()},
    }
    opdef = op.opdef
    if isinstance(opdef, PyFuncDef):
        record["py_func"] = {
            "function": _path_of(opdef.function, op),
            "backward_func": None if opdef.backward_func is None else _path_of(opdef.backward_func, op),
            "skipped": sorted(opdef.skipped),
        }
    elif isinstance(opdef, PyFuncGradDef):
        record["py_func_grad"] = {
            "function": _path_of(opdef.function, op),
            "count": opdef.count,
            "needed": list(opdef.needed),
        }
    elif known_op(op.type) is not opdef:
        raise SerialiseError(
            f"op {op.type!r} is not one of opkit's own ops and cannot be saved",
            where=op.where,
            help="save the parameters",
        )
    return record


def _path_of(function: Function, op: Operation) -> str:
    path = path_of(function)
    if path is None:
        raise SerialiseError(
            f"py_func: {label_of(function)!r} cannot be saved: a function is saved by its import path, and it has none",
            where=op.where,
            help="define it with def at the top level of a module (no lambda, method, partial or inner function)",
        )
    return path


def _encoded(value: Any, arrays: list[ndarray], op: Operation, name: str) -> Any:
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [_encoded(item, arrays, op, name) for item in value]}
    if isinstance(value, slice):
        return {"slice": [_encoded(item, arrays, op, name) for item in (value.start, value.stop, value.step)]}
    if value is ...:
        return {"ellipsis": True}
    if isinstance(value, (ndarray, np.generic)):
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}
    raise SerialiseError(
        f"op {op.type!r}: attribute {name!r} is a {type(value).__name__}, which cannot be saved", where=op.where
    )


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
