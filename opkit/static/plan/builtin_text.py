"""Builtin text: the lines of a plan's text that run one built-in op.

Specialise: direct numpy calls for the most common built-in ops where sizes, dtypes and attributes are known.

They compute the same bits as the ops' kernels, without the kernels' own checks of shapes and attributes.

User text: the lines of a plan's text that call one user's function; what it may return is ``user_calls``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.ir import Operation, Value, to_numpy
from opkit.ops.core.references import OF_LOCAL
from opkit.ops.core.types import Function
from opkit.static.plan.layout import Layout
from opkit.static.plan.names import Names
from opkit.static.plan.quiet import quiet_kernel
from opkit.static.plan.sizes import Known
from opkit.static.plan.user_calls import PlannedCall
from opkit.static.py_func import PyFuncGradDef, label_of

#: function, what the text calls it, and its arguments as text
Call = tuple[Function, str, list[str]]


def specialised(op: Operation, arguments: list[str], known: Known) -> Call | None:
    """Return a direct call in place of an op's kernel, None where there is none.

    Args:
        op: a built-in op, within an errstate that ignores.
        arguments: names of its inputs.
        known: descriptions that are valid in the run.
    """
    make = _TABLE.get(op.type)
    return None if make is None else make(op, arguments, known)


def _matmul(op: Operation, arguments: list[str], known: Known) -> Call | None:
    first, second = op.inputs[:2]
    if op.attrs.get("alpha") != 1.0 or (len(op.inputs) > 2 and op.inputs[2] is not None):
        return None
    for value in (first, second):
        if value is None or known[value].ndim != 2 or known[value].dtype not in ("float32", "float64"):
            return None
    left = arguments[0] + (".T" if op.attrs["transpose_a"] else "")
    right = arguments[1] + (".T" if op.attrs["transpose_b"] else "")
    return np.matmul, "np_matmul", [left, right]


def _sum_like(op: Operation, arguments: list[str], known: Known) -> Call | None:
    given, wanted = known[op.inputs[0]], known[op.results[0]]  # type: ignore[index]
    lead = given.ndim - wanted.ndim
    is_plain = lead > 0 and given.shape[lead:] == wanted.shape and wanted.ndim > 0
    if op.attrs["axis"] or not is_plain or given.dtype not in ("float32", "float64"):
        return None
    return np.add.reduce, "add_reduce", [arguments[0], repr(tuple(range(lead)))]


_TABLE: dict[str, Callable[[Operation, list[str], Known], Call | None]] = {
    "matmul": _matmul,
    "reduce_sum_like": _sum_like,
}


#: Ops that give their first input where its shape is the wanted one already.
_SAME_IF_SAME_SHAPE = frozenset({"reduce_sum_like", "broadcast_like", "broadcast_to", "reshape"})


def kernel_of(op: Operation, layout: Layout) -> Any:
    """Return the kernel that a plan calls for a built-in op, None for a user's function."""
    opdef: Any = op.opdef
    if opdef.is_user:
        return None
    if len(op.results) == 1 and (op.results[0] in layout.buffer or op.results[0] in layout.takes):
        return opdef.kernel_out
    return opdef.kernel


def builtin_text(names: Names, op: Operation, arguments: list[str], *, is_quiet: bool, is_exact: bool) -> list[str]:
    """Return the lines that run a built-in op.

    Args:
        names: those of the chunk.
        op: the Operation.
        arguments: names of its inputs.
        is_quiet: an errstate surrounds the lines.
        is_exact: the descriptions are valid in the run.
    """
    layout = names.layout
    kernel = kernel_of(op, layout)
    if is_quiet:
        kernel = quiet_kernel(kernel)
    results = op.results
    special = specialised(op, arguments, names.known) if is_quiet and is_exact else None
    if special is not None:
        call, arguments = names.name_of(special[0], special[1]), special[2]
    else:
        call = names.name_of(kernel, op.type)
        arguments = arguments + [f"{name}={names.literal(value, name)}" for name, value in op.attrs.items()]
    if len(results) == 1 and results[0] in layout.takes:
        given = names.local(layout.takes[results[0]])
        name = names.local(results[0])
        text = f"{name} = {call}({', '.join([*arguments, f'out={given}'])})"
        return [text, *protection(op, name, results[0], layout)]
    if len(results) == 1 and results[0] in layout.buffer:
        name = names.local(results[0])
        out = f"{call}({', '.join([*arguments, f'out={name}'])})"
        return [f"{name} = b[{layout.buffer[results[0]]}]", out]
    text = f"{call}({', '.join(arguments)})"
    if op.type in _SAME_IF_SAME_SHAPE and is_exact and _keeps_shape(op, names.known):
        text = arguments[0]
    return _assigned(names, op, text)


def _assigned(names: Names, op: Operation, text: str) -> list[str]:
    """Return the lines that give the results of an expression their names."""
    results = op.results
    held = [names.local(value) for value in results]
    target = ""
    if held:
        declared = op.opdef.outputs  # type: ignore[attr-defined]
        is_tuple = len(held) > 1 or declared[0].is_variadic
        target = (", ".join(held) + ("," if len(held) == 1 else "") if is_tuple else held[0]) + " = "
    if len(held) == 1 and len(op.opdef.outputs) > 1:  # type: ignore[attr-defined]
        text = f"only({text})"
    is_scalar = len(held) == 1 and names.known[results[0]].ndim == 0
    lines = [target + (f"asarray({text})" if is_scalar else text)]
    for name, value in zip(held, results):
        if len(held) > 1 and names.known[value].ndim == 0:
            lines.append(f"{name} = asarray({name})")
        lines += protection(op, name, value, names.layout)
    return lines


def _keeps_shape(op: Operation, known: Known) -> bool:
    given, made = known[op.inputs[0]], known[op.results[0]]  # type: ignore[index]
    return given.is_static and given == made


def protection(op: Operation, name: str, value: Value, layout: Layout) -> list[str]:
    """Return lines that copy what shares memory with a changing variable, and make what users take read-only."""
    lines = []
    if value in layout.snapshots:
        lines.append(f"{name} = {name}.copy()")
    elif op.opdef.is_view and not op.opdef.is_user and value in layout.read_by_user:  # type: ignore[attr-defined]
        lines.append(f"{name} = {name}.view()")
    if value in layout.read_by_user:
        lines.append(f"{name}.setflags(False)")
    return lines


def user_text(names: Names, call: PlannedCall, arguments: list[str]) -> list[str]:
    """Return the lines that call a user's function and look at what it returned.

    Args:
        names: those of the chunk.
        call: the function's, with what it should return.
        arguments: names of the op's inputs.
    """
    op = call.op
    opdef: Any = op.opdef
    results = op.results
    function = getattr(opdef, "function", opdef.kernel)
    first = len(opdef.needed) if isinstance(opdef, PyFuncGradDef) else 0
    passed = arguments[first:] + [f"{name}={names.literal(value, name)}" for name, value in op.attrs.items()]
    text = f"{names.name_of(function, label_of(function))}({', '.join(passed)})"
    site = f"  # {op.site[0]}:{op.site[1]}" if op.site is not None else ""
    everything = "(" + "".join(f"{argument}, " for argument in arguments) + ")"
    settle = f"settle_{names.offset(call.position)}"
    is_single = len(results) == 1
    names.namespace[settle] = call.settle if is_single else call.unpack
    held = [names.local(value) for value in results]
    lines = []
    if is_single:
        lines.append(f"{held[0]} = {text}{site}")
        test = _test(names, held[0], call, arguments)
        lines.append(f"if {test}: {held[0]} = {settle}({held[0]}, {everything})")
    else:
        lines.append(f"r = {text}{site}")
        if results:
            lines.append(f"{', '.join(held)} = {settle}(r, {everything})")
        else:
            lines.append(f"if r is not None: {settle}(r, {everything})")
        lines.append("r = None")
    for name, value in zip(held, results):
        lines += protection(op, name, value, names.layout)
    return lines


def _test(names: Names, name: str, call: PlannedCall, arguments: list[str]) -> str:
    """Return the condition under which a result is not simply a fresh array of the expected kind."""
    op, expected = call.op, call.expected
    parts = [f"type({name}) is not ndarray"]
    value = op.results[0]
    if expected is not None and expected[0].is_static:
        parts.append(f"{name}.shape != {names.shape_name(expected[0].shape)}")
        parts.append(f"{name}.dtype is not {names.name_of(to_numpy(expected[0].dtype), expected[0].dtype)}")
    elif isinstance(op.opdef, PyFuncGradDef):
        parts.append(f"{name}.shape != {arguments[0]}.shape")
        parts.append(f"{name}.dtype != {arguments[0]}.dtype")
    elif expected is not None:
        return "True"  # the sizes that are known are compared
    elif not op.is_warned:
        parts.append(f"{name}.dtype is not {names.name_of(value.dtype, value.dtype.name)}")
        if -1 not in value.shape:
            parts.append(f"{name}.shape != {names.shape_name(value.shape)}")
    parts.append(f"{name}.base is not None")
    parts.append(f"getrefcount({name}) != {OF_LOCAL}")
    return " or ".join(parts)
