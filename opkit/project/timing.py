"""The time per call of an op's kernels over sizes, beside an empty kernel and the machine's copy of as many bytes.

What was measured is data; nothing is printed or drawn here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from opkit.errors import OpkitError, UsageError
from opkit.listed import listed
from opkit.project.loading import LoadedOps, with_kernels
from opkit.project.user_op import UserOp
from opkit.record import record

SIZES = (4, 64, 1024, 16384, 262144, 1048576)
#: The columns of a row, besides the size.
WAYS = ("python", "cpp", "empty", "copy")
_SECONDS = 0.05


@record
class Row:
    """What calls of one size take.

    Args:
        elements: of the first input.
        bytes: of all inputs and outputs.
        seconds: {way: seconds per call}; a way that does not exist is left out.
    """

    elements: int
    bytes: int
    seconds: Mapping[str, float]


def timed(loaded: LoadedOps, op: str, cases: ModuleType | None) -> Iterator[Row]:
    """Measure an op type, size by size; the ways take turns, and the fastest of each counts.

    Args:
        loaded: its directory, with the C++ kernels where it has any.
        op: the op type.
        cases: the cases file: an op that takes no plain arrays of any size is measured on its first case alone.

    Raises:
        UsageError: nothing says what inputs the op takes.
    """
    has_cpp = loaded.cpp is not None and op in loaded.cpp.places
    ways = {"cpp": loaded.ops[op]} if has_cpp else {}
    if not has_cpp or loaded.kernel_module is not None:
        ways = {"python": with_kernels(loaded, None).ops[op], **ways}
    found = False
    for inputs, attrs in _inputs(loaded.ops[op], cases):
        calls = {way: _call(item, inputs, attrs) for way, item in ways.items() if item.kernel is not None}
        arrays = [np.asarray(item) for items in inputs.values() for item in items]
        outputs = listed(next(iter(calls.values()))())
        calls["empty"] = _call(_empty(next(iter(ways.values())), outputs), inputs, attrs)
        size = sum(item.nbytes for item in (*arrays, *outputs))
        source = np.zeros(max(size // 2, 1), np.uint8)
        calls["copy"] = partial(np.copyto, np.empty_like(source), source)
        found = True
        yield Row(arrays[0].size if arrays else 0, size, _measured(calls))
    if not found:
        raise UsageError(f"nothing says what inputs {op!r} takes", help="write a cases file with one case")


def _inputs(op: UserOp, cases: ModuleType | None) -> Iterator[tuple[dict[str, list[np.ndarray]], dict[str, Any]]]:
    """Yield inputs of every size that the op takes, else those of its first case."""
    compiled = op.compiled
    if compiled is None or op.trouble:
        raise UsageError(f"op {op.name!r} cannot be used: {op.trouble}")
    rng = np.random.default_rng(0)
    names = [spec.name for spec in compiled.inputs if not spec.is_optional]
    if cases is None:
        last, is_taken = "", False
        for size in SIZES:
            for shape in ((size,), (max(size // 64, 1), min(size, 64))):
                made = {name: [rng.uniform(0.1, 1, shape).astype("float32")] for name in names}
                try:
                    op.bind(made, {}).opdef.kernel(*[items[0] for items in made.values()])
                except (OpkitError, ValueError, IndexError, TypeError) as error:
                    last = str(error)
                    continue
                is_taken = True
                yield made, {}
                break
        if not is_taken:
            said = f"{op.name!r} takes no arrays that were tried; the last time it said: {last}"
            raise UsageError(said, help="correct that, or write a cases file with one case")
        return
    drawn = next(iter(cases.cases(rng)), None) if hasattr(cases, "cases") else None
    if drawn is not None:
        given = {name: value for name, value in drawn.items() if name in names}
        attrs = {name: value for name, value in drawn.items() if name in compiled.attrs}
        yield {name: value if isinstance(value, list) else [np.asarray(value)] for name, value in given.items()}, attrs


def _call(op: UserOp, inputs: Mapping[str, list[np.ndarray]], attrs: Mapping[str, Any]) -> Callable[[], Any]:
    bound = op.bind(inputs, attrs)
    kernel, values = bound.opdef.kernel, bound.inputs
    return lambda: kernel(*values)


def _empty(op: UserOp, outputs: list[np.ndarray]) -> UserOp:
    """Return the op with a Python kernel that does nothing: what a call costs by itself."""
    assert op.kernel is not None
    result = outputs[0] if len(outputs) == 1 else outputs
    return replace(op, kernel=replace(op.kernel, function=lambda args: result, takes_attrs=False))


def _measured(calls: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    counts = {}
    for way, call in calls.items():
        begun = time.perf_counter()
        call()
        counts[way] = max(1, min(20_000, int(_SECONDS / 5 / max(time.perf_counter() - begun, 1e-7))))
    for _ in range(5):
        for way, call in calls.items():
            begun = time.perf_counter()
            for _ in range(counts[way]):
                call()
            best[way] = min(best[way], (time.perf_counter() - begun) / counts[way])
    return best
