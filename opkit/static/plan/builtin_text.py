"""Builtin text: the lines of a plan's text that run one built-in op."""

from __future__ import annotations

from typing import Any

from opkit.ir import Operation, Value
from opkit.static.plan.layout import Layout
from opkit.static.plan.names import Names
from opkit.static.plan.quiet import quiet_kernel
from opkit.static.plan.sizes import Known
from opkit.static.plan.specialise import specialised

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
