"""Verdict: what the results of all checks come to, by the rules of docs/gradcheck-method.md.

The only place in which a status changes once a check has made it.

Beyond: what an op does near the inputs that a recorded run saw, where no case says what it is for.

Runs the same checks on searched neighbours; what fails only there is undecided, never a failure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from opkit.checker.model.case import Case, plain
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.codes import OUT_OF_TIME
from opkit.checker.model.numbers import largest
from opkit.checker.model.report import CheckResult, FatalCall, Status
from opkit.checker.model.session import Check, CheckSession
from opkit.checker.model.thresholds import CALLS_A_CHECK, EXTREME_SIZE, FEW, ORDINARY_MOST, SINGLE_ROUNDING
from opkit.checker.search.answers import Standing
from opkit.checker.search.attributes import unlike
from opkit.checker.search.fatal import is_huge
from opkit.checker.search.kinds import kind_of
from opkit.checker.search.pipeline import Collected
from opkit.checker.search.table import Table
from opkit.checker.search.unserved import Unserved, described, unserved_line


def beyond(session: CheckSession, check: Check) -> Iterator[CheckResult]:
    """Yield what fails near the recorded inputs, as undecided, and note what is not served there.

    Args:
        session: of the recorded op; on what was seen it holds.
        check: the engine's.
    """
    other, options = session.checkable.beyond, session.rest()
    if other is None or options.recorded_only:
        return
    report = check(other, replace(options, power=False, second_order=False))
    session.notes += [f"beyond the inputs seen, {report.unserved}"] if report.unserved else []
    bad = (
        item
        for item in report.checks
        if item.status is Status.FAIL or (item.beyond and item.status is Status.UNDECIDED)
    )
    for item in islice(bad, FEW):
        case = None if item.evidence is None else item.evidence.case
        changed = {} if case is None else _options(case, other)
        where = "" if case is None else _difference(case, changed, other)
        message = f"beyond the inputs seen{f' ({where})' if where else ''}: {item.message}"
        said = unused(changed) if changed else ""
        yield replace(item, status=Status.UNDECIDED, message=message, hint=item.hint or said, beyond=True)


def unused(options: Iterable[str]) -> str:
    """Return what is suggested where a gradient is wrong at other values of options than those at which it is right."""
    names = " and ".join(options)
    return f"backward may not get the option {names}, not use it, use it otherwise than forward, or lack a branch of it"


def _share(item: CheckResult) -> float:
    """Return by what share of its size a number is off, infinity where nothing tells."""
    expected, actual = item.expected, item.actual
    if item.code in _SLOPES and isinstance(expected, float) and isinstance(actual, float):
        return abs(expected - actual) / (max(abs(expected), abs(actual)) or 1.0)
    return math.inf if item.evidence is None else item.evidence.share


def _options(case: Case, other: Checkable) -> dict[str, str]:
    """Return the options of a case that no case seen has so, with their values; what no call named had its default."""
    defaults = {attr.name: attr.default for attr in other.attrs}
    seen = [{**defaults, **one.attrs} for one in other.seen]
    return {
        name: repr(plain(value))
        for name, value in case.attrs.items()
        if not any(name in one and plain(one[name]) == plain(value) for one in seen)
    }


def _difference(case: Case, options: Mapping[str, str], other: Checkable) -> str:
    """Say in a few words how a case differs from what was seen: options, shapes, or values."""
    if options:
        return ", ".join(f"{name} = {value}" for name, value in options.items())
    if case.shapes not in {one.shapes for one in other.seen}:
        return f"shapes {', '.join(str(list(shape)) for shape in case.shapes)}"
    return "other values" if case.regime == "normal" else f"values: {case.regime}"


#: Wrong only after the caller changed an input or a result in place: undecided wherever it is found (rule 5).
_HAZARDS = frozenset({"GC203"})
#: Of what nothing declares: empty arrays (rules 1 and 5).
_OPEN_WHERE_FOUND = frozenset({"GC160"})
#: What compares one slope with another.
_SLOPES = frozenset({"GC101", "GC102"})
#: What compares numbers, and says at which inputs.
_NUMBERS = frozenset(
    {"GC101", "GC102", "GC103", "GC104", "GC105", "GC106", "GC110", "GC111", "GC131", "GC150", "GC152"}
)


def settled(
    session: CheckSession, results: Sequence[CheckResult], collected: Collected, check: Check
) -> list[CheckResult]:
    """Return the results with the statuses that the rules give them, and what the rules add.

    Args:
        session: of the checks.
        results: of the checks, as they were made.
        collected: what was found: what backward answers.
        check: the engine's.
    """
    checkable = session.checkable
    settled = [_open(session, item) for item in results]
    if checkable.is_beyond:
        return idle(settled)
    if any(item.is_finding for item in settled):
        return settled
    left_out = () if collected.table is None else collected.table.unserved.values()
    settled += unserved(session, [*left_out, *collected.unlike])
    if session.clock() > CALLS_A_CHECK * session.call_seconds:
        settled += beyond(session, check)
    elif checkable.beyond is not None:
        session.left_out.append("inputs beyond those seen")
    return settled


def deaths(session: CheckSession, table: Table | None) -> Iterator[CheckResult]:
    """Yield a finding for each call that ended its process: a failure, undecided where nothing declares the inputs.

    Undecided are an empty array, a special kind of one that is right, extremes, what lies beyond a run, and a kind
    that forward never took.
    """
    told = set[str]()
    for call in session.checkable.fatal:
        is_open = session.checkable.is_beyond or _is_open_death(session, table, call)
        status = Status.UNDECIDED if is_open else Status.FAIL
        why = ", which nothing declares" if is_open else ""
        message = f"{call.finding.message}, at {described(call.case)}{why}"
        if message not in told:  # in another dtype
            told.add(message)
            yield replace(call.finding, status=status, message=message, beyond=is_open)


def _is_open_death(session: CheckSession, table: Table | None, call: FatalCall) -> bool:
    checkable, case = session.checkable, call.case
    if checkable.cases is not None or checkable.infer is not None:
        return False
    if {arg.name for arg in checkable.inputs} != set(case.inputs):  # another reading of the parameters
        return True
    if any(case.attrs[attr.name] in unlike(attr) for attr in checkable.attrs if attr.name in case.attrs):
        return True
    if checkable.recorded:
        return all((one.shapes, plain(one.attrs)) != (case.shapes, plain(case.attrs)) for one in checkable.recorded)
    if case.is_empty or is_huge(case) or (table is not None and table.is_open(case)):
        return True
    return not call.is_backward and all(kind_of(one) != kind_of(case) for one in session.cases)


def _open(session: CheckSession, item: CheckResult) -> CheckResult:
    """Rule 5: return a failure as undecided where the rule leaves it open."""
    if item.status is not Status.FAIL:
        return item
    is_hazard = item.code in _HAZARDS
    why = "a hazard: it takes a caller that changes what it gave or got" if is_hazard else _why_open(session, item)
    if not why:
        return item
    return replace(item, status=Status.UNDECIDED, message=f"{item.message} ({why})", beyond=True, needs_more=is_hazard)


def _why_open(session: CheckSession, item: CheckResult) -> str:
    """Say why a failure on what was found is open, "" where it is not."""
    checkable, case = session.checkable, None if item.evidence is None else item.evidence.case
    is_given = checkable.cases is not None or checkable.recorded
    if checkable.infer is not None or (item.evidence and (is_given if case is None else not session.is_found(case))):
        return ""
    if item.code in _OPEN_WHERE_FOUND:
        return "nothing declares such inputs"
    if item.code not in _NUMBERS or case is None:
        return ""
    if is_huge(case):
        return f"values beyond {EXTREME_SIZE:g} are extremes that nothing declares"
    if item.code == "GC152" and max(map(largest, case.floats), default=0.0) > ORDINARY_MOST:
        return f"digits that cancel at values beyond {ORDINARY_MOST:g}, which nothing declares"
    if _share(item) <= SINGLE_ROUNDING:
        why = "a step may be held in float32, terms cancel, or an iteration stop before its end"
        return f"no more than float32's rounding: {why}"
    return ""


def unserved(session: CheckSession, every: Collection[Unserved]) -> Iterator[CheckResult]:
    """Yield what is undecided of the kinds that were left out (rules 4 and 5); the rest is a line of the verdict.

    Wrong on a special kind of one that is right; a gradient of another shape that the target's runtime would use.
    """
    open_ = [one for one in every if one.is_special]
    if session.checkable.uses_misfits:
        open_ += [one for one in every if one.answer.standing is Standing.MISFIT and not one.answer.case.is_empty]
    for one in open_[:1]:
        code = "GC101" if one.is_special else "GC142"
        why = "right where these sizes differ" if one.is_special else "the framework would use it as it is"
        message = (
            f"tried {one.shapes}, which forward takes: {one.answer.said}; {why}. Raise in forward if such "
            'shapes are not meant, annotate the parameters with theirs (Annotated[Any, "n d"]), or give cases '
            "(--write-cases writes them)"
        )
        yield session.result(code, Status.UNDECIDED, message, case=one.answer.case, beyond=True)
    rest = [one for one in every if one not in open_[:1]]
    full = [one for one in rest if not one.answer.case.is_empty]
    session.not_served = {one.shapes: one.said for one in full or rest}
    session.notes += filter(None, [unserved_line(session.not_served)])


def idle(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results on an op of which the run asked no gradient: what fails is undecided."""
    why = "no input took a gradient in the run"
    return [
        replace(item, status=Status.UNDECIDED, message=f"{why}: {item.message}", beyond=True)
        if item.status is Status.FAIL
        else item
        for item in results
    ]


def stated(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results as the report shows them: time that ran out, no repeats.

    A failure stands where time ran out afterwards: it is the verdict, and what was left out is undecided.
    """
    if any(item.status is Status.FAIL for item in results):
        results = [
            replace(item, status=Status.UNDECIDED) if item.code == OUT_OF_TIME.code else item for item in results
        ]
    return list(_merged(sorted(results, key=lambda item: item.code)))


def allowed(checkable: Checkable, item: CheckResult) -> CheckResult:
    """Turn a failure that the user allows into a pass that says so."""
    why = checkable.allow.get(item.code)
    if item.code == "GC161" and item.input and item.output:  # the same derivative, of a single number
        why = why or checkable.allow.get("GC101")
    if why is None or item.status is not Status.FAIL:
        return item
    return replace(item, status=Status.PASS, message=f"allowed ({why}): {item.message}", hint="")


def _merged(results: Sequence[CheckResult]) -> Iterator[CheckResult]:
    """Drop a code's pass or skip where the same code also fails, and repeated passes."""
    bad = {item.code for item in results if item.is_finding}
    seen: set[tuple[str, str | None, str | None]] = set()
    for item in results:
        key = (item.code, item.input, item.output)
        is_good = item.status in (Status.PASS, Status.SKIP)
        if is_good and (key in seen or (item.code in bad and item.input is None)):
            continue
        if is_good:
            seen.add(key)
        yield item
