"""Serialise: a program as JSON and arrays, and back. Ops go by name, functions by import path; no code is stored.

Which file these become is ``opkit.static.program_file``'s.
"""

from __future__ import annotations

import importlib
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import OpkitError, unknown
from opkit.ir import Operation, Program, TensorDesc, Value, Variable, to_numpy
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.registry import BUILTIN
from opkit.static.parameters import INITIALIZE
from opkit.static.py_func import PyFuncDef, PyFuncGradDef, arguments_of, grad_arguments_of, label_of, py_func_rule

__all__ = ["SerialiseError", "program_from_data", "program_to_data"]

_SCHEMA = 1
_OWN: dict[str, OpDef] = {INITIALIZE.name: INITIALIZE}


class SerialiseError(OpkitError, ValueError):
    """A program holds something that cannot be saved, or a file something that cannot be loaded."""


# ---- out -------------------------------------------------------------------------------------------------------------
def program_to_data(
    program: Program, ops: Sequence[Operation] | None = None
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return a program as JSON data, and the arrays that the data refers to by number.

    Args:
        program: what to save.
        ops: the Operations to save; left out: all.

    Raises:
        SerialiseError: a Python function has no import path, or an attribute is not a plain value; names the op's line.
    """
    chosen = program.blocks[0].ops if ops is None else ops
    numbers: dict[Value, int] = {}
    arrays: list[np.ndarray] = []
    records = [_op_record(op, numbers, arrays) for op in chosen]
    used = {value.variable.name for value in numbers}
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
    data = {"schema": _SCHEMA, "variables": variables, "values": values, "ops": records}
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


def _op_record(op: Operation, numbers: dict[Value, int], arrays: list[np.ndarray]) -> dict[str, Any]:
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
    elif _known(op.type) is not opdef:
        raise SerialiseError(
            f"op {op.type!r} is not one of opkit's own ops and cannot be saved",
            where=op.where,
            help="save the parameters",
        )
    return record


def _known(name: str) -> Any:
    return _OWN.get(name) or BUILTIN.find(name)


def _path_of(function: Callable[..., Any], op: Operation) -> str:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if isinstance(function, np.ufunc):
        module, name = "numpy", function.__name__
    path = f"{module}:{name}"
    try:
        found = _resolve(path) if module and name and "<" not in name else None
    except SerialiseError:
        found = None
    if found is not function:
        raise SerialiseError(
            f"py_func: {label_of(function)!r} cannot be saved: a function is saved by its import path, and it has none",
            where=op.where,
            help="define it with def at the top level of a module (no lambda, method, partial or inner function)",
        )
    return path


def _encoded(value: Any, arrays: list[np.ndarray], op: Operation, name: str) -> Any:
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [_encoded(item, arrays, op, name) for item in value]}
    if isinstance(value, (np.ndarray, np.generic)):
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}
    raise SerialiseError(
        f"op {op.type!r}: attribute {name!r} is a {type(value).__name__}, which cannot be saved", where=op.where
    )


# ---- in --------------------------------------------------------------------------------------------------------------
def program_from_data(data: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Program:
    """Return the program that ``program_to_data`` described.

    Raises:
        SerialiseError: the data is of another kind, or names an op or a function that does not exist here.
    """
    if data.get("schema") != _SCHEMA:
        raise SerialiseError(f"the program has format {data.get('schema')!r}, this opkit reads {_SCHEMA}")
    program = Program()
    block = program.blocks[0]
    for record in data["variables"]:
        desc = TensorDesc(tuple(record["shape"]), record["dtype"])
        variable = Variable(
            block,
            record["name"],
            desc,
            stop_gradient=record["stop_gradient"],
            persistable=record["persistable"],
            is_data=record["is_data"],
        )
        variable.is_parameter, variable.trainable = record["is_parameter"], record["trainable"]
        block.add_variable(variable)
    values = [_value(record, block.vars) for record in data["values"]]
    for record in data["ops"]:
        block.append(_operation(block, record, values, arrays))
    for record in data["variables"]:
        if record["value"] is not None:
            block.vars[record["name"]].value = values[record["value"]]
    return program


def _value(record: Mapping[str, Any], variables: Mapping[str, Variable]) -> Value:
    variable = variables[record["variable"]]
    if not record["version"]:
        value = variable.value
        value.shape, value.dtype = tuple(record["shape"]), to_numpy(record["dtype"])
        return value
    return Value(variable, tuple(record["shape"]), to_numpy(record["dtype"]), version=record["version"])


def _operation(
    block: Any, record: Mapping[str, Any], values: Sequence[Value], arrays: Sequence[np.ndarray]
) -> Operation:
    inputs = tuple(None if number is None else values[number] for number in record["inputs"])
    attrs = {name: _decoded(value, arrays) for name, value in record["attrs"].items()}
    opdef, label = _opdef(record, len(inputs))
    op = Operation(block, opdef, inputs, attrs, record["role"], label=label)
    op.outputs = tuple(values[number] for number in record["outputs"])
    op.writes = tuple(record["writes"])
    for index, value in enumerate(op.outputs):
        if value.producer is None:
            value.producer, value.index = op, index
    return op


def _opdef(record: Mapping[str, Any], count: int) -> tuple[OpDef, str]:
    outputs = arguments_of("out", len(record["outputs"]))
    if "py_func" in record:
        spec = record["py_func"]
        function = _resolve(spec["function"])
        backward = None if spec["backward_func"] is None else _resolve(spec["backward_func"])
        made = PyFuncDef(
            name="py_func",
            inputs=arguments_of("x", count),
            outputs=outputs,
            kernel=function,
            grad=None if backward is None else py_func_rule,
            is_user=True,
            has_side_effect=True,
            function=function,
            backward_func=backward,
            skipped=frozenset(spec["skipped"]),
        )
        return made, f"py_func[{label_of(function)}]"
    if "py_func_grad" in record:
        spec = record["py_func_grad"]
        function = _resolve(spec["function"])
        needed = tuple(spec["needed"])
        grad = PyFuncGradDef(
            name="py_func_grad",
            inputs=grad_arguments_of(len(needed), 0, count - len(needed)),
            outputs=outputs,
            kernel=function,
            is_user=True,
            has_side_effect=True,
            function=function,
            count=spec["count"],
            needed=needed,
        )
        return grad, f"py_func_grad[{label_of(function)}]"
    found = _known(record["type"])
    if not isinstance(found, OpDef):
        tail = ", which this opkit does not have"
        raise unknown("the program has an op", record["type"], BUILTIN, tail=tail).error(SerialiseError)
    return found, ""


def _resolve(path: str) -> Callable[..., Any]:
    """Return the function of an import path ``module:name``; only functions of Python and numpy are taken."""
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise SerialiseError(
            f"py_func: the function {path!r} cannot be imported: {error}",
            help="a saved program finds its functions by import path: make the module importable (PYTHONPATH)",
        ) from error
    if not isinstance(found, (types.FunctionType, np.ufunc)):
        raise SerialiseError(f"py_func: {path!r} is a {type(found).__name__}, not a Python function")
    return found


def _decoded(value: Any, arrays: Sequence[np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "array" in value:
        return arrays[value["array"]]
    if "tuple" in value:
        return tuple(_decoded(item, arrays) for item in value["tuple"])
    return [_decoded(item, arrays) for item in value["list"]]
