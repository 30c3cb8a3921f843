"""Serialise: a program as JSON and arrays. Ops go by name, functions by import path; no code is stored.

``opkit.static.deserialise`` reads them; which file they become is ``opkit.static.program_file``'s.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.ir import Operation, Program, Value, Variable
from opkit.ops.core.types import Function
from opkit.static.deserialise import SCHEMA, known_op
from opkit.static.functions import SerialiseError, path_of
from opkit.static.py_func import PyFuncDef, PyFuncGradDef, label_of


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
