"""Collect: the cases of an op, from its cases file, a recorded run, or the search.

Validates what users give; the search itself is in search.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from opkit.checker.model.case import FORMER, Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.codes import CODES, NAMED
from opkit.checker.model.copies import option_copied
from opkit.checker.model.evaluate import Evaluator, frozen, is_float, leaves_of, mapped, narrows, snapshot
from opkit.checker.model.options import Options
from opkit.checker.model.raised import is_write, raised_at, words_of
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import cast_case
from opkit.checker.model.thresholds import COARSER, FINER, MAGNITUDES, SEED
from opkit.checker.model.trial import Answer, Attempt, Trial
from opkit.checker.model.types import ArrayMap
from opkit.checker.search.fatal import FatalCallError
from opkit.checker.search.hill_climb import reached_by
from opkit.checker.search.pipeline import Collected, search
from opkit.errors import KernelError, did_you_mean, unknown


def collect(checkable: Checkable, options: Options, trial: Trial) -> Collected:
    """Return the cases to check an op on."""
    known = [arg.name for arg in checkable.inputs]
    for name in options.shapes:
        if name not in known:
            said = unknown("a shape is given for", name, known, tail=f", but the inputs are {', '.join(known)}")
            return Collected(findings=[CheckResult.of(NAMED, Status.ERROR, str(said))])
    if checkable.recorded and checkable.cases is None:
        return _given(checkable, trial, list(checkable.recorded))
    if checkable.cases is not None:
        found = Collected()
        if options.shapes and checkable.cases_where is not None:
            found.notes.append("the shapes given were not used: the cases define the op's domain")
        given = list(_from_user(checkable, options, found))
        if any(item.status is Status.ERROR for item in found.findings):
            return found
        if not given:
            found.findings.append(_result("GC183", Status.ERROR, "the cases file yields no case", checkable))
            return found
        taken = _given(checkable, trial, [*checkable.recorded, *given])
        taken.notes += found.notes
        return taken
    return _searched(checkable, options, trial)


def _result(
    code: str,
    status: Status,
    message: str,
    checkable: Checkable,
    case: Case | None = None,
    error: Exception | None = None,
) -> CheckResult:
    """Make a result that shows its case, if any, and the line at which an error was raised."""
    where = raised_at(error, checkable.cases_where if code == "GC183" else checkable.forward_where)
    return CheckResult.of(CODES[code], status, message, case, where=where)


# --- the user's cases
class _Malformed(Exception):  # noqa: N818
    """What a cases function gave is no case: all that is wrong with it."""


def malformed(checkable: Checkable) -> Sequence[CheckResult]:
    """Return what is wrong with the cases of a cases file, where there is one."""
    found = Collected()
    if checkable.cases is not None:
        list(_from_user(checkable, Options(), found))
    return found.findings


def _from_user(checkable: Checkable, options: Options, found: Collected) -> Iterator[Case]:
    """Yield the user's cases; what several of them are mistaken in is one finding."""
    assert checkable.cases is not None
    number, raised, told = -1, None, set[str]()
    try:
        drawn = checkable.cases(np.random.default_rng(options.seed))
        for number, given in enumerate(islice(drawn, options.max_cases)):
            try:
                case = _user_case(checkable, given, number, options.seed)
            except _Malformed as error:
                said = [item for item in error.args if item not in told]
                told.update(said)
                found.findings += [_result("GC183", Status.ERROR, f"case {number} {item}", checkable) for item in said]
            else:
                yield case
        if number + 1 == options.max_cases:
            found.notes.append(f"no more than {options.max_cases} cases are drawn of the cases function")
        return
    except MemoryError as error:  # the function's own, or that of copying what it gave
        message = f"case {number + 1} does not fit into memory: {error}; give smaller arrays, or raise --memory"
    except Exception as error:  # user code
        message, raised = f"the cases function raised {words_of(error)}", error
    found.findings.append(_result("GC183", Status.ERROR, message, checkable, error=raised))


def _user_case(checkable: Checkable, given: Any, number: int, seed: int) -> Case:
    """Return what a cases function gave as a case, copied: it may fill one array again and again.

    Raises:
        _Malformed: it is no case.
    """
    inputs: dict[str, Any] = {arg.name: None for arg in checkable.inputs}
    lists = {arg.name for arg in checkable.inputs if arg.is_variadic}
    attrs = checkable.default_attrs
    if not isinstance(given, Mapping):
        raise _Malformed(f"is a {type(given).__name__}; a case is a dict of inputs and attributes")
    try:
        values = option_copied(dict(given))
    except RecursionError:
        raise _Malformed(
            "holds lists, tuples or dicts in one another too deep to be copied; give arrays, or options "
            "that are nested less deep"
        ) from None
    needed = [arg.name for arg in checkable.inputs if not arg.is_optional]
    strange: list[str] = []
    for name, value in values.items():
        if name in inputs and value is not None:
            is_list = name in lists and isinstance(value, (list, tuple))
            try:
                inputs[name] = [np.asarray(item) for item in value] if is_list else np.asarray(value)
            except ValueError as error:
                strange.append(f"gives the input {name!r} what is no array: {words_of(error)}")
        elif name in attrs:
            attrs[name] = value.item() if isinstance(value, np.generic) else value
        elif name not in inputs and name != "op":
            tail = ", which is neither an input nor an attribute"
            meant = did_you_mean([item for item in needed if item not in values][:1])
            strange.append(str(unknown("names", name, [*inputs, *attrs], tail=tail, otherwise=meant)))
    words = [name for name, value in inputs.items() if isinstance(value, np.ndarray) and value.dtype.kind in "US"]
    strange += [f"gives the input {name!r} words, {values[name]!r}, not numbers" for name in words]
    offered = "".join(strange)
    missing = [name for name in needed if values.get(name) is None and did_you_mean([name]) not in offered]
    strange += [f"has no value for the input {name!r}" for name in missing]
    if strange:
        raise _Malformed(*strange)
    return Case(inputs, attrs, "user", seed, "user", f"case {number} of the cases file")


def _given(checkable: Checkable, trial: Trial, cases: list[Case]) -> Collected:
    """Keep the given cases that forward takes, and add each in the other float dtype."""
    found = Collected()
    dtypes = {array.dtype.name for case in cases for array in case.floats}
    found.claims_float64 = "float64" in dtypes or not dtypes
    for case in cases:
        outcome, what = trial.attempt(case), case.label or "a recorded case"
        is_finite = all(np.isfinite(array).all() for array in case.floats)
        if outcome.is_accepted:
            wide = _preferred(trial, case)
            if wide is not case and case.origin != "user" and checkable.infer is None:
                # Held to the precision in which it was seen: nothing promises that other dtypes are taken.
                wide = case if narrows(checkable, wide) else replace(wide, precision="float32")
            found.cases.append(wide)
        elif outcome.answer is Answer.UNTRIED:
            found.notes.append(f"{what} was left out to keep within the time set")
        elif outcome.answer is Answer.NONFINITE and not (case.origin in ("user", "given") and is_finite):
            found.notes.append(f"{what} was left out: forward gives NaN or infinity")
        elif outcome.answer is Answer.NONFINITE and _is_set(trial, case, outcome):
            found.cases.append(case)
            said = "forward gives infinity whatever floats the inputs hold: nothing is compared there"
            found.notes.append(f"in places of {what} {said}")
        elif case.label == FORMER:
            found.notes.append("a former failure's inputs are no longer accepted; they were left out")
        elif not isinstance(outcome.error, FatalCallError):  # it is reported as what it is
            found.findings.append(_rejected(trial, case, outcome, what))
    floats = {array.dtype.name for case in found.cases for array in case.floats}
    found.dtype = "float64" if "float64" in floats or not floats else "float32"
    if not found.cases and not found.findings and not checkable.fatal:
        found.findings.append(_result("GC182", Status.ERROR, "no case gives finite results", checkable))
    return found


def _is_set(trial: Trial, case: Case, outcome: Attempt) -> bool:
    """Return whether infinities of the results stay where they are whatever the floats are: no overflow, but meant."""
    rng = np.random.default_rng(SEED)

    def tried(change: ArrayMap) -> Attempt:
        inputs = mapped(case.inputs, lambda x: change(x).astype(x.dtype) if is_float(x) else x)
        return trial.probe(replace(case, inputs=inputs))

    changes = (lambda x: x / 2, lambda x: rng.standard_normal(x.shape), lambda x: rng.uniform(*MAGNITUDES, x.shape))
    others = [tried(change) for change in changes]

    def infinite(attempt: Attempt) -> list[bytes]:
        """Return of each result where it is infinite, and of which sign."""
        return [np.where(np.isfinite(item), 0, item).tobytes() for item in attempt.outputs if is_float(item)]

    is_nan = any(np.isnan(item).any() for item in outcome.outputs if is_float(item))
    meant, *ran = [infinite(one) for one in (outcome, *others) if one.outputs]
    return not is_nan and len(ran) >= len(changes) - 1 and all(one == meant for one in ran)


def _preferred(trial: Trial, case: Case) -> Case:
    """Return the case in float64 where infer and forward take it, as it is otherwise."""
    if not any(is_float(array) and array.dtype != np.float64 for array in case.arrays):
        return case
    wide = cast_case(case, "float64")
    outcome = trial.attempt(wide)
    if not outcome.is_accepted:
        return case
    for index, item in enumerate(outcome.outputs):
        promised = outcome.promised[index].dtype if outcome.promised and index < len(outcome.promised) else "float64"
        if is_float(item) and (item.dtype.name != promised or promised != "float64"):
            return case
    return case if outcome.promised is None and is_single_inside(trial.checkable, wide) else wide


def is_single_inside(checkable: Checkable, case: Case) -> bool:
    """Return whether forward rounds to float32 what it takes in float64: further digits change nothing."""
    ev = Evaluator(checkable, case)
    try:
        kept = snapshot(ev.forward(ev.inputs))
        for leaf, array in leaves_of(ev.inputs):
            if is_float(array):
                coarser = ev.forward(ev.replaced(leaf, frozen(array * (1 + COARSER))))
                # What does not depend on the size of an input moves by rounding alone.
                is_moved = not all(np.allclose(*pair, rtol=FINER, atol=0) for pair in zip(kept, coarser))
                finer = ev.forward(ev.replaced(leaf, frozen(array * (1 + FINER)))) if is_moved else ()
                if is_moved and all(map(np.array_equal, kept, finer)):
                    return True
    except Exception:  # user code: it does not take what lies beside the case
        pass
    return False


def _rejected(trial: Trial, case: Case, outcome: Attempt, what: str) -> CheckResult:
    checkable, answer, error = trial.checkable, outcome.answer, outcome.error
    if answer is Answer.RAISED and error is not None:
        code = "GC122" if is_write(error) else "GC180"
        unlike, hint = _unlike_an_array(checkable, case, error) if case.origin == "user" else ("", "")
        message = f"forward raised on {what}{unlike}: {words_of(error)}"
        return replace(_result(code, Status.FAIL, message, checkable, case, error), hint=hint)
    message = f"the infer function refuses {what}" + (f": {error}" if error is not None else "")
    if answer is Answer.NONFINITE:
        message = f"forward gives NaN or infinity on {what}, which is part of the domain"
    found = _result("GC180", Status.FAIL, message, checkable, case)
    is_refused = answer is not Answer.NONFINITE and case.origin == "user"
    return replace(found, where=checkable.cases_where) if is_refused else found


def _unlike_an_array(checkable: Checkable, case: Case, error: Exception) -> tuple[str, str]:
    """Return which option forward may mean an array or a number by, and a hint; "" where no other type is at fault."""
    for attr in checkable.attrs if isinstance(error, (TypeError, AttributeError)) else ():
        value, default = case.attrs[attr.name], None if attr.is_required else attr.default
        if default is not None and not isinstance(default, (int, float)):
            continue
        if isinstance(value, (list, tuple)) and _is_numeric(value):
            meant = f"where an array is meant, give np.array({reprlib.repr(list(value))})"
            return f", where {attr.name} is a {type(value).__name__}", meant
        if isinstance(value, str) and (default is not None or "str" in str(error)):
            usual = "" if default is None else f", by default {default!r}"
            return f", where {attr.name} is {value!r}{usual}", ""
    return "", ""


def _is_numeric(value: Sequence[Any]) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except ValueError:  # a ragged list
        return False


# --- found by search
def _searched(checkable: Checkable, options: Options, trial: Trial) -> Collected:
    found = search(checkable, options, trial)
    dropped = trial.counts[Answer.NONFINITE]
    if dropped > trial.counts[Answer.ACCEPTED]:
        why = Answer.NONFINITE.value
        found.notes.append(f"{dropped} tried cases left the domain ({why}) and were dropped")
    untried = trial.counts[Answer.UNTRIED]
    if found.cases and untried:
        found.notes.append(f"left out to keep within the time set: {untried} inputs that would have been tried")
    found.findings.extend(_breaches(checkable, trial))
    if found.cases or found.findings:
        return found
    if trial.errors:
        file = checkable.forward_where.file if checkable.forward_where else ""
        case, error = max(trial.errors, key=lambda one: reached_by(one[1], file))
        message = f"forward raised on everything that was tried; what came furthest gave {words_of(error)}"
        code = "GC182" if checkable.infer is None else "GC180"  # nothing declares what it takes
        made = _result(code, Status.ERROR, message, checkable, case, error)
        found.findings.append(replace(made, is_stopped=is_write(error)))
        return found
    message = "no inputs were found that the infer function accepts; a cases file would provide them"
    if options.shapes:
        message = "the infer function accepts no inputs of the shapes given"
    if trial.refusal is not None:
        message += f"; of what came furthest it said: {trial.refusal}"
    found.findings.append(_result("GC182", Status.ERROR, message, checkable))
    return found


def _breaches(checkable: Checkable, trial: Trial) -> Iterator[CheckResult]:
    """What forward must never do, whatever its arguments: write to one, or return another number of results."""
    written = [(case, error) for case, error in trial.errors if is_write(error)]
    for case, error in written[:1]:
        yield _result("GC122", Status.FAIL, f"forward wrote to a read-only argument: {error}", checkable, case)
    broken = [(case, error) for case, error in trial.errors if isinstance(error, KernelError) and not is_write(error)]
    for case, error in broken[:1]:
        yield _result("GC144", Status.FAIL, error.message, checkable, case, error)
