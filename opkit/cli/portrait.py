"""Portraits: what a picture of an op shows, measured in a process of its own that may hang or die.

How it is drawn is the reporters'; verdicts are the checker's, and are based on more than this.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

import numpy as np

from opkit.checker import Report
from opkit.reporters.figures import Curve, Matrices

Portraits: TypeAlias = "dict[str, list[Curve | Matrices]]"
#: A case on which an op's gradient is wrong, and by input a value where it is.
Wrong: TypeAlias = "tuple[Any, dict[str, float]]"
#: Seconds for an op where the run has no limit: pictures are an addition.
_SECONDS = 60.0
_POINTS, _MOST = 241, 12
#: How far a difference may be off, in units of the square of the cube root of the dtype's resolution.
_ROOM = 40.0
#: At a kink: how far one of its slopes may be off, as a share of what is between them.
_ASIDE = 0.01
#: Slopes from one point to the next: where they jump, much of their change is between two of these.
_PARTS = 32


def portraits(words: Sequence[str], options: Any, wrong: Mapping[str, Wrong]) -> Portraits:
    """Measure the ops of some targets.

    Args:
        words: targets as on the command line.
        options: of the run.
        wrong: what curves and matrices of an op are to show.

    Returns:
        {op: its portraits}; ops that cannot be measured, or not in time, are left out.
    """
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(theirs, list(words), options, wrong), daemon=True)
    process.start()
    theirs.close()
    found: Portraits = {}
    try:
        while ours.poll(options.timeout or _SECONDS) and (item := ours.recv()) is not None:
            found[item[0]] = item[1]
    except (EOFError, OSError):  # it died
        pass
    process.kill()
    process.join()
    return found


def _measure(out: Connection, words: list[str], options: Any, wrong: Mapping[str, Wrong]) -> None:
    import os

    from opkit.verify.isolation.flight import Flight
    from opkit.verify.targets.load import load
    from opkit.verify.targets.target import resolve

    sink = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what kernels print is not for the report
        os.dup2(sink, stream)
    np.seterr(all="ignore")
    for target in resolve(words):
        for checkable in load(target, options, Flight()).made().checkables:
            try:
                out.send((checkable.name, list(_of(checkable, options.check, wrong.get(checkable.name, (None, {}))))))
            except Exception:  # user code of any kind runs here; the report says what is wrong with it
                continue
    out.send(None)


def _of(checkable: Any, options: Any, wrong: Wrong) -> Iterator[Curve | Matrices]:
    """Yield a curve of each input of an elementwise op, matrices of one case of any other."""
    from opkit.checker.collect import collect
    from opkit.checker.model.trial import Trial

    found = collect(checkable, options, Trial(checkable)).cases
    cases = [case for case in found if _floats(case.inputs) and not case.is_empty]
    if not cases or not checkable.has_gradient:
        return
    wide = [case for case in cases if all(v.dtype == np.float64 for v in _floats(case.inputs).values())] or cases
    several = [case for case in wide if max(v.size for v in _floats(case.inputs).values()) > 1] or wide
    plain = [case for case in several if case.regime in ("normal", "user")] or several
    smallest = min(plain, key=lambda case: sum(np.size(v) for v in case.inputs.values() if v is not None))
    failing, values = wrong
    if failing is not None:
        smallest = replace(smallest, attrs=failing.attrs)
    try:
        grids = {name: _grid(smallest, name, wide, values.get(name)) for name in _floats(smallest.inputs)}
        curves = [curve for name, x in grids.items() for curve in _curves(checkable, smallest, name, x)]
    except Exception:  # user code that takes no vectors
        curves = []
    yield from curves or _matrices(checkable, smallest if failing is None else failing)


def _floats(inputs: Any) -> dict[str, np.ndarray]:
    return {k: v for k, v in inputs.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size}


def _curves(checkable: Any, case: Any, name: str, x: np.ndarray) -> Iterator[Curve]:
    others = {}
    for key, value in case.inputs.items():
        if key != name:
            is_array = isinstance(value, np.ndarray) and value.shape == case.inputs[name].shape
            others[key] = np.full(x.shape, value.flat[0]) if is_array else value

    def forward(values: np.ndarray, rest: Any = others, function: Any = checkable.forward) -> list[np.ndarray]:
        given = {key: values if key == name else rest[key] for key in case.inputs}
        return [np.asarray(item) for item in function(given, case.attrs)]

    for at, rest in ((case.inputs[name], case.inputs), (x, others)):
        is_moved = np.arange(at.size).reshape(at.shape) % 3 == 1
        results, moved = forward(at, rest), forward(np.where(is_moved, at + 0.25, at).astype(at.dtype), rest)
        for y, other in zip(results, moved):
            if y.dtype.kind != "f" or y.shape != at.shape or not np.array_equal(y[~is_moved], other[~is_moved], True):
                return
    if np.array_equal(results[0], moved[0], True):
        return
    outputs, pullback = checkable.run({key: x if key == name else others[key] for key in case.inputs}, case.attrs)
    step = np.cbrt(np.finfo(x.dtype).eps) * np.maximum(np.abs(x), 1)
    between = np.linspace(x, np.append(x[1:], x[-1:]), _PARTS, dtype=x.dtype)
    meant = checkable.surrogate or checkable.forward
    base = forward(x, others, meant)
    up, down = ([forward(at + side, others, meant) for at in between] for side in (step, -step))
    plain = {key: value.flat[0] for key, value in others.items() if isinstance(value, np.ndarray)}
    plain |= {key: value for key, value in case.attrs.items() if isinstance(value, int | float)}
    said = ", ".join(f"{key} = {value:.3g}" for key, value in plain.items())
    for index, output in enumerate(checkable.outputs[: len(results)]):
        douts = [np.ones_like(y) if place == index else np.zeros_like(y) for place, y in enumerate(outputs)]
        given = pullback(douts, frozenset([name])).get(name)
        if given is None or np.shape(given) != x.shape:
            return
        sides = [(up[0][index] - base[index]) / step, (base[index] - down[0][index]) / step]
        slopes = np.array([(one[index] - other[index]) / (2 * step) for one, other in zip(up, down)])
        changes, measured = np.abs(np.diff(slopes, axis=0)), slopes[0]
        jumps = changes.max(0) > np.maximum(changes.sum(0) / 3, _ASIDE * np.nanmax(np.abs(measured)))
        is_wrong = _is_wrong(np.asarray(given), measured, x.dtype, np.minimum(*sides), np.maximum(*sides))
        yield Curve(
            name, output.name, x, results[index], np.asarray(given), measured, is_wrong & np.isfinite(base[index]),
            f" ({said})" if said else "", np.flatnonzero(jumps).tolist(), checkable.surrogate is not None,
        )  # fmt: skip


def wrong_at(report: Report) -> dict[str, Wrong]:
    """Return, of each op, the first case with wrong gradients, and values of inputs: of one finding the smallest."""
    found: dict[str, Wrong] = {}
    for op in report.ops:
        for check in op.checks:
            evidence = check.evidence
            if evidence is None or evidence.case is None or evidence.errors is None or check.input is None:
                continue
            values = np.ravel(np.asarray(evidence.case.inputs.get(check.input)))
            if values.dtype.kind == "f" and values.size == len(evidence.errors):
                errors = np.nan_to_num(evidence.errors, nan=np.inf, posinf=np.inf).max(axis=1)
                places = np.flatnonzero(errors >= errors.max() / 2)
                if places.size:
                    value = min(map(float, values[places]), key=abs)
                    found.setdefault(op.op, (evidence.case, {}))[1].setdefault(check.input, value)
    return found


def _grid(case: Any, name: str, cases: Sequence[Any], wrong: float | None) -> np.ndarray:
    """The domain that cases say, or between -6 and 6 and what is wrong, where a search found them; what is wrong."""
    values = np.concatenate([np.ravel(item.inputs[name]) for item in cases if name in _floats(item.inputs)])
    values = values[np.isfinite(values)]
    low, high = float(values.min(initial=0.0)), float(values.max(initial=1.0))
    if case.origin == "search":
        low, high = min(max(low, -6.0), 1.5 * (wrong or 0.0)), max(min(high, 6.0), 1.5 * (wrong or 0.0))
    else:
        low, high = float(values.min()), float(values.max())
    points = np.linspace(low, high if high > low else low + 1, _POINTS)
    return np.union1d(points, [] if wrong is None else [wrong]).astype(case.inputs[name].dtype)


def _is_wrong(given: np.ndarray, measured: np.ndarray, dtype: Any, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    room = _ROOM * np.cbrt(np.finfo(dtype).eps) ** 2 * np.maximum(1, np.abs(measured))
    aside = room + _ASIDE * (high - low)  # slopes to one side are off by the bend
    is_off = ~((given >= low - aside) & (given <= high + aside)) & (np.abs(given - measured) > room)
    return np.asarray((is_off | ~np.isfinite(given)) & np.isfinite(measured))


def _matrices(checkable: Any, case: Any) -> Iterator[Matrices]:
    inputs, attrs = dict(case.inputs), case.attrs
    outputs, pullback = checkable.run(inputs, attrs)
    outputs = [np.asarray(item) for item in outputs]
    floats = _floats(inputs)
    said = ", ".join(f"{key} of shape {list(value.shape)}" for key, value in floats.items())
    for index, (arg, y) in enumerate(zip(checkable.outputs, outputs)):
        if y.dtype.kind != "f" or not y.size:
            continue
        count = min(y.size, _MOST)
        given: dict[str, list[np.ndarray]] = {name: [] for name in floats}
        for place in range(count):
            douts = [np.zeros_like(item) for item in outputs]
            douts[index].reshape(-1)[place] = 1
            again = pullback if place == 0 else checkable.run(inputs, attrs)[1]
            gradients = again(douts, frozenset(floats))
            for name in floats:
                if (gradient := gradients.get(name)) is not None and np.shape(gradient) == floats[name].shape:
                    given[name].append(np.ravel(gradient)[:_MOST])
        for name, x in floats.items():
            if len(given[name]) == count:
                shown = np.array(given[name]).T
                sizes = f"{shown.shape[0]} x {count} of {x.size} x {y.size}"
                cut = f"; the first {sizes} elements" if shown.size < x.size * y.size else ""
                yield _pair(checkable, case, (name, arg.name, index), shown, f" ({said}{cut})", x)


def _pair(
    checkable: Any, case: Any, names: tuple[str, str, int], given: np.ndarray, said: str, x: np.ndarray
) -> Matrices:
    name, output, index = names
    rows = []
    for place in range(given.shape[0]):
        step = np.cbrt(np.finfo(x.dtype).eps) * max(abs(float(x.flat[place])), 1.0)
        results = []
        for side in (step, -step):
            moved = x.copy()
            moved.reshape(-1)[place] += side
            values = (checkable.surrogate or checkable.forward)({**case.inputs, name: moved}, case.attrs)
            results.append(np.ravel(values[index])[: given.shape[1]])
        rows.append((results[0] - results[1]) / (2 * step))
    expected = np.array(rows)
    is_wrong = _is_wrong(given, expected, x.dtype, expected, expected)
    return Matrices(name, output, expected, given, is_wrong, said, checkable.surrogate is not None)
