"""Surrogates: a gradient that stands in for forward's own, which is a step or the identity, as in straight-through.

Seen in what forward does on every case; whether it is meant is for SURROGATE to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from opkit.checker.model.evaluate import Evaluator, InputLeaf, frozen
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession, is_empty
from opkit.checker.model.thresholds import LEAST_SCALE, LOOKS, RATIO, REPEAT_ULPS


def surrogates(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse the wrong gradients of each output of which forward is a step, or the identity, in a failing input.

    Args:
        session: of the check.
        failed: by index.
    """
    found: dict[str, str] = {}
    for leaf in dict.fromkeys(leaf for ev in session.evaluators for leaf in ev.leaves):
        if any(item.input == str(leaf) for item in failed.values()):
            found |= {output: what for output, what in _standing_in(session, leaf) if output not in found}
    excused: dict[int, str] = {}
    for index, item in failed.items():
        what = found.get(item.output) if item.output else next(iter(found.values()), None)
        if what is not None:
            excused[index] = f"{what}; {_line(session, failed)}"
    return excused


def _line(session: CheckSession, failed: Mapping[int, CheckResult]) -> str:
    """Return the words that show the line by which it is declared."""
    _, is_in_file, name = session.checkable.name.rpartition("::")
    suffix = f"_{name}" if is_in_file and name.isidentifier() else ""
    codes = sorted({item.code for item in failed.values()})
    if any(code in ("GC110", "GC111") for code in codes):  # no function has a derivative that is not linear
        return f"if that is meant, say so: ALLOW{suffix} = {dict.fromkeys(codes, 'why')}"
    return (
        "if backward is meant to stand in for it, name the function whose derivative it is: "
        f'SURROGATE{suffix} = {{"forward": function}}'
    )


def _standing_in(session: CheckSession, leaf: InputLeaf) -> Iterator[tuple[str, str]]:
    """Yield the outputs of which forward is a step or the identity in an input, with the words for it."""
    evaluators = [ev for ev in session.ordinary() if leaf in ev.leaves and not is_empty(ev.case)]
    for slot in evaluators[0].slots if evaluators else ():
        output = session.output_name(slot)
        if all(_is_same(ev, leaf, slot) for ev in evaluators):
            yield output, f"forward returns {leaf} as it is"
        elif all(_is_flat(ev, leaf, slot) for ev in evaluators):
            yield output, f"forward is a step of {leaf}, of derivative 0"


def _is_same(ev: Evaluator, leaf: InputLeaf, slot: int) -> bool:
    """Say whether an output is the input, here and at other values that forward takes."""
    array = ev.array(leaf)
    moved = (array, -array, RATIO * array, array + _scale(array))
    results = [(item, _result(ev, leaf, item, slot)) for item in moved]
    return all(
        result is None or (result.shape == item.shape and _distance(result, item) <= 0) for item, result in results
    )


def _is_flat(ev: Evaluator, leaf: InputLeaf, slot: int) -> bool:
    """Say whether small moves leave an output as it is, but for the few that meet a jump."""
    array = ev.array(leaf)
    rng = np.random.default_rng(LOOKS)
    scale, step, flat = _scale(array), float(np.sqrt(np.finfo(array.dtype).eps)), 0
    for _ in range(LOOKS):
        point = array + LEAST_SCALE * scale * rng.uniform(-1, 1, array.shape)
        near = point + step * scale * rng.choice([-1.0, 1.0], array.shape)
        first, second = (_result(ev, leaf, item, slot) for item in (point, near))
        flat += first is not None and second is not None and _distance(first, second) <= 0
    return 2 * flat > LOOKS


def _scale(array: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) or 1.0


def _result(ev: Evaluator, leaf: InputLeaf, array: np.ndarray, slot: int) -> np.ndarray | None:
    """Return an output for an input changed, None where forward does not take it."""
    try:
        found: Any = ev.forward(ev.replaced(leaf, frozen(array.astype(ev.array(leaf).dtype))))[slot]
    except Exception:  # user code
        return None
    return np.array(found)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return by how much two arrays differ beyond rounding."""
    if one.shape != other.shape or not one.size:
        return float("inf") if one.shape != other.shape else 0.0
    rounding = REPEAT_ULPS * float(np.finfo(one.dtype).eps) * float(np.abs(one).max())
    return float(np.abs(one - other).max()) - rounding
