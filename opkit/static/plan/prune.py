"""Prune: the Operations that the fetches and the side effects need, in program order.

An input is read for its shape only where that shape is not known; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from opkit.ir import Operation, Value


def has_effect(op: Operation) -> bool:
    """Return whether an Operation must run even where nothing reads what it computes."""
    opdef: Any = op.opdef
    if opdef.has_side_effect or op.writes:
        return True
    return any(value.variable.persistable for value in op.outputs)


def prune(
    ops: Sequence[Operation], fetched: Iterable[Value], is_known: Callable[[Value], bool] = lambda value: False
) -> list[Operation]:
    """Return the Operations that are needed.

    Args:
        ops: in program order.
        fetched: the Values that are fetched.
        is_known: says whether a Value's shape is known, so that reading its shape does not need the Value.
    """
    needed: set[Value] = set(fetched)
    kept = []
    for op in reversed(ops):
        if not has_effect(op) and not any(value in needed for value in op.outputs):
            continue
        kept.append(op)
        idle = shape_only(op)
        for index, value in enumerate(op.inputs):
            if value is not None and not (index in idle and is_known(value)):
                needed.add(value)
    kept.reverse()
    return kept


_NONE: Collection[int] = frozenset()
_shape_only: dict[int, tuple[Any, Collection[int]]] = {}


def shape_only(op: Operation) -> Collection[int]:
    """Return the indices of the inputs that an Operation reads for their shape and dtype alone."""
    declared = op.opdef.inputs  # type: ignore[attr-defined]
    found = _shape_only.get(id(declared))
    if found is None or found[0] is not declared:
        if len(_shape_only) > 4096:
            _shape_only.clear()
        indices = frozenset(i for i, arg in enumerate(declared) if arg.is_shape_only) or _NONE
        found = _shape_only[id(declared)] = (declared, indices)
    return found[1]
