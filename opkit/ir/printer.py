"""A graph as text: its Variables, then its Operations, one per line.

Text only; deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opkit.ir.operation import describe_operation

if TYPE_CHECKING:
    from opkit.ir.block import Block


def program_text(blocks: Sequence[Block], *, with_sites: bool = False) -> str:
    """Return a program as text.

    Args:
        blocks: the program's blocks.
        with_sites: also give the user's line that added each op.
    """
    lines: list[str] = []
    for block in blocks:
        lines.append(f"{{ // block {block.idx}")
        for variable in block.vars.values():
            flag = "  // stop_gradient" if variable.stop_gradient else ""
            lines.append(f"    {variable!r}{flag}")
        lines.append("")
        for op in block.ops:
            site = f"  // {op.where}" if with_sites and op.where is not None else ""
            lines.append(f"    {describe_operation(op)}{site}")
        lines.append("}")
    return "\n".join(lines)
