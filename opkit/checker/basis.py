"""Basis: in one line, what a verdict is based on: inputs, their origins, options that varied, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker.model.case import Case, plain
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import leaves_of

#: Where cases came from, as the line says it: of one case, of several.
_ORIGINS = {
    "recorded": ("recorded input", "recorded inputs"),
    "given": ("input given", "inputs given"),
    "user": ("case drawn", "cases drawn"),
    "search": ("case found by search", "cases found by search"),
}
#: Longer lists of inputs, options and values are cut.
_MOST, _LONGEST = 6, 24


def rests_on(checkable: Checkable, cases: Sequence[Case], left_out: Sequence[str] = ()) -> str:
    """Return the line, "" where there is no case.

    Args:
        checkable: the op.
        cases: those that were checked.
        left_out: what was not done with them, for want of time.

    Example:
        >>> op = Checkable("f", (), (), lambda arrays, attrs: [])
        >>> rests_on(op, [Case({"x": np.array([-1.25, 3.5])}, {"k": 1.0}, origin="recorded")], ["linearity"])
        '1 recorded input (x in [-1.25, 3.5], float64), k only 1.0; left out for want of time: linearity'
    """
    if not cases:
        return ""
    counts = Counter(case.origin for case in cases)
    counted = " and ".join(
        f"{counts[origin]} {one if counts[origin] == 1 else many}"
        for origin, (one, many) in _ORIGINS.items()
        if counts[origin]
    )
    ranges = list(_ranges(cases, checkable.formats))
    inside = f" ({'; '.join(_cut(ranges))})" if ranges else ""
    tail = f"; left out for want of time: {', '.join(dict.fromkeys(left_out))}" if left_out else ""
    return ", ".join([f"{counted}{inside}", *_cut(list(_options(checkable, cases)))]) + tail


def _ranges(cases: Sequence[Case], formats: Mapping[str, str]) -> Iterator[str]:
    """Yield the range and the dtype of each input over all cases."""
    names = dict.fromkeys(leaf.name for case in cases for leaf, _ in leaves_of(case.inputs))
    for name in names:
        arrays = [(case, array) for case in cases for leaf, array in leaves_of(case.inputs) if leaf.name == name]
        dtypes = dict.fromkeys(
            (array.dtype.kind == "f" and (formats.get(name) or case.precision)) or array.dtype.name
            for case, array in arrays
        )
        values = [array for _, array in arrays if array.size and array.dtype.kind in "biuf"]
        if values:
            low, high = (float(side([side(array) for array in values])) for side in (np.min, np.max))
            yield f"{name} in [{low:.3g}, {high:.3g}], {' and '.join(dtypes)}"


def _options(checkable: Checkable, cases: Sequence[Case]) -> Iterator[str]:
    """Yield each option with its values, or, of many, with how many and from where to where."""
    for name in dict.fromkeys(
        [attr.name for attr in checkable.attrs] + [name for case in cases for name in case.attrs]
    ):
        values = {repr(value): value for case in cases if name in case.attrs for value in [plain(case.attrs[name])]}
        if name == "device_sub_tag" or not values:
            continue
        yield f"{name} {_several(values)}"


def _several(values: Mapping[str, Any]) -> str:
    """Return the values of an option, or, of many numbers, how many and from where to where."""
    texts = [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..." for text in values]
    if len(texts) == 1:
        return f"only {texts[0]}"
    if all(type(value) in (int, float) for value in values.values()):
        texts = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in sorted(values.values())]
        if len(texts) > _MOST:
            return f"with {len(texts)} values from {texts[0]} to {texts[-1]}"
    return f"in {{{', '.join(_cut(texts))}}}"


def _cut(items: list[str]) -> list[str]:
    return items if len(items) <= _MOST else [*items[:_MOST], f"{len(items) - _MOST} more"]
