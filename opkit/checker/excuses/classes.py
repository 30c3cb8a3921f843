"""Classes: narrower values that a gradient may be written for, such as labels of 0 and 1 or symmetric matrices.

A class is a map into it. Names say nothing: each class is tried on every input that it may be meant for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker.excuses.compare_again import (
    Bring,
    OutOfTimeError,
    Pull,
    again,
    brought,
    holds,
    meant,
    said_of,
    shown,
    telling,
    through,
)
from opkit.checker.excuses.other_shapes import right_shapes
from opkit.checker.excuses.ties import is_flat, mixed
from opkit.checker.model.agreement import same
from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import Evaluator, frozen, input_of, is_float
from opkit.checker.model.numbers import is_square, largest
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import MOST_LARGE, NONZERO, OWN_SIZE, PLENTY, ROW_SUM, SLIGHT
from opkit.checker.search.kinds import elements, generalised, setting_of, shapes_of
from opkit.checker.search.unserved import described
from opkit.record import record


@record
class Narrow:
    """A class of values.

    Args:
        text: what is said of an input in it.
        bring: the map into it.
        pull: the adjoint of the map's derivative.
        axes: that an array must have.
        whole: a map to a value of it that is as usual as any, for it is only seldom drawn.
    """

    text: str
    bring: Bring
    pull: Pull = lambda array, gradient: gradient
    axes: int = 0
    whole: Bring | None = None


def _shares(array: ndarray) -> ndarray:
    sizes = np.abs(array) + NONZERO
    found: ndarray = sizes / sizes.sum(axis=-1, keepdims=True)
    return found


def _symmetric(array: ndarray) -> ndarray:
    found: ndarray = (array + np.swapaxes(array, -1, -2)) / 2
    return found


def _summed(total: float, array: ndarray) -> ndarray:
    found: ndarray = array - array.mean(axis=-1, keepdims=True) + total / array.shape[-1]
    return found


def _spread(array: ndarray) -> ndarray:
    """Return numbers between 0 and 1, as far apart as can be, in the order of an array's."""
    places = array.ravel().argsort().argsort().reshape(array.shape)
    found: ndarray = (places + 0.5) / array.size
    return found


def _length(array: ndarray) -> ndarray:
    found: ndarray = np.maximum(np.linalg.norm(array, axis=-1, keepdims=True), NONZERO)
    return found


def _unit_pull(array: ndarray, gradient: ndarray) -> ndarray:
    unit = array / _length(array)
    found: ndarray = (gradient - unit * (unit * gradient).sum(axis=-1, keepdims=True)) / _length(array)
    return found


#: Of inputs without a gradient, the wider before those that they hold.
_CONSTANTS = (
    Narrow("{} is one number", lambda array: np.asarray(array.mean())),
    Narrow("the values of {} lie between 0 and 1", _spread),
    Narrow("{} sums to 1 over its last axis", _shares, axes=1),
    Narrow("the values of {} are 0 and 1", lambda array: mixed(array > array.mean()), whole=np.ones_like),
    Narrow("the values of {} are -1 and 1", lambda array: np.where(array > array.mean(), 1.0, -1.0)),
    Narrow(
        "{} has a single 1 along its last axis", lambda array: np.eye(array.shape[-1])[array.argmax(axis=-1)], axes=1
    ),
)
#: Of inputs that are square.
_SQUARE = (
    Narrow("{} is symmetric", _symmetric, lambda array, gradient: _symmetric(gradient), axes=2),
    Narrow("{} is lower triangular", np.tril, lambda array, gradient: np.tril(gradient), axes=2),
    Narrow("{} is upper triangular", np.triu, lambda array, gradient: np.triu(gradient), axes=2),
)


def narrower(session: CheckSession, failed: Mapping[int, CheckResult], *, is_declared: bool = False) -> dict[int, str]:
    """Excuse what holds on a narrower class of an input without a gradient, or of one that forward takes square only.

    Args:
        session: of an op whose inputs were found.
        failed: by index.
        is_declared: whether to look at classes alone that forward refuses to leave: steps across its tolerance are none
            of its domain.
    """
    cases, leaves = telling(session, failed), _leaves(session)
    wrong = {input_of(item.input or "") for item in failed.values()}
    options = {setting_of(case)[0] for case in shown(failed)}
    for name, kind in _tried(session, cases, shown(failed)):
        fitting = [case for case in cases if is_float(case.inputs[name]) and _fits(kind, case.inputs[name])]
        if kind.whole is not None:  # of a row of one element both is all
            fitting = [case for case in fitting if case.inputs[name].shape[-1] > 1] or fitting
        if is_declared and not all(_refuses(session, case, name, kind) for case in fitting):
            continue
        op = through(session.checkable, name, kind.bring, kind.pull)
        narrow = [brought(case, name, kind.bring) for case in fitting]
        if not options <= {setting_of(case)[0] for case in narrow}:
            continue  # what is right with other options excuses nothing
        results = again(session, op, narrow, failed)
        is_meant = is_declared or name not in leaves or _is_meant(session, kind, name, narrow, failed)
        if kind.whole is not None and holds(results):
            found = again(session, session.checkable, [brought(case, name, kind.whole) for case in fitting], failed)
            if any(item.status is Status.FAIL and not is_flat(item) for item in found):
                return {}
        # Where in most cases no input that fails elsewhere has a gradient, all is right.
        if holds(results) and is_meant and 2 * _slopes(session, narrow, wrong) > len(narrow):
            where = f"where {kind.text.format(name)}"
            refused = f"{where}, as forward wants, the gradient holds; what it refuses does not count"
            said = said_of(failed, results, refused if is_declared else meant(where))
            return said if narrow[0].shapes == fitting[0].shapes else said | _at_shapes(session, failed, said)
    return {}


def _at_shapes(session: CheckSession, failed: Mapping[int, CheckResult], said: Mapping[int, str]) -> dict[int, str]:
    """Return the shapes at which each failure that is excused holds whatever the values are, where there are any.

    A class of other shapes than the input's excuses what is wrong for the shapes alone: these say more.
    """
    with suppress(OutOfTimeError):
        every = ((index, right_shapes(session, failed[index])) for index in said)
        return {index: meant(f"for {described(case)}") for index, cases in every for case in cases}
    return {}


def declared(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Return what all declared values share where the gradient is right along it, for each failure.

    Args:
        session: of an op with declared inputs.
        failed: by index.
    """
    op, said = session.checkable, []
    for name in dict.fromkeys(leaf.name for ev in session.evaluators for leaf in ev.leaves) if failed else ():
        arrays = [case.inputs[name] for case in session.cases]
        kind = next((one for one in _shareable(arrays) if all(_is_in(one, array) for array in arrays)), None)
        if kind is not None:
            op = through(op, name, kind.bring, kind.pull)
            said.append(kind.text.format(name))
    results = again(session, op, session.cases, failed) if said else []
    if not holds(results) or any(item.status is Status.UNDECIDED for item in results):
        return _bits(session, failed)
    why = f"in all inputs given {' and '.join(said)}: along that the gradient holds, and the rest does not count"
    return said_of(failed, results, why)


def _bits(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Return what is said of failures of inputs that are 0 or 1 in all that is declared, and get zeros for it.

    No direction stays within 0 and 1, so nothing there tells a gradient.
    """
    said: dict[int, str] = {}
    for index, item in failed.items():
        name = input_of(item.input or "")
        values = [case.inputs.get(name) for case in session.cases]
        are_bits = all(isinstance(one, ndarray) and set(np.unique(one)) == {0, 1} for one in values)
        if name and values and are_bits and not _slopes(session, session.cases, {name}):
            said[index] = f"all values given of {name} are 0 and 1, and its gradient of 0 does not count"
    return said


def _tried(session: CheckSession, cases: Sequence[Case], failing: Sequence[Case]) -> Iterator[tuple[str, Narrow]]:
    """Yield the classes that inputs may be meant in which are floats where something fails."""
    leaves = _leaves(session)
    for name in [arg.name for arg in session.checkable.inputs]:
        if not cases or not all(is_float(case.inputs[name]) for case in failing or cases):
            continue
        yield from ((name, kind) for kind in (_CONSTANTS if name not in leaves else ()))
        arrays = [case.inputs[name] for case in cases if is_float(case.inputs[name])]
        if all(map(is_square, arrays)) and not _takes_wider(session, cases[0], name):
            yield from ((name, kind) for kind in _SQUARE)


def _leaves(session: CheckSession) -> set[str]:
    """Return the inputs for which backward gives a gradient."""
    return {leaf.name for ev in session.evaluators for leaf in ev.leaves}


def _is_meant(
    session: CheckSession, kind: Narrow, name: str, cases: Sequence[Case], failed: Mapping[int, CheckResult]
) -> bool:
    """Return whether a class of square matrices may be meant, not only happen to hide what is wrong.

    Along symmetric matrices a transposed gradient is as good as the gradient. So the gradient has to be right element
    by element there, or be of the class itself, or forward has to read no more of a matrix than a triangle.
    """

    def is_of_class(case: Case) -> bool:
        found = _gradients(session, case, {name})
        return bool(found) and all(_is_in(kind, value / (largest(value) or 1.0)) for value in found)

    def reads_half(case: Case) -> bool:
        try:
            whole, *parts = (
                session.checkable.forward(brought(case, name, part).inputs, case.attrs)
                for part in (np.array, np.tril, np.triu)
            )
        except Exception:  # user code
            return False
        return any(same(whole, part) for part in parts)

    return (
        all(map(is_of_class, cases))
        or all(map(reads_half, cases))
        or holds(again(session, session.checkable, cases, failed))
    )


def _takes_wider(session: CheckSession, case: Case, name: str) -> bool:
    """Return whether forward takes a matrix that is not square, with other inputs that fit it."""
    size = max(OWN_SIZE, 1 + max(case.lengths))
    few = (shapes for shapes in generalised(shapes_of(case), size) if elements(shapes) <= MOST_LARGE)
    for shapes in islice(few, PLENTY):
        resized: Any = zip(case.inputs.items(), shapes)
        inputs: Any = {
            key: array if array is None else frozen(np.resize(array, shape)) for (key, array), shape in resized
        }
        if not is_square(inputs[name]) and session.trial.probe(replace(case, inputs=inputs)).is_accepted:
            return True
    return False


def _refuses(session: CheckSession, case: Case, name: str, kind: Narrow) -> bool:
    """Return whether forward refuses a value of the case that is a little outside of a class."""
    array = case.inputs[name]
    noise = session.rng(array.size).uniform(-SLIGHT, SLIGHT, np.shape(array))
    other = array + (largest(array) or 1.0) * (noise - kind.bring(noise))
    return not session.trial.probe(replace(case, inputs={**case.inputs, name: frozen(other)})).is_accepted


def _fits(kind: Narrow, array: ndarray) -> bool:
    """Return whether a class may be asked of an array: it has several elements, and more than one along the axes."""
    return (
        array.ndim >= kind.axes and array.size > 1 and all(size > 1 for size in array.shape[array.ndim - kind.axes :])
    )


def _slopes(session: CheckSession, cases: Sequence[Case], names: set[str]) -> int:
    """Return in how many cases backward gives one of some inputs a gradient other than zero."""
    return sum(any(map(np.any, _gradients(session, case, names))) for case in cases)


def _gradients(session: CheckSession, case: Case, names: set[str]) -> list[ndarray]:
    """Return the gradients that backward gives some inputs, of all of them for the name ""; none where it raises."""
    try:
        ev = Evaluator(session.checkable, case).prepare()
        found = ev.gradients(ev.uneven())
    except Exception:  # user code: what it raises is reported by the checks
        return []
    return [value for leaf, value in found.items() if value is not None and names & {"", leaf.name}]


# --- what declared values share
def _shareable(arrays: Sequence[ndarray]) -> tuple[Narrow, ...]:
    """Return the classes that generic values may be in: two at least that differ, of more than a few numbers each."""
    if not all(isinstance(array, ndarray) and is_float(array) and array.ndim for array in arrays):
        return ()
    generic = {array.tobytes(): array for array in arrays if len(np.unique(array)) > 2}
    if len(generic) < 2:
        return ()
    total = float(next(iter(generic.values())).sum(axis=-1).flat[0])
    rows = (
        Narrow(
            f"the rows of {{}} sum to {total:.6g}",
            partial(_summed, total),
            lambda array, gradient: _summed(0.0, gradient),
            axes=1,
        ),
        Narrow("the rows of {} have the length 1", lambda array: array / _length(array), _unit_pull, axes=1),
    )
    return (*_SQUARE, *rows) if all(map(is_square, arrays)) else rows


def _is_in(kind: Narrow, array: ndarray) -> bool:
    is_in = array.ndim >= kind.axes and (
        not array.size or np.allclose(kind.bring(array), array, rtol=ROW_SUM, atol=ROW_SUM)
    )
    return bool(is_in)
