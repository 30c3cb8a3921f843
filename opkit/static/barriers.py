"""Where gradients stop: ops without a gradient that stand between what is differentiated and what it depends on.

How gradients are made is ``backward``'s; what a barrier means for a job is its framework's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from opkit.ir import Operation, Variable
from opkit.ops.core.opdef import OpDef


def barriers(goals: Sequence[Variable], sources: Collection[Variable]) -> list[Operation]:
    """Return the operations without a gradient through which a goal depends on a source, in the program's order.

    Only those with a floating-point result count: through integers nothing flows in any framework.

    Args:
        goals: what is differentiated.
        sources: with respect to what.
    """
    values = {source.value for source in sources}
    depends: set[Operation] = set()
    block = goals[0].block
    for op in block.ops:
        if any(value in values or value.producer in depends for value in op.inputs if value is not None):
            depends.add(op)
    reached: set[Operation] = set()
    stack = [goal.value for goal in goals]
    while stack:
        producer = stack.pop().producer
        if producer is not None and producer in depends and producer not in reached:
            reached.add(producer)
            stack.extend(value for value in producer.inputs if value is not None)
    return [op for op in block.ops if op in reached and _stops(op)]


def _stops(op: Operation) -> bool:
    opdef: OpDef = op.opdef  # type: ignore[assignment]
    return opdef.grad is None and any(value.dtype.kind == "f" for value in op.results)
