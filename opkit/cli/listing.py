"""The list that ``opkit ops`` shows."""

from __future__ import annotations

import json
from collections.abc import Sequence

import opkit
from opkit.cli.console import put
from opkit.cli.tables import arg_texts, op_table
from opkit.ops import BUILTIN, OpDef


def builtin_ops(pattern: str = "") -> list[OpDef]:
    """Return the built-in ops whose name holds a text, sorted by name."""
    found = [BUILTIN.get(name) for name in sorted(BUILTIN) if pattern in name]
    return [op for op in found if isinstance(op, OpDef)]


def show_ops(ops: Sequence[OpDef], form: str) -> None:
    """Print ops as a table or as JSON."""
    if form == "json":
        every = [
            {
                "op": op.name,
                "inputs": [arg.name for arg in op.inputs],
                "outputs": [arg.name for arg in op.outputs],
                "attrs": {attr.name: {"type": attr.type, "default": repr(attr.default)} for attr in op.attrs},
                "gradient": op.grad is not None,
            }
            for op in ops
        ]
        put(json.dumps({"schema": 1, "opkit": opkit.__version__, "ops": every}, indent=2))
    elif ops:
        rows = [
            (
                op.name,
                arg_texts(op.inputs),
                arg_texts(op.outputs),
                "\n".join(f"{attr.name}: {attr.type}" for attr in op.attrs) or "-",
                "yes" if op.grad is not None else "-",
            )
            for op in ops
        ]
        put(op_table(rows, ("op", "inputs", "outputs", "attributes", "gradient")))
