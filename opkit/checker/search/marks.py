"""Marks: values that mean something beside numbers, such as a label to ignore, or truth values that choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import Evaluator
from opkit.checker.search.scope import SearchScope
from opkit.checker.search.sweeps import carriers


def marked(search: SearchScope, shapes: Sequence[Case]) -> Iterator[Case]:
    """Numbers that an attribute, or the code, sets apart, like a label to ignore, at some places and at all."""
    marks, attempt = sorted({value for value in search.attrs.values() if type(value) is int}), search.trial.attempt
    for number, carrier in enumerate(carriers(shapes)[:2]):
        constants = [name for name, value in carrier.inputs.items() if _is_constant(search, name, value)]
        own = [(mark, [arg.name]) for arg in search.args if arg.name in constants for mark in arg.marks]
        for mark, names in (*((mark, constants) for mark in marks if constants), *own):
            for share in (0.5, 1.0):
                case, beside = (
                    _with_mark(search, carrier, names, one, share, 4000 + number) for one in (mark, mark + 1)
                )
                outcome = attempt(case)
                # A number beyond an array may be taken in silence, and says nothing.
                is_silent = search.has_open_places and outcome.is_accepted and outcome.gives_the_same(attempt(beside))
                if outcome.is_accepted and not is_silent:
                    yield case


def _with_mark(search: SearchScope, carrier: Case, names: Sequence[str], mark: int, share: float, seed: int) -> Case:
    """Return a case with a number at a share of the places of some inputs."""
    rng = search.rng(seed)
    inputs = dict(carrier.inputs)
    for name in names:
        values = inputs[name]
        if np.can_cast(np.min_scalar_type(mark), values.dtype):
            inputs[name] = np.where(rng.random(values.shape) < share, values.dtype.type(mark), values)
    return replace(carrier, inputs=inputs, regime="marked", seed=seed)


def _is_constant(search: SearchScope, name: str, value: Any) -> bool:
    """Return whether an input holds integers, or floats that take no gradient."""
    gradients = search.checkable.gradients
    is_without = gradients is not None and name not in gradients
    return isinstance(value, np.ndarray) and value.dtype.kind in ("iuf" if is_without else "iu")


def masks(search: SearchScope, shapes: Sequence[Case]) -> Iterator[Case]:
    """Truth values of which each row has both, that are all true, true in the last row, and all false.

    A batch without padding is as usual as any. Floats that take no gradient become truth values, too, where nothing but
    forward says what is meant.
    """
    for carrier in carriers(shapes)[:1] if not search.is_declared else ():
        for number, (name, value) in enumerate(carrier.inputs.items()):
            if not _may_choose(search, name, value):
                continue
            mixed = np.indices(value.shape).sum(axis=0) % 2 == number % 2
            last = mixed.copy()
            last[(-1,) * (value.ndim - 1)] = True
            for mask in (mixed, np.ones_like(mixed), last, np.zeros_like(mixed)):
                case = replace(carrier, inputs={**carrier.inputs, name: mask}, regime="mask", seed=5000 + number)
                if search.trial.attempt(case).is_accepted and (value.dtype.kind == "b" or _is_condition(search, case)):
                    yield case


def _is_condition(search: SearchScope, case: Case) -> bool:
    """Return whether backward answers for truth values in the place of floats: 0 and 1 may be ends of a domain."""
    ev = Evaluator(search.checkable, case)
    try:
        found = ev.prepare().gradients(ev.uneven()).values()
    except Exception:  # user code
        return False
    return all(value is None or np.isfinite(value).all() for value in found)


def _may_choose(search: SearchScope, name: str, value: Any) -> bool:
    """Return whether an input holds truth values in rows, or floats that may stand for some."""
    if not isinstance(value, np.ndarray) or not value.ndim or value.shape[-1] < 2:
        return False
    return value.dtype.kind == "b" or (value.dtype.kind == "f" and _is_constant(search, name, value))
