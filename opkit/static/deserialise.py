"""Deserialise: a program out of JSON data and arrays, every field of which may have been written by anybody.

``opkit.static.program_file`` writes them. A program that is returned is one that could have been built: its ops are
known, take these arguments and attributes, and give values of these shapes and dtypes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.errors import unknown
from opkit.foreign import FormatError, Record
from opkit.ir import DTYPES, INFERENCE_ONLY, Block, Operation, Program, TensorDesc, Value, Variable, to_numpy
from opkit.ops.core.inference import is_same_size
from opkit.ops.core.opdef import AttrDef, OpDef
from opkit.ops.core.registry import BUILTIN
from opkit.ops.core.types import Arrays, Attrs
from opkit.static.functions import Functions, SerialiseError
from opkit.static.parameters import INITIALIZE
from opkit.static.py_func import PyFuncDef, PyFuncGradDef, arguments_of, grad_arguments_of, label_of, py_func_rule

#: The format of the data.
SCHEMA = 1
_OWN: dict[str, OpDef] = {INITIALIZE.name: INITIALIZE}
_ROLES = ("forward", "backward", "optimize", "init")
_MOST_AXES = 32
_MOST_SIZE = 1 << 40
_MOST_VERSIONS = 1 << 20
_VARIABLE_FLAGS = ("persistable", "is_data", "is_parameter", "trainable", "stop_gradient")
#: How the types of attributes are spelt in Python, for those that have one type.
_TYPES: dict[str, tuple[type, ...]] = {
    "int32": (int,),
    "int64": (int,),
    "float": (float, int),
    "double": (float, int),
    "bool": (bool,),
    "string": (str,),
}
_ITEMS: dict[str, tuple[type, ...]] = {
    "shape": (int,),
    "vector<int32>": (int,),
    "vector<int64>": (int,),
    "vector<float>": (float, int),
    "vector<string>": (str,),
}


def known_op(name: str) -> Any:
    """Return the op type of a name that a file may use: one of opkit's own, or None."""
    return _OWN.get(name) or BUILTIN.find(name)


def program_from_data(data: Any, arrays: Arrays, functions: Functions) -> Program:
    """Return the program that ``program_to_data`` described.

    Args:
        data: the JSON data.
        arrays: what they refer to by number.
        functions: the Python functions that they may name.

    Raises:
        FormatError: a field is missing or of another type, or refers to something that is not there.
        SerialiseError: the data is of another version, or names an op that does not exist here, a function that may not
            be named, or an op that does not take these inputs and attributes.
    """
    top = Record(data)
    if top.get("schema") != SCHEMA:
        raise SerialiseError(f"the program has format {str(top.get('schema'))[:40]!r}, this opkit reads {SCHEMA}")
    program = Program()
    block = program.blocks[0]
    held = top.records("variables")
    for record in held:
        _add_variable(block, record)
    values = [_value(record, block.vars) for record in top.records("values")]
    reader = _Ops(block, values, arrays, functions)
    for record in top.records("ops"):
        block.append(reader.operation(record))
    for record in held:
        number = record.optional("value", 0, len(values) - 1)
        if number is not None:
            variable = block.vars[record.text("name")]
            if values[number].variable is not variable:
                raise FormatError(f"{record.at('value')}: value {number} is of another variable")
            variable.value = values[number]
    return program


def _desc(record: Record) -> TensorDesc:
    sizes = record.wholes("shape", -1, _MOST_SIZE)
    name = record.text("dtype")
    if name not in DTYPES:
        raise FormatError(str(unknown(f"{record.at('dtype')}: there is no dtype", name, DTYPES)))
    if name in INFERENCE_ONLY or len(sizes) > _MOST_AXES:
        raise FormatError(f"{record.place}: no array is {name} with {len(sizes)} axes")
    return TensorDesc(sizes, name)


def _add_variable(block: Block, record: Record) -> None:
    persistable, is_data, is_parameter, trainable, stops = (record.flag(name) for name in _VARIABLE_FLAGS)
    name = record.text("name")
    if name in block.vars:
        raise FormatError(f"{record.at('name')}: there is a variable {name!r} already")
    variable = Variable(block, name, _desc(record), stop_gradient=stops, persistable=persistable, is_data=is_data)
    variable.is_parameter, variable.trainable = is_parameter, trainable
    block.add_variable(variable)


def _value(record: Record, variables: Mapping[str, Variable]) -> Value:
    name = record.text("variable")
    if name not in variables:
        raise FormatError(str(unknown(f"{record.at('variable')}: there is no variable", name, variables)))
    desc, version = _desc(record), record.whole("version", 0, _MOST_VERSIONS)
    if version:
        return Value(variables[name], desc.shape, to_numpy(desc.dtype), version=version)
    value = variables[name].value
    value.shape, value.dtype = desc.shape, to_numpy(desc.dtype)
    return value


class _Ops:
    """Operations out of their records.

    Args:
        block: theirs.
        values: what they refer to by number.
        arrays: what their attributes refer to by number.
        functions: what py_funcs may name.
    """

    def __init__(self, block: Block, values: Sequence[Value], arrays: Arrays, functions: Functions) -> None:
        self._block = block
        self._values = values
        self._arrays = arrays
        self._functions = functions
        self._read: set[Value] = set()

    def operation(self, record: Record) -> Operation:
        """Return the Operation that a record describes; its outputs are not written before."""
        last = len(self._values) - 1
        inputs = tuple(None if n is None else self._values[n] for n in record.optionals("inputs", 0, last))
        outputs = tuple(self._values[n] for n in record.wholes("outputs", 0, last))
        writes = record.wholes("writes", 0, len(inputs) - 1)
        role = record.text("role")
        if role not in _ROLES:
            raise FormatError(str(unknown(f"{record.at('role')}: there is no role", role, _ROLES)))
        attrs = self._attrs(record)
        opdef, label = self._opdef(record, inputs, len(outputs))
        op = Operation(self._block, opdef, inputs, attrs, role, label=label)
        op.outputs, op.writes = outputs, writes
        _check_call(record, opdef, op)
        for index, value in enumerate(outputs):
            if value.producer is not None or value in outputs[:index] or value.variable.is_data:
                raise FormatError(f"{record.at('outputs')}: value {value.name!r} is written twice, or is fed")
            if value in self._read or value in inputs:
                raise FormatError(f"{record.at('outputs')}: value {value.name!r} is read before it is written")
            value.producer, value.index = op, index
        self._read.update(value for value in inputs if value is not None)
        return op

    def _attrs(self, record: Record) -> dict[str, Any]:
        held = record.record("attrs")
        return {name: self._decoded(held.get(name), held.at(name)) for name in held}

    def _decoded(self, value: Any, place: str) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        record = Record(value, place)
        kind = next(iter(record), "")
        if kind == "float":
            text = record.text("float")
            if text not in ("nan", "inf", "-inf"):
                raise FormatError(f"{record.at('float')}: expected nan, inf or -inf, got {text!r}")
            return float(text)
        if kind == "array":
            return self._arrays[record.whole("array", 0, len(self._arrays) - 1)]
        if kind == "slice":
            ends = record.optionals("slice", -_MOST_SIZE, _MOST_SIZE)
            if len(ends) != 3:
                raise FormatError(f"{record.at('slice')}: expected start, stop and step, got {len(ends)} numbers")
            return slice(*ends)
        if kind == "ellipsis":
            return ...
        if kind not in ("tuple", "list"):
            raise FormatError(f"{place}: expected an array, a slice, a list or a tuple, got {kind[:40]!a}")
        items = [self._decoded(item, f"{place}[{i}]") for i, item in enumerate(record.items(kind))]
        return tuple(items) if kind == "tuple" else items

    def _opdef(self, record: Record, inputs: Sequence[Value | None], outputs: int) -> tuple[OpDef, str]:
        name = record.text("type")
        if "py_func" in record and name == "py_func":
            return self._py_func(record.record("py_func"), inputs, outputs)
        if "py_func_grad" in record and name == "py_func_grad":
            return self._py_func_grad(record.record("py_func_grad"), inputs, outputs)
        found = known_op(name)
        if not isinstance(found, OpDef):
            tail = ", which this opkit does not have"
            raise unknown("the program has an op", name, BUILTIN, tail=tail).error(SerialiseError)
        return found, ""

    def _py_func(self, record: Record, inputs: Sequence[Value | None], outputs: int) -> tuple[OpDef, str]:
        if None in inputs:
            raise FormatError(f"{record.place}: every input of a py_func is there")
        skipped = frozenset(record.wholes("skipped", 0, len(inputs) + outputs - 1))
        function = self._functions.find(record.text("function"))
        has_backward = record.get("backward_func") is not None
        backward = self._functions.find(record.text("backward_func")) if has_backward else None
        _check_ufunc(record, function, len(inputs))
        _check_ufunc(record, backward, len(inputs) + 2 * outputs - len(skipped))
        made = PyFuncDef(
            name="py_func",
            inputs=arguments_of("x", len(inputs)),
            outputs=arguments_of("out", outputs),
            kernel=function,
            grad=None if backward is None else py_func_rule,
            is_user=True,
            has_side_effect=True,
            function=function,
            backward_func=backward,
            skipped=skipped,
        )
        return made, f"py_func[{label_of(function)}]"

    def _py_func_grad(self, record: Record, inputs: Sequence[Value | None], outputs: int) -> tuple[OpDef, str]:
        count = record.whole("count", 1, len(inputs))
        needed = record.wholes("needed", 0, count - 1)
        if len(needed) != outputs or len(needed) > len(inputs) or sorted(set(needed)) != list(needed):
            raise FormatError(f"{record.at('needed')}: the gradients of {list(needed)} are not {outputs} outputs")
        if None in inputs[: len(needed)]:
            raise FormatError(f"{record.place}: an input whose gradient is wanted is not there")
        function = self._functions.find(record.text("function"))
        _check_ufunc(record, function, len(inputs) - len(needed))
        grad = PyFuncGradDef(
            name="py_func_grad",
            inputs=grad_arguments_of(len(needed), 0, len(inputs) - len(needed)),
            outputs=arguments_of("dx", outputs),
            kernel=function,
            is_user=True,
            has_side_effect=True,
            function=function,
            count=count,
            needed=needed,
        )
        return grad, f"py_func_grad[{label_of(function)}]"


def _check_ufunc(record: Record, function: Any, count: int) -> None:
    """A ufunc writes its result to an array that it is given beyond its inputs."""
    if isinstance(function, np.ufunc) and function.nin != count:
        raise FormatError(f"{record.place}: numpy.{function.__name__} takes {function.nin} inputs and gets {count}")


# ---- whether an op can be called like this ---------------------------------------------------------------------------
def _check_call(record: Record, opdef: OpDef, op: Operation) -> None:
    _check_attrs(record, opdef, op.attrs)
    if isinstance(opdef, (PyFuncDef, PyFuncGradDef)):
        if op.writes:
            raise FormatError(f"{record.at('writes')}: a py_func writes to none of its inputs")
        return
    _check_inputs(record, opdef, op.inputs)
    allowed = [i for i in opdef.written(op.attrs) if (value := op.inputs[i]) is not None and value.variable.persistable]
    if list(op.writes) not in ([], allowed):
        raise FormatError(f"{record.at('writes')}: op {op.type!r} writes to inputs {allowed}, got {list(op.writes)}")
    if len(op.outputs) < len(op.writes):
        raise FormatError(f"{record.at('outputs')}: there are fewer than inputs written")
    found = [value.desc for value in op.results]
    descs = [None if value is None else value.desc for value in op.inputs]
    expected = _inferred(record, opdef, descs, op.attrs)
    if len(found) != len(expected) or not all(map(_agrees, found, expected)):
        shown = ", ".join(map(str, expected)), ", ".join(map(str, found))
        raise SerialiseError(f"{record.place} (op {op.type!r}): its results are {shown[0]}, the file says {shown[1]}")


def _inferred(record: Record, opdef: OpDef, descs: Sequence[TensorDesc | None], attrs: Attrs) -> Sequence[TensorDesc]:
    assert opdef.infer is not None, f"op {opdef.name!r} has no inference"
    try:
        return opdef.infer(descs, attrs)  # type: ignore[arg-type]
    except Exception as error:  # inference trusts the types of attributes that are objects, and what builders checked
        raise SerialiseError(
            f"{record.place} (op {opdef.name!r}): it does not take these inputs and attributes: {error}"
        ) from error


def _agrees(found: TensorDesc, expected: TensorDesc) -> bool:
    fits = len(found.shape) == len(expected.shape) and all(map(is_same_size, found.shape, expected.shape))
    return fits and found.dtype == expected.dtype


def _check_inputs(record: Record, opdef: OpDef, inputs: Sequence[Value | None]) -> None:
    if opdef.is_variadic:
        if not inputs or None in inputs:
            raise FormatError(f"{record.at('inputs')}: op {opdef.name!r} takes one or more, all of them there")
        return
    if len(inputs) != len(opdef.inputs):
        raise FormatError(f"{record.at('inputs')}: op {opdef.name!r} takes {len(opdef.inputs)}, got {len(inputs)}")
    for value, arg in zip(inputs, opdef.inputs):
        if value is None and not arg.is_optional:
            raise FormatError(f"{record.at('inputs')}: op {opdef.name!r} needs its input {arg.name!r}")


def _check_attrs(record: Record, opdef: OpDef, attrs: Attrs) -> None:
    declared = {attr.name: attr for attr in opdef.attrs}
    for name in (*attrs, *declared):
        if name not in declared:
            said = unknown(f"{record.at('attrs')}: op {opdef.name!r} has no attribute", name, declared, has="it has")
            raise FormatError(str(said))
        if name not in attrs:
            raise FormatError(f"{record.at('attrs')}: op {opdef.name!r} needs its attribute {name!r}")
        if not _fits(declared[name], attrs[name]):
            raise FormatError(
                f"{record.at('attrs')}: attribute {name!r} of op {opdef.name!r} is {declared[name].type}, "
                f"got {ascii(attrs[name])[:60]}"
            )


def _fits(attr: AttrDef, value: Any) -> bool:
    if attr.type == "data_type":
        return isinstance(value, str) and value in DTYPES
    if attr.type in _TYPES:
        is_true = isinstance(value, bool)
        return isinstance(value, _TYPES[attr.type]) and is_true == (attr.type == "bool") and _is_small(value)
    if attr.type not in _ITEMS:
        return True
    return isinstance(value, tuple) and all(
        isinstance(item, _ITEMS[attr.type]) and not isinstance(item, bool) and _is_small(item) for item in value
    )


def _is_small(value: Any) -> bool:
    """Return whether a whole number fits into 64 bits, and a text into a line."""
    if isinstance(value, str):
        return len(value) <= 200 and re.search(r"[\x00-\x1f]", value) is None
    return not isinstance(value, int) or abs(value) < 1 << 63
