"""Causes: which findings follow from which; what follows is folded under its cause, so that one mistake is one finding.

Sorts what the checks found and adds hints; nothing is run, and no status changes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy import ndarray

from opkit.checker.model.pattern import INCOMPLETE
from opkit.checker.model.report import CheckResult, Status
from opkit.errors import did_you_mean, nearest

_NUMBERS = frozenset(
    {
        *("GC101", "GC102", "GC103", "GC104", "GC105", "GC106", "GC110", "GC111", "GC112", "GC113"),
        *("GC121", "GC125", "GC131", "GC150", "GC152", "GC170", "GC171"),
    }
)
_EDGES = frozenset({"GC160", "GC161"})
#: Cause -> what follows from it, the first causes first: a write, a wrong contract or an exception explains numbers.
_FOLLOWS: dict[str, frozenset[str]] = {
    "GC198": frozenset({"GC170"}),
    "GC122": frozenset({"GC101", "GC120", "GC122", "GC125", "GC130", "GC150", "GC180", "GC181"}),
    "GC123": frozenset({"GC101", "GC121", "GC123", "GC125", "GC131", "GC150", "GC181"}),
    "GC180": frozenset({"GC180"}),
    "GC208": _NUMBERS | _EDGES | {"GC120", "GC130", "GC201", "GC202", "GC203", "GC204", "GC207"},
    "GC144": _NUMBERS | _EDGES | {"GC130", "GC140", "GC141", "GC142", "GC143", "GC144", "GC145", "GC148", "GC181"},
    "GC140": _NUMBERS | _EDGES | {"GC130", "GC140", "GC142", "GC145", "GC148", "GC181"},
    "GC181": _NUMBERS | _EDGES | {"GC142", "GC148", "GC181"},
    "GC141": _EDGES | {"GC143", "GC148"},  # the incoming gradient has the result's dtype
    "GC143": _EDGES | {"GC148"},
    "GC142": _NUMBERS | _EDGES | {"GC148"},
    "GC145": _NUMBERS,
    **dict.fromkeys(("GC120", "GC121", "GC125"), frozenset({"GC101"})),
    "GC112": frozenset({"GC101", "GC110", "GC111", "GC201"}),  # no slope follows from what a term without dy adds to
    "GC105": frozenset({"GC201"}),  # 0 times infinity is nan, too
    "GC101": frozenset({"GC131", "GC161"}),
}
#: Writes and changing results, and what follows from one only where it says so.
_STOPS, _OWN = frozenset({"GC120", "GC121", "GC122", "GC123", "GC125"}), frozenset({"GC101", "GC180", "GC181"})
#: Causes that concern one input: findings about another input stand for themselves.
_OF_AN_INPUT = frozenset({"GC142", "GC145", "GC112", "GC105", "GC101", "GC208"})


def folded(results: list[CheckResult]) -> list[CheckResult]:
    """Return the results with consequences under their causes; the order and the statuses stay."""
    open_ = [item for item in results if item.is_finding]
    under: dict[int, list[CheckResult]] = {}
    taken: set[int] = set()
    for code, follows in _FOLLOWS.items():
        for cause in (item for item in open_ if item.code == code):
            if id(cause) in taken:
                continue
            mine = [
                item
                for item in (*open_, *(one for one in results if one.status is Status.UNDECIDED))
                if item is not cause and id(item) not in taken and _is_of(item, cause, follows)
            ]
            taken.update(id(item) for item in mine)
            under[id(cause)] = mine
    return [
        replace(item, consequences=tuple(under.get(id(item), ())), hint=item.hint or hint_of(item))
        if item.is_finding
        else item
        for item in results
        if id(item) not in taken
    ]


def _is_of(item: CheckResult, cause: CheckResult, follows: frozenset[str]) -> bool:
    if cause.code in ("GC141", "GC143") and item.code in _EDGES:
        return (item.expected, item.actual) == (cause.expected, cause.actual)
    if item.status is Status.UNDECIDED and not item.is_stopped:  # the same derivative, wrong at other points too
        is_raised_too = item.code in _EDGES and item.message.startswith(cause.message)
        return is_raised_too or (item.code, item.input, item.output) == (cause.code, cause.input, cause.output)
    if item.code not in follows or (cause.code in _STOPS and item.code in _OWN and not item.is_stopped):
        return False
    if (cause.code, item.code) == ("GC208", "GC101") and _shapes(cause) != _shapes(item):
        return False
    if (cause.code, item.code) == ("GC101", "GC131"):  # which of several assignments stays depends on the layout
        return cause.evidence is not None and INCOMPLETE in cause.evidence.pattern and _repeats_index(cause)
    if (cause.code, item.code) == ("GC105", "GC201") and item.actual is None:  # it is a number
        return False
    if cause.code == "GC141" and item.code != "GC143":
        return (item.expected, item.actual) == (cause.expected, cause.actual)
    return cause.code not in _OF_AN_INPUT or None in (item.input, cause.input) or item.input == cause.input


def _shapes(item: CheckResult) -> object:
    """Return the shapes of the inputs that a finding is based on, None for none."""
    case = item.evidence.case if item.evidence is not None else None
    return None if case is None else case.shapes


#: What a finding suggests by its code, what it gave, its pattern and its message, the first that fits.
_HINTS: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"^GC145|NoneType|returned None": "a return may be missing, or there is a None among what is returned",
    r"values to unpack.*got 0": "nothing was there: a backward gets what forward kept with ctx.save_for_backward",
    r"^GC181.*tuple index out of range": (
        "ctx.saved_tensors holds what forward kept with ctx.save_for_backward, and ctx.needs_input_grad has an entry "
        "for each argument of the call, which may leave some out"
    ),
    r"bwd rule must produce.*PyTreeDef\(\*\)": (
        "a rule returns a tuple with one gradient per argument, also of one: return (g,)"
    ),
    r"^GC181.*missing \d+ required positional": (
        "compare what backward takes with what it gets; JAX's defvjp takes forward's rule first, then backward's"
    ),
    "failed to produce known values": (
        "a rule for jvp takes the primals first, then their tangents, and gives the results, then theirs"
    ),
    "(not enough|too many) values to unpack": (
        "compare what is unpacked with the kernel's inputs, or with what the last ctx.save_for_backward kept"
    ),
    r"module '([\w.]+)' has no attribute '(\w+)'": (
        lambda found: did_you_mean(nearest(found[2], dir(sys.modules.get(found[1])), 1))
    ),
    "object has no attribute 'saved_tensor'": did_you_mean(["saved_tensors"]),
    "object has no attribute 'saved_tensors'": did_you_mean(["saved_tensor"]),
    "^GC181.*takes 1 positional argument but": (
        "the first parameter of backward is ctx, and the incoming gradients follow"
    ),
    "^GC122": (
        "copy it first; a function outside an op directory may declare what it overwrites on purpose: "
        'INPLACE = ("NAME",)'
    ),
    "could not be broadcast": "a reduction without keepdims=True loses the axis that the next operation lines up with",
    "^GC112": "a gradient is a sum of terms with dy as a factor: one of them has none",
}


def hint_of(item: CheckResult) -> str:
    """Return what a finding suggests, "" where it suggests nothing."""
    pattern = item.evidence.pattern if item.evidence is not None else ""
    text = f"{item.code} {item.actual} [{pattern}] {item.message}"
    for words, hint in _HINTS.items():
        if found := re.search(words, text, re.DOTALL):
            return hint if isinstance(hint, str) else hint(found)
    if item.code in ("GC140", "GC142", "GC148", "GC160", "GC161"):
        return _of_shapes(item)
    if INCOMPLETE in item.message and _repeats_index(item):
        return (
            "an index occurs several times: np.add.at (torch: index_add_, JAX: .at[i].add) adds its contributions up, "
            "an assignment keeps one of them"
        )
    return ""


def _repeats_index(item: CheckResult) -> bool:
    """Return whether a finding is based on inputs of which one holds indices that repeat."""
    case = item.evidence.case if item.evidence is not None else None
    arrays = [] if case is None else case.arrays
    return any(
        array.dtype.kind in "iu" and array.ndim and len(np.unique(array)) < array.size
        for array in arrays
        if isinstance(array, ndarray)
    )


def _of_shapes(item: CheckResult) -> str:
    expected, actual = item.expected, item.actual
    if not isinstance(expected, (list, tuple)) or not isinstance(actual, (list, tuple)):
        return ""
    if len(actual) < len(expected) and [size for size in expected if size != 1] == [
        size for size in actual if size != 1
    ]:
        return "a reduction without keepdims=True loses its axis"
    if not expected:
        return "a 0-d input has a 0-d gradient: np.atleast_1d, x[:] and reshape(-1) give it an axis"
    padded = [1] * (len(actual) - len(expected)) + list(expected)
    if item.code == "GC140":
        return "args is the tuple of all inputs: (x,) = args unpacks a single one" if padded == list(actual) else ""
    if len(padded) == len(actual) and all(want in (1, size) for want, size in zip(padded, actual)):
        return "the input is broadcast in forward: its gradient is the sum over the broadcast axes"
    return ""
