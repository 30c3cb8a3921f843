"""Attributes: alternative values around an op's defaults.

Values only; whether the op takes them is found out in search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Attr
from opkit.checker.model.thresholds import GUARD, MOST_MIXED, MOST_VALUES
from opkit.checker.search.extents import arrays_of
from opkit.checker.search.names import is_index_name

_MARK_WORDS = ("ignore", "ignored", "blank", "pad", "padding", "mask", "masked", "missing", "invalid", "skip")
#: Of these 0 is as good a value as others.
_DISTANCE_WORDS = (
    "pad",
    "padding",
    "left",
    "right",
    "top",
    "bottom",
    "before",
    "after",
    "offset",
    "shift",
    "start",
    "lag",
)
#: Rounds of an iteration, and how exact its end is: a gradient may suppose that the iteration has converged.
_ROUND_WORDS = ("iter", "iters", "niter", "maxiter", "iterations", "niterations")
_EXACT_WORDS = ("tol", "atol", "rtol", "xtol", "ftol", "tolerance", "threshold")
#: Exponents and orders of families of functions, with 1 as a limit that needs a formula of its own.
_ORDER_WORDS = ("alpha", "order", "exponent", "p", "q", "t", "t1", "t2")
_COUNT_WORDS = ("num", "count", "size", "length", "groups", "k", "n", "bins", "classes", "rows", "columns")
_AXIS_WORDS = ("axis", "axes", "dim", "dims")


def fits(value: Any, case: Case) -> bool:
    """Say whether an attribute's value is a choice, or a count that no size of the case is too small for."""
    if isinstance(value, (bool, str)):
        return True
    sizes = [size for array in arrays_of(case) for size in array.shape if size > 1]
    return isinstance(value, int) and 0 < value <= min(sizes, default=0)


def alternatives(attr: Attr, constants: Sequence[Any] = ()) -> list[Any]:
    """Return values to try beside an attribute's default, the most telling first.

    Args:
        attr: the declared attribute.
        constants: strings and numbers that occur in the kernels.
    """
    kind, default = attr.type, attr.default
    if kind == "bool" or isinstance(default, bool):
        found: list[Any] = [not default]
    elif kind in ("int32", "int64") or isinstance(default, int):
        found = _integers(attr.name, int(default), constants)
    elif kind in ("float", "double") or isinstance(default, float):
        is_exact = _has_word(attr.name, _EXACT_WORDS) and abs(default) < GUARD
        is_order = _has_word(attr.name, _ORDER_WORDS) and 1.0 < default < 2.0
        found = [default * 0.5, default * 0.1] if is_exact else _floats(float(default), is_order)
    elif kind == "string" or isinstance(default, str):
        found = [value for value in constants if isinstance(value, str)][:8]
    elif default is None and kind == "any":
        found = _instead_of_none(attr.name, constants)
    elif kind == "any" and isinstance(default, (list, tuple)):
        found = [type(default)(item) for item in _plain_lists(attr.name, list(default))]
    elif kind in ("list_int32", "list_int64"):
        found = _integer_lists(attr.name, list(default or ()))
    elif kind in ("list_float", "list_double"):
        found = _float_lists([float(item) for item in default or ()])
    else:
        found = []
    return [value for value in _unique([*attr.choices, *found]) if value != default or type(value) is not type(default)]


def _instead_of_none(name: str, constants: Sequence[Any]) -> list[Any]:
    """Return values for an option that may be left out and whose kind nothing tells."""
    words = [value for value in constants if isinstance(value, str)]
    if is_index_name(name) or _has_word(name, _COUNT_WORDS):
        return [0, 1, 2]
    return [0, -1, 1] if _is_axis(name) else [0.5, -0.5, 1, 2, 1.7, True, *words[:4]]


def _plain_lists(name: str, default: list[Any]) -> list[list[Any]]:
    if all(type(item) is int for item in default):
        return _integer_lists(name, default)
    if all(type(item) in (int, float) for item in default):
        return _float_lists([float(item) for item in default])
    return []


def pairwise(choices: Mapping[str, Sequence[Any]], most: int = MOST_MIXED) -> list[dict[str, Any]]:
    """Return settings in which every two values of two attributes meet, as far as that many settings allow.

    Args:
        choices: {attribute: its values}, the default first and the most telling ones after it.
        most: settings at most.
    """
    names = [name for name, values in choices.items() if len(values) > 1]
    kept = {name: list(choices[name])[:MOST_VALUES] for name in names}
    open_ = {
        (one, i, other, j): None
        for one, other in combinations(names, 2)
        for i in range(1, len(kept[one]))
        for j in range(1, len(kept[other]))
    }
    settings: list[dict[str, Any]] = []
    while open_ and len(settings) < most:
        one, i, other, j = next(iter(open_))
        chosen = {one: i, other: j}
        for name in names:  # the value that settles most of what is open, the default where none does
            if name not in chosen:
                counts = [_settled(open_, {**chosen, name: k}) for k in range(len(kept[name]))]
                chosen[name] = counts.index(max(counts))
        for key in [key for key in open_ if chosen[key[0]] == key[1] and chosen[key[2]] == key[3]]:
            del open_[key]
        settings.append({name: kept[name][k] for name, k in chosen.items()})
    return settings


def _settled(open_: Iterable[tuple[str, int, str, int]], chosen: Mapping[str, int]) -> int:
    return sum(chosen.get(one) == i and chosen.get(other) == j for one, i, other, j in open_)


def _unique(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(value == other and type(value) is type(other) for other in found):
            found.append(value)
    return found


def is_mark(name: str, value: Any) -> bool:
    """Say whether an attribute is a number that stands for something else among the integers of an input."""
    if type(value) is not int or _is_axis(name):
        return False
    return _has_word(name, _MARK_WORDS)


def _has_word(name: str, words: Sequence[str]) -> bool:
    return any(word in words for word in name.lower().split("_"))


def _is_axis(name: str) -> bool:
    return _has_word(name, _AXIS_WORDS)


def _integers(name: str, default: int, constants: Sequence[Any]) -> list[int]:
    if _is_axis(name):
        return [0, 1, -1, 2, -2, 3, -3]
    if "seed" in name.lower():
        return [0, default + 1, 123, 1]
    known = [value for value in constants if isinstance(value, int) and abs(value) <= 16]
    if default < 0:
        return [0, 1, default - 1]
    if default == 0:
        return [1, -1, 2, -2, *[value for value in known if value > 0][:3]]
    if _has_word(name, _ROUND_WORDS) and default > 1:
        return [default + 1, 2 * default]
    below = [default - 1] if default > 1 or _has_word(name, _DISTANCE_WORDS) else []
    return [default + 1, *below, 2 * default, default + 2, 7, *[value for value in known if value > 0][:3]]


def _floats(default: float, is_order: bool = False) -> list[float]:
    if default == 0.0:
        return [0.5, 1.0, 0.3, 1.7]
    if is_order:  # it must stay above 1, where its formula has a pole
        return [(1.0 + default) / 2, default * 2.0, default * 1.3, 0.9 + 0.1 * default, 3.0]
    near = [default * 0.5, default * 2.0, default * 1.3, default * 0.1]
    if abs(default) < GUARD:  # there to keep a divisor from 0: other sizes do not depend on such an attribute
        return near
    sign = 1.0 if default > 0 else -1.0  # a scale, a slope or a bound keeps its meaning within its sign
    return [*near, sign * 1.0, sign * 1.7, sign * 0.3]


def _float_lists(default: list[float]) -> list[list[float]]:
    if not default:
        return [[0.5], [0.5, -1.5], [1.0, 0.5, 0.25]]
    longer = [[*default, 0.7], [*default, 0.7, -0.4]]
    shorter = [default[:-1]] if len(default) > 1 else []
    return [[item * factor for item in default] for factor in (0.5, 2.0)] + longer + shorter + [default[::-1]]


def _integer_lists(name: str, default: list[int]) -> list[list[int]]:
    if len(default) > 1 and sorted(default) == list(range(len(default))):  # an order of axes
        return [default[::-1], [0, 1], [1, 0], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [3, 1, 0, 2], [1, 3, 2, 0]]
    if _is_axis(name) or not default:
        return [[0], [1], [-1], [0, 1], [-1, 0], [1, 2], [2, 0, 1], [1, 0]]
    size = len(default)
    bumped = [[*default[:axis], default[axis] + 1, *default[axis + 1 :]] for axis in range(size)]
    return [[item + 1 for item in default], *bumped, [1] * size, [2] * size, [3] * size, [0] * size]
