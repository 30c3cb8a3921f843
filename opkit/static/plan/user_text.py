"""User text: the lines of a plan's text that call one user's function; what it may return is ``user_calls``'s."""

from __future__ import annotations

from typing import Any

from opkit.ir import to_numpy
from opkit.ops.core.references import OF_LOCAL
from opkit.static.plan.builtin_text import protection
from opkit.static.plan.names import Names
from opkit.static.plan.user_calls import PlannedCall
from opkit.static.py_func import PyFuncGradDef, label_of


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
