"""Rewrite: what becomes of an Operation in a copy of its program that is meant for inference.

Each op declares what it becomes; the copy itself is made by ``opkit.ir.program``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opkit.ir.value import Value

if TYPE_CHECKING:
    from opkit.ir.operation import Operation


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What takes an Operation's place.

    Args:
        same_as: index of the input that its first output is; the Operation is removed. -1: it is removed altogether.
        opdef: what takes its place, with one output, or None.
        inputs: Values that the new op reads.
        attrs: of the new op.
    """

    same_as: int = -1
    opdef: Any = None
    inputs: tuple[Value | None, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)


#: ``rule(operation)`` -> what takes its place, or None to keep it as it is.
ForInference = Callable[["Operation"], "Rewrite | None"]
