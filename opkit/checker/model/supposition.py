"""Supposition: values that a gradient may be written for although nothing declares them, such as labels of 0 and 1.

Data only; whether a gradient holds under one is found out by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opkit.checker.model.case import Case

#: What says that a derivative is wrong.
DERIVATIVES = frozenset(("GC101", "GC102", "GC103", "GC104", "GC105", "GC106"))


@dataclass(frozen=True, slots=True)
class Supposition:
    """One way in which inputs may be meant.

    Args:
        text: what holds then, such as "the values of labels are 0 and 1".
        change: brings the inputs of a case there; None where the case has no such input.
        input: whose wrong gradient it does not excuse; "" where it excuses all.
        is_fair: whether forward, at a case, is one for which that may be meant.
        excuses: the codes of the failures that it makes undecided.
    """

    text: str
    change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    input: str
    is_fair: Callable[[Case], bool] = lambda case: True
    excuses: frozenset[str] = DERIVATIVES
