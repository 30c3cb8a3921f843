"""The listing: what was traced of an op's kernels, as text for ``--to graph``.

One line per operation, with shapes, dtypes and the kernel's lines of one example.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.model import ExportKernel, ExportOp
from opkit.export.trace.graph import Loop, Node, Scalar, Trace, UntraceableError, walk
from opkit.export.trace.run import trace_kernel


def listed(op: ExportOp) -> str:
    """Return the graphs of an op's kernels for its first example, or why one has none."""
    return "\n".join(_kernel(op, kernel) for kernel in op.kernels)


def _kernel(op: ExportOp, kernel: ExportKernel) -> str:
    args, attrs = next(example.calls[kernel.name][0] for example in op.examples if kernel.name in example.calls)
    assert kernel.op.kernel is not None
    try:
        trace = trace_kernel(kernel.op.kernel, [arg.name for arg in kernel.inputs], args, attrs)
    except UntraceableError as error:
        return f"{kernel.name}: not traceable, line {error.line}: it {error.reason}\n"
    return "\n".join([f"{kernel.name}:", *_lines(trace)]) + "\n"


def _lines(trace: Trace) -> list[str]:
    names: dict[int, str] = {}
    lines: list[str] = []

    def name(node: Node) -> str:
        if id(node) not in names:
            for item in walk((node.args, node.kwargs)):
                name(item)
            names[id(node)] = node.args[0] if node.function == "input" else f"%{len(names)}"
            kind = "" if isinstance(node.value, (tuple, list)) else f"{node.dtype.name}{list(np.shape(node.value))}"
            given = "" if node.function == "input" else ", ".join(show(item) for item in node.args)
            more = "".join(f", {key}={show(item)}" for key, item in node.kwargs.items())
            where = f"  # line {node.line}" if node.line else ""
            lines.append(f"  {names[id(node)]}: {kind} = {node.function}({given}{more}){where}")
        return names[id(node)]

    def show(value: Any) -> str:
        if isinstance(value, Node):
            return name(value)
        if isinstance(value, Loop):
            bounds = ", ".join(show(item) for item in value.bounds)
            body = "".join(
                f"\n      {item.function}({', '.join(short(part) for part in item.args)})" for item in value.body
            )
            return f"range({bounds}){body}\n   "
        if isinstance(value, Scalar):
            return f"{value.kind}({', '.join(show(item) for item in value.args)})"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(show(item) for item in value)}]"
        return repr(value)

    def short(value: Any) -> str:
        if isinstance(value, Node):
            return names.get(id(value), value.function)
        return show(value) if not walk(value) else "..."

    results = ", ".join(name(node) for node in trace.results)
    guards = [f"  guard {show(item.condition)} is {item.holds}  # line {item.line}" for item in trace.guards]
    return [*lines, *guards, f"  return {results}"]
