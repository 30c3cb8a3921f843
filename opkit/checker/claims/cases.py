"""Cases to cut: those that the search found, grown until every axis can be cut unevenly, and some of whole numbers.

A grown case keeps which sizes are equal, and draws its values from those that were found, so that it stays in the op's
domain; the definition and the kernel must take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.case import Case, first_of_each
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import is_float, leaves_of, mapped
from opkit.checker.model.options import Options
from opkit.checker.model.thresholds import FEW, MANY, MOST_LARGE, MOVES, PLENTY, PROOF_MODERATE, PROOF_WHOLE_SCALE, SOME
from opkit.checker.model.trial import Trial

#: Sizes that the sizes of a case become, in order; those of one case grow with them.
_TARGETS = ((5, 7, 9, 11, 13), (7, 10, 13, 17, 19), (6, 9, 14, 15, 21), (8, 12, 16, 20, 24))
#: What each size becomes where no such row is taken: the sizes of some ops stand in a fixed relation.
_RULES: tuple[Callable[[int], int], ...] = (lambda n: 3 * n, lambda n: 2 * n + 1, lambda n: 4 * n, lambda n: n + 5)

_Map = Mapping[int, int]
_Key = tuple[int, ...]


def proof_cases(checkable: Checkable, found: Sequence[Case], options: Options, trial: Trial) -> list[Case]:
    """Return the cases on which claims are proved, the smallest first."""
    usable = [case for case in found if _has_elements(case) and _elements(case) <= MOST_LARGE]
    usable = [case for case in usable if _is_moderate(case)] or usable
    if not usable:
        larger = sorted((case for case in found if _has_elements(case)), key=_elements)
        usable = larger[:FEW] or list(_filled(checkable, found, options, trial))
    kept = _distinct(usable)
    made = [*kept[:MANY]]
    grown: list[Case] = []
    for number, case in enumerate(_representatives(usable)):
        grown += islice(_grown(checkable, case, trial, options.seed + number), 2)
    made += grown
    made += islice(_whole_numbers(grown or made, trial), FEW)
    return sorted(made, key=lambda case: (_elements(case), case.regime != "normal"))


def _filled(checkable: Checkable, found: Sequence[Case], options: Options, trial: Trial) -> Iterator[Case]:
    """Yield cases made of empty ones, where only these were found: their sizes become those that the op mentions."""
    sizes = sorted({size for size in checkable.sizes if size > 1} | {row[0] for row in _TARGETS})
    for case in found:
        seen: set[_Key] = set()
        for size in sizes:
            yield from _first(case, [{0: size}, {0: 2 * size}], trial, options.seed, seen)


def _elements(case: Case) -> int:
    return sum(array.size for array in case.arrays)


def _is_moderate(case: Case) -> bool:
    """Return whether partial sums of the case's floats stay far from infinity, and their products too."""
    arrays = case.floats
    return all(float(np.abs(array).max()) < float(np.finfo(array.dtype).max) ** PROOF_MODERATE for array in arrays)


def _has_elements(case: Case) -> bool:
    arrays = case.arrays
    return bool(arrays) and all(array.size for array in arrays)


def _key(case: Case) -> object:
    return tuple((leaf, array.shape, array.dtype.name) for leaf, array in leaves_of(case.inputs)), _attrs(case)


def _attrs(case: Case) -> object:
    return tuple(sorted((name, repr(value)) for name, value in case.attrs.items()))


def _ranks(case: Case) -> object:
    """Return what distinguishes cases for a signature: ranks, which axes have one element, attributes, dtypes."""
    return (
        tuple(
            (leaf, tuple(size == 1 for size in array.shape), array.dtype.name) for leaf, array in leaves_of(case.inputs)
        ),
        _attrs(case),
    )


def _distinct(cases: Sequence[Case]) -> list[Case]:
    """Return one case of each shapes and attributes, those of further ranks and attributes first."""
    unlike, _ = first_of_each(cases, _key)
    first, later = first_of_each(unlike, _ranks)
    return first + later


def _representatives(cases: Sequence[Case]) -> list[Case]:
    """Return a case for each combination of ranks and attributes: the one whose sizes differ most."""
    best: dict[object, Case] = {}
    for case in cases:
        key = _ranks(case)
        if key not in best or len(_sizes(case)) > len(_sizes(best[key])):
            best[key] = case
    return list(best.values())[:PLENTY]


def _sizes(case: Case) -> list[int]:
    """Return the different sizes above 1, sorted; an axis of one element may be one that is spread over others."""
    return [size for size in case.lengths if size > 1]


def _grown(checkable: Checkable, case: Case, trial: Trial, seed: int) -> Iterator[Case]:
    """Yield the case with other sizes, as far as the op takes them."""
    sizes = _sizes(case)
    seen: set[_Key] = set()
    if 1 in case.lengths:
        opened = [{1: row[-1], **dict(zip(sizes, row))} for row in _TARGETS[:2]]
        yield from _first(case, opened, trial, seed, seen)
    wide = [dict(zip(sizes, row)) for row in _TARGETS] if len(sizes) <= len(_TARGETS[0]) else []
    rules = [{size: rule(size) for size in sizes} for rule in _RULES]
    single = [{size: rule(size)} for size in sizes for rule in _RULES[:2]]
    hints = [value for value in checkable.constants if type(value) is int and 2 < value <= PLENTY]
    near = [{size: 2 * value + 1} for value in hints[:SOME] for size in sizes]
    for changes in (near, *([change] for change in (*wide, *rules, *single))):
        yield from _first(case, changes, trial, seed, seen)


def _first(case: Case, changes: Sequence[_Map], trial: Trial, seed: int, seen: set[_Key]) -> Iterator[Case]:
    """Yield the case with the first of these changes of sizes that the op takes."""
    for change in changes:
        before = (0, 1, *_sizes(case))
        key = tuple(change.get(size, size) for size in before)
        if key in seen or key == before:
            continue
        seen.add(key)
        for fill in (_drawn, _chosen, _tiled):
            made = _resized(case, change, fill, np.random.default_rng([seed, *key]))
            if _elements(made) > MOST_LARGE:
                break
            if (outcome := trial.probe(made)).is_accepted and outcome.keeps_promise():
                yield made
                return


_Fill = Callable[[ndarray, tuple[int, ...], Generator], ndarray]


def _resized(case: Case, change: _Map, fill: _Fill, rng: Generator) -> Case:
    """Return the case with sizes changed."""

    def filled(item: Any) -> Any:
        return fill(item, tuple(change.get(size, size) for size in item.shape), rng)

    return replace(case, inputs=mapped(case.inputs, filled), regime="grown")


def _drawn(array: ndarray, shape: tuple[int, ...], rng: Generator) -> ndarray:
    """Fill with values that were found, floats moved a little towards 0; with any where there were none."""
    if not array.size:
        return np.asarray(rng.standard_normal(shape)).astype(array.dtype)
    values = rng.choice(array.ravel(), shape)
    if is_float(array):
        return np.asarray(values * rng.uniform(*MOVES, shape)).astype(array.dtype)
    return np.asarray(values)


def _chosen(array: ndarray, shape: tuple[int, ...], rng: Generator) -> ndarray:
    """Fill by drawing whole rows, columns ... of what was found."""
    return _taken(array, shape, lambda before, after: rng.integers(0, before, after))


def _tiled(array: ndarray, shape: tuple[int, ...], rng: Generator) -> ndarray:
    """Fill by repeating what was found in its order."""
    return _taken(array, shape, lambda before, after: np.arange(after) % before)


def _taken(array: ndarray, shape: tuple[int, ...], pick: Callable[[int, int], ndarray]) -> ndarray:
    if not array.size:
        return np.ones(shape, array.dtype)
    for axis, size in enumerate(shape):
        array = np.take(array, pick(array.shape[axis], size), axis=axis)
    return array


def _whole_numbers(cases: Sequence[Case], trial: Trial) -> Iterator[Case]:
    """Yield cases with whole numbers in place of floats, where the op takes them and keeps its promises."""
    for case in cases:
        if not any(is_float(array) for array in case.arrays):
            continue
        for dtype in ("int64", "int32"):
            made = replace(case, inputs=mapped(case.inputs, partial(_rounded, dtype=dtype)))
            outcome = trial.probe(made)
            if outcome.is_accepted and outcome.keeps_promise() and _keeps_dtypes(outcome):
                yield replace(made, regime="whole numbers")
                break


def _rounded(value: Any, dtype: str) -> Any:
    return np.rint(PROOF_WHOLE_SCALE * value).astype(dtype) if is_float(value) else value


def _keeps_dtypes(outcome: Any) -> bool:
    promised = outcome.promised or ()
    return all(desc.dtype == np.asarray(item).dtype.name for desc, item in zip(promised, outcome.outputs))
