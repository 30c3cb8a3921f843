"""The native form: each kernel traced at every example, the traces merged into one function with branches.

What differs between examples becomes a branch; what they all took for granted becomes a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import Location
from opkit.export.model import ExportError, ExportKernel, ExportOp
from opkit.export.signature import names_of, parameters_of
from opkit.export.text.branches import Body, merged
from opkit.export.text.rounds import LoopWriter
from opkit.export.text.writer import Dialect
from opkit.export.trace.graph import Trace, UntraceableError
from opkit.export.trace.run import trace_kernel


class NotNativeError(ExportError):
    """A kernel has no native form; the message says why, ``where`` is the kernel's line."""


def native_bodies(ops: Sequence[ExportOp], dialect: Dialect) -> dict[str, str]:
    """Return {op type: text of the function ``_TYPE``} of each kernel of some ops.

    A forward kernel takes memory again where the op has a gradient of its own, since nobody differentiates its body.

    Raises:
        NotNativeError: a kernel cannot be traced, or needs more branches than anyone would read.
    """
    steps = {step.type for op in ops for wiring in op.wirings for step in wiring.steps}
    found: dict[str, str] = {}
    for op in ops:
        for kernel in op.kernels:
            reuses = kernel.name == op.forward.name and bool(op.wirings) and kernel.name not in steps
            found[kernel.name] = _function(op, kernel, dialect, reuses)
    return found


def _function(op: ExportOp, kernel: ExportKernel, dialect: Dialect, reuses: bool) -> str:
    try:
        lines = _lines(op, kernel, dialect, rolls=True, reuses=reuses)
    except UntraceableError as error:
        try:
            lines = _lines(op, kernel, dialect, rolls=False, reuses=reuses)
        except UntraceableError:
            raise _refused(kernel, error.reason, error.line) from error
    return (
        f"def _{kernel.name}({', '.join(parameters_of(kernel))}):\n" + "\n".join("    " + line for line in lines) + "\n"
    )


def _lines(op: ExportOp, kernel: ExportKernel, dialect: Dialect, *, rolls: bool, reuses: bool) -> list[str]:
    traced: list[Body] = []
    is_short = False
    for example in op.examples:
        for args, attrs in example.calls.get(kernel.name, ()):
            found = _traced(kernel, args, attrs, dialect, rolls, reuses)
            is_short = is_short or found is None
            traced += [found] if found is not None else []
    if not traced and is_short:
        raise UntraceableError("loops over a size or an attribute that is less than 2 in every example")
    return merged(traced, kernel.name)


def _refused(kernel: ExportKernel, reason: str, line: int) -> NotNativeError:
    where = kernel.where
    if where is not None and line:
        where = Location(where.file, line, function=where.function)
    return NotNativeError(f"kernel {kernel.name!r} has no native form: it {reason}", where=where)


def _traced(
    kernel: ExportKernel, args: Sequence[Any], attrs: Any, dialect: Dialect, rolls: bool, reuses: bool
) -> Body | None:
    """Return the body of a trace, None where a loop was too short for one."""
    assert kernel.op.kernel is not None
    names = [arg.name for arg in kernel.inputs]
    trace = trace_kernel(kernel.op.kernel, names, args, attrs, rolls=rolls)
    if trace.is_short:
        return None
    safe = names_of(kernel)
    writer = LoopWriter(trace, dialect, safe, reuses=reuses)
    body = tuple(writer.body())
    inner = trace.asks_rank or any(node.is_rank_read for node in writer.order if node.function != "input")
    present = [node for node in trace.inputs if node is not None and not isinstance(node.value, list)]
    ranks = frozenset(f"{safe[node.args[0]]}.ndim" for node in present if inner or node.is_rank_read)
    natural = _natural(trace, names, safe)
    return Body(body, {**natural, **_asked(trace, dialect, safe)}, ranks, frozenset(natural))


def _natural(trace: Trace, names: Sequence[str], safe: Any) -> dict[str, Any]:
    """Return what is true of the inputs themselves: which are there, how many, ranks and dtypes."""
    found: dict[str, Any] = {}
    for given, node in zip(names, trace.inputs):
        name = safe[given]
        found[f"{name} is None"] = node is None
        if node is None:
            continue
        if isinstance(node.value, list):
            found[f"len({name})"] = len(node.value)
            found[f"{name}[0].ndim"] = node.value[0].ndim if node.value else 0
            found[f"{name}[0].dtype"] = node.value[0].dtype.name if node.value else ""
            continue
        found[f"{name}.ndim"] = len(node.value.shape)
        found[f"{name}.dtype"] = node.dtype.name
    return found


def _asked(trace: Trace, dialect: Dialect, safe: Any) -> dict[str, Any]:
    """Return the conditions that the kernel asked for, as far as they concern its arguments."""
    found: dict[str, Any] = {}
    bare = LoopWriter(Trace(trace.inputs, ()), dialect, safe)
    bare.body()
    for guard in trace.guards:
        if guard.condition.kind == "dtype" and guard.condition.args[0].function != "input":
            continue  # follows from the inputs' dtypes
        try:
            text = bare.text(guard.condition)
        except KeyError:
            what = "branches on the shape or dtype of a value that it computes itself"
            raise UntraceableError(what, guard.line) from None
        if not text.isdigit():  # a size that follows from how the kernel made the array
            found[text] = guard.holds
    return found
