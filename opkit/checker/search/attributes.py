"""Attributes: alternative values around an op's defaults.

Values only; whether the op takes them is found out in search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Attr
from opkit.checker.model.thresholds import FEW, MANY, SMALL_OPTION, SOME


def fits(value: Any, case: Case) -> bool:
    """Return whether an attribute's value is a choice, or a count that no size of the case is too small for."""
    if isinstance(value, (bool, str)):
        return True
    return isinstance(value, int) and 0 < value <= min((size for size in case.lengths if size > 1), default=0)


def alternatives(attr: Attr, constants: Sequence[Any] = ()) -> list[Any]:
    """Return values to try beside an attribute's default, the most telling first.

    Args:
        attr: the declared attribute.
        constants: strings and numbers that occur in the kernels.
    """
    kind, default = attr.type, attr.default
    words = [value for value in constants if isinstance(value, str)][:SOME]
    found: list[Any] = []
    if isinstance(default, bool):
        found = [not default]
    elif isinstance(default, int):
        found = _integers(default, constants)
    elif isinstance(default, float):
        found = [*_floats(default), *((2, 3) if attr.is_required and kind == "any" else ())]
    elif default is None and kind == "any":
        found = [0.5, -0.5, 1, 2, 0, -1, 1.7, True, *words[:FEW]]
    elif kind.startswith(("list_int", "list_float", "list_double")) or (
        kind == "any" and isinstance(default, (list, tuple))
    ):
        lists = _lists(list(default or ()), kind in ("list_float", "list_double"))
        found = [tuple(item) if isinstance(default, tuple) else item for item in lists]
    elif kind == "string" or isinstance(default, str):
        found = words
    return [value for value in unique([*attr.choices, *found]) if value != default or type(value) is not type(default)]


def unlike(attr: Attr) -> list[Any]:
    """Return numbers of another sign than an attribute's default, and 0: its default declares neither.

    0, 1 and -1 as whole numbers are axes and counts, whose neighbours are alternatives.
    """
    default = attr.default
    if type(default) is int and abs(default) > 1:
        return [-1 if default > 0 else 1, 0]
    if type(default) is float and not 0 < abs(default) < SMALL_OPTION:
        return [-default / 2, 0.0] if default else [-0.5]
    return []


def _lists(default: list[Any], is_float: bool) -> list[list[Any]]:
    if not is_float and all(type(item) is int for item in default):
        return _integer_lists(default)
    if all(type(item) in (int, float) for item in default):
        return _float_lists([float(item) for item in default])
    return []


def pairwise(choices: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return settings in which every two values of two attributes meet, as far as a few settings allow.

    Args:
        choices: {attribute: its values}, the default first and the most telling ones after it.
    """
    names = [name for name, values in choices.items() if len(values) > 1]
    kept = {name: list(choices[name])[:SOME] for name in names}
    open_ = {
        (one, i, other, j): None
        for one, other in combinations(names, 2)
        for i in range(1, len(kept[one]))
        for j in range(1, len(kept[other]))
    }
    settings: list[dict[str, Any]] = []
    while open_ and len(settings) < MANY:
        one, i, other, j = next(iter(open_))
        chosen = {one: i, other: j}
        for name in names:  # the value that settles most of what is open, the default where none does
            if name not in chosen:
                tried = [{**chosen, name: k} for k in range(len(kept[name]))]
                counts = [sum((at.get(a), at.get(b)) == (i, j) for a, i, b, j in open_) for at in tried]
                chosen[name] = counts.index(max(counts))
        for key in [key for key in open_ if chosen[key[0]] == key[1] and chosen[key[2]] == key[3]]:
            del open_[key]
        settings.append({name: kept[name][k] for name, k in chosen.items()})
    return settings


def unique(values: Iterable[Any]) -> list[Any]:
    """Return values without those that are there already, of the same class: 1 is neither True nor 1.0."""
    found: list[Any] = []
    for value in values:
        if not any(value == other and type(value) is type(other) for other in found):
            found.append(value)
    return found


def _integers(default: int, constants: Sequence[Any]) -> list[int]:
    known = [value for value in constants if isinstance(value, int) and 0 < value <= 16][:3]
    if default < 0:
        return [0, 1, default - 1, -2, 2]
    if default == 0:
        return [1, -1, 2, -2, *known]
    return [default + 1, *([default - 1] if default > 1 else [0, -1]), 2 * default, default + 2, 7, *known]


def _floats(default: float) -> list[float]:
    if default == 0.0:
        return [0.5, 1.0, 0.3, 1.7]
    near = [default * 0.5, default * 2.0, default * 1.3, default * 0.1]
    if abs(default) < SMALL_OPTION:  # an epsilon: sizes far from it are another op
        return near
    if 1.0 < default < 2.0:  # 1 may be a pole, or the limit of a family, so both sides of it are tried from near
        near = [(1.0 + default) / 2, *near, 0.9 + 0.1 * default]
    sign = 1.0 if default > 0 else -1.0  # a scale, a slope or a bound keeps its meaning within its sign
    return [*near, sign * 1.0, sign * 1.7, sign * 0.3]


def _float_lists(default: list[float]) -> list[list[float]]:
    if not default:
        return [[0.5], [0.5, -1.5], [1.0, 0.5, 0.25]]
    longer = [[*default, 0.7], [*default, 0.7, -0.4]]
    shorter = [default[:-1]] if len(default) > 1 else []
    return [[item * factor for item in default] for factor in (0.5, 2.0)] + longer + shorter + [default[::-1]]


def _integer_lists(default: list[int]) -> list[list[int]]:
    if len(default) > 1 and sorted(default) == list(range(len(default))):  # an order of axes
        return [default[::-1], [0, 1], [1, 0], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [3, 1, 0, 2], [1, 3, 2, 0]]
    if len(default) < 2 and (not default or default[0] in (0, -1)):
        return [[0], [1], [-1], [0, 1], [-1, 0], [1, 2], [2, 0, 1], [1, 0]]
    size = len(default)
    bumped = [[*default[:axis], default[axis] + 1, *default[axis + 1 :]] for axis in range(size)]
    return [[item + 1 for item in default], *bumped, [1] * size, [2] * size, [3] * size, [0] * size]
