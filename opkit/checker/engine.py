"""Engine: runs all checks of one op and makes its report.

The order of the checks and what a declared exception does to them; each check is elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from opkit.checker.basis import rests_on
from opkit.checker.causes import folded
from opkit.checker.checks.contract import forward_contract, gradient_contract, registration, single_cases
from opkit.checker.checks.gradient import gradients
from opkit.checker.checks.layout import layouts
from opkit.checker.checks.linearity import linearity
from opkit.checker.checks.modes import history, parity, second_order
from opkit.checker.checks.own import own
from opkit.checker.checks.precision import low_precision, narrow, single_precision
from opkit.checker.checks.purity import backward_purity, forward_purity
from opkit.checker.checks.reference import reference
from opkit.checker.checks.scan import scan
from opkit.checker.collect import collect
from opkit.checker.defaults import with_defaults
from opkit.checker.excuses.apply import excused
from opkit.checker.model.case import plain
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.codes import CODES, INTERNAL, ORDINARY
from opkit.checker.model.custody import Custody
from opkit.checker.model.evaluate import Evaluator, is_float, leaves_of
from opkit.checker.model.options import Options
from opkit.checker.model.raised import is_users, is_write, raised_at, words_of
from opkit.checker.model.report import CheckResult, OpReport, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import CALLS_A_CHECK, CLOCK_SEARCH, FEW, SEARCH_SHARE
from opkit.checker.model.trial import Answer, Trial
from opkit.checker.power import power
from opkit.checker.search.fatal import FatalCallError
from opkit.checker.search.pipeline import Collected
from opkit.checker.search.unserved import unserved_line
from opkit.checker.verdict import allowed, deaths, idle, settled, stated
from opkit.errors import unknown
from opkit.replaced import put_back

#: Given cases that an op was found right on, says whether a process that knows no expected value finds the same.
Confirm = Callable[[Sequence[Evaluator]], CheckResult]
_Check = Callable[[CheckSession], Iterable[CheckResult]]
_FORWARD: tuple[_Check, ...] = (forward_contract, forward_purity)
_BACKWARD: tuple[_Check, ...] = (registration, gradient_contract, backward_purity, history)
_NUMBERS: tuple[_Check, ...] = (linearity, low_precision, reference, narrow, gradients, single_precision)
_LATER: tuple[_Check, ...] = (layouts, *_NUMBERS, parity, own)
#: Checks that report under these codes and do nothing else: they are left out where no such report is wanted.
_REPORTS: dict[_Check, tuple[str, ...]] = {
    layouts: ("GC130", "GC131"),
    linearity: ("GC110", "GC111", "GC112", "GC113"),
    single_precision: ("GC150",),
    parity: ("GC170",),
    reference: ("GC107", "GC108", "GC109"),
}
#: What a report calls the checks whose own names say little.
_SAID: dict[_Check, str] = {
    history: "calls in other orders",
    layouts: "memory layouts",
    linearity: "linearity in dy",
    narrow: "derivatives along lines",
    own: "the framework's own rules",
    parity: "dynamic beside static mode",
    single_precision: "float32 beside float64",
}
#: Checks that compare digits which half precision has not.
_WIDE = (linearity, low_precision, gradients, single_precision)
#: Checks that run whatever time is left: without those that compare derivatives an op would pass on its contract alone.
_ALWAYS = (forward_contract, gradient_contract, reference, narrow, gradients, own)
#: Failures after which comparing values says nothing more.
_FATAL = frozenset({"GC140", "GC144", "GC142", "GC181", "GC145"})


def check(
    checkable: Checkable,
    options: Options | None = None,
    tell: Callable[[CheckResult], None] | None = None,
    confirm: Confirm | None = None,
) -> OpReport:
    """Check one op.

    Args:
        checkable: the op.
        options: settings; the defaults aim at under a second for a typical op.
        tell: called with each result as it is found, before those of one code are merged; None for none.
        confirm: called with a few cases where all that was found is a pass; None where nobody confirms one.

    Returns:
        One result per check (several where inputs and outputs differ), in the order of their codes.
    """
    report, error = OpReport(checkable.name, (), checkable.directory), None
    try:
        report = _checked(checkable, options or Options(), tell, confirm)
    except Exception as raised:
        error = raised
    changed = list(dict.fromkeys((*checkable.changed, *put_back())))
    if error is not None and not changed:
        raise error
    if not changed:
        return report
    row, message = CODES["GC198"], f"the op's functions changed {', '.join(changed[:FEW])}"
    if error is not None:
        message += f", after which no check can run ({words_of(error)})"
    failure = CheckResult.of(row, Status.FAIL, message, where=checkable.forward_where)
    kept = [item for item in report.checks if item.code not in (row.code, INTERNAL.code)]  # those follow from it
    return replace(report, checks=tuple(sorted([*kept, failure], key=lambda item: item.code)))


def _checked(
    checkable: Checkable,
    options: Options,
    tell: Callable[[CheckResult], None] | None = None,
    confirm: Confirm | None = None,
    explains: bool = True,
) -> OpReport:
    """Check one op; ``explains`` says whether to look for where a wrong derivative is right."""
    start = perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        before = checkable.settings()
        session, collected = _begun(checkable, options, start)
        results = list(collected.findings)
        if collected.cases:
            for item in _run(session, collected):
                results.append(item)
                if tell is not None and options.wants(item.code):
                    tell(allowed(checkable, idle([item])[0] if checkable.is_beyond else item))
        results.extend(_after(session, results, before))
        results = excused(session, [allowed(checkable, item) for item in results])
        results = settled(session, with_defaults(session, results) if explains else results, collected, _checked)
        died = [allowed(checkable, item) for item in deaths(session, collected.table)]
        if options.power and checkable.has_gradient and collected.cases:
            if died or any(item.is_finding for item in results):
                results.append(session.skipped("GC190", "the op fails without planted faults"))
            else:
                results.extend(power(checkable, options, _checked))
        results = stated([*(item for item in results if options.wants(item.code)), *died])
        unlike = session.checkable.format or checkable.unlike
        if unlike:
            confirm = None
            session.notes.append(f"checked in {unlike}: not confirmed in an ordinary process")
        found = {item.status for item in results}  # passes, and nothing but passes and what does not apply
        is_pass = Status.PASS in found and found <= {Status.PASS, Status.SKIP}
        if confirm is not None and options.wants(ORDINARY.code) and is_pass:
            results.append(confirm(_unlike_first(session)))
            session.notes += [
                item.message for item in results[-1:] if item.status in (Status.SKIP, Status.PASS) and item.message
            ]
    results.sort(key=lambda item: item.code)
    parts = {arg.name: arg.parts for arg in checkable.inputs if arg.parts}
    return OpReport(
        checkable.name,
        tuple(folded([_called(item, parts) for item in results] if parts else results)),
        checkable.directory,
        perf_counter() - start,
        tuple(_tried(session)),
        tuple(dict.fromkeys(_notes(checkable, session))),
        rests_on(checkable, session.cases, session.left_out),
        unserved=unserved_line(session.not_served),
    )


def _called(item: CheckResult, parts: Mapping[str, Sequence[str]]) -> CheckResult:
    """Return a result of whose case each leaf of a tree has its name."""
    case = item.case or {}
    named = {
        name: [{**leaf, "name": name + part} for leaf, part in zip(case[name], leaves)]
        for name, leaves in parts.items()
        if isinstance(case.get(name), list)
    }
    return replace(item, case={**case, **named}) if named else item


def _unlike_first(session: CheckSession) -> list[Evaluator]:
    """Return a few cases, first one with other options than the first of its shapes: nothing is kept of these there."""
    first: dict[Any, Evaluator] = {}
    others = (ev for ev in session.evaluators if not ev.is_set_like(first.setdefault(ev.case.shapes, ev)))
    return [*islice(others, 1), *session.diverse(FEW)]


def _begun(checkable: Checkable, options: Options, start: float) -> tuple[CheckSession, Collected]:
    """Find the cases of an op whose functions custody stands before."""
    custody = Custody()
    guarded = custody.over(checkable)
    share = SEARCH_SHARE * options.seconds * max(options.effort, 1.0)
    trial = Trial(guarded, start + share, start + CLOCK_SEARCH * options.clock, slow_call=options.slow_call)
    collected = collect(guarded, options, trial)
    session = CheckSession(
        guarded,
        options,
        trial,
        collected.cases,
        list(collected.notes),
        dtype=collected.dtype,
        claims_float64=collected.claims_float64,
        custody=custody,
        started=start,
        coincidence=None if collected.table is None else collected.table.excuses,
    )
    return session, collected


def _after(session: CheckSession, results: Sequence[CheckResult], before: Mapping[str, Any]) -> Iterator[CheckResult]:
    """GC122 and GC123, where custody found what no check reported; GC198, which holds as far as is known here."""
    now = session.checkable.settings()
    changed = [f"{name} from {before[name]} to {now[name]}" for name in before if now[name] != before[name]]
    if changed:
        yield session.failed("GC198", f"the op's functions changed {', '.join(changed)}, for all that comes after")
    failed = {item.code for item in results if item.status is Status.FAIL}
    yield from (item for item in session.breaches("GC122", "GC123") if item.code not in failed)
    if session.evaluators and not changed:
        yield session.passed("GC198", len(session.cases))


def _run(session: CheckSession, collected: Collected) -> Iterator[CheckResult]:
    try:
        session.prepare(collected.large)
        session.single = single_cases(session)
    except Exception as error:  # forward raises on what it took when the cases were found
        if not is_users(error):
            raise
        where = raised_at(error, session.checkable.forward_where)
        message = f"forward raised on inputs that it took before: {words_of(error)}"
        yield session.result("GC180", Status.FAIL, message, where=where, is_stopped=is_write(error))
        return
    yield from _raises(session)
    yield session.passed("GC182", len(session.cases))
    failed: set[str] = set()
    first, later = _plan(session)
    for stage in (*first, *later):
        if stage in later and failed & _FATAL and stage is not layouts and stage is not gradients:
            continue
        codes = _REPORTS.get(stage)  # what it may report; others depend on what a check finds that has none
        is_wanted = codes is None or any(map(session.options.wants, codes))
        if not is_wanted or _is_replaced(session, stage):
            continue
        if not session.has_time(CALLS_A_CHECK) and stage not in _ALWAYS:
            if stage is not parity or session.checkable.runners:
                session.left_out.append(_SAID.get(stage) or stage.__name__.replace("_", " "))
            continue
        is_scanned = session.checkable.has_gradient and not session.checkable.format and not failed
        if stage is later[0] and is_scanned and collected.domain is not None:
            scan(session, collected.domain)
        for item in _guarded(session, stage):
            session.is_wrong |= item.status is Status.FAIL
            if item.status is Status.FAIL and stage in first:
                failed.add(item.code)
            yield item
    if session.checkable.has_gradient and session.has_time(CALLS_A_CHECK):
        yield from second_order(session, partial(_checked, explains=session.asks_second))


def _plan(session: CheckSession) -> tuple[Sequence[_Check], Sequence[_Check]]:
    """Return the checks in their order, and those that the first ones' fatal failures make pointless.

    Of an op whose calls take long the most telling come first: the contract, then the derivative.
    """
    if not session.checkable.has_gradient:
        return _FORWARD, (layouts, reference)
    if not session.is_slow:
        return (*_FORWARD, *_BACKWARD), _LATER
    rest = (*_FORWARD, *_BACKWARD, *_LATER)
    return _ALWAYS, tuple(stage for stage in rest if stage not in _ALWAYS)


def _is_replaced(session: CheckSession, stage: _Check) -> bool:
    """Return whether a reference decides what a check asks, or half precision has no digits for it."""
    given, is_narrow = session.checkable.reference, bool(session.checkable.format)
    if (is_narrow and stage in _WIDE) or (stage is narrow and (given is not None or not is_narrow)):
        return True
    is_vague = stage is gradients and session.dtype != "float64"
    return given is not None and (stage is single_precision or (is_vague and given.judges_gradients))


def _raises(session: CheckSession) -> Iterator[CheckResult]:
    """GC180: forward runs on what infer accepts; raising on empty arrays, or on most inputs, is reported."""
    yield session.passed("GC180", len(session.cases))
    if session.checkable.infer is None:
        return
    ranks, settings = {case.ranks for case in session.cases}, [plain(case.attrs) for case in session.cases]
    for case, error in session.trial.errors:
        # A sum of nothing has a result, a maximum of nothing has none.
        has_an_answer = len(set(case.shapes)) == 1 and "no identity" not in str(error)
        if case.is_empty and case.ranks in ranks and plain(case.attrs) in settings and has_an_answer:
            message = f"forward raises on empty arrays, which infer takes: {words_of(error)}"
            yield session.result("GC160", Status.UNDECIDED, message, case=case)
            break
    counts = session.trial.counts
    if counts[Answer.RAISED] > counts[Answer.ACCEPTED]:
        error = session.trial.errors[0][1]
        session.notes.append(
            f"forward raised on {counts[Answer.RAISED]} of the inputs tried that infer accepts "
            f"({counts[Answer.ACCEPTED]} ran), first {words_of(error)}; a CHECK in the definition, or a "
            "cases file, would say what the op is meant for"
        )


def _guarded(session: CheckSession, stage: _Check) -> Iterator[CheckResult]:
    """Run a check after others failed already: what raises then has been reported."""
    try:
        yield from stage(session)
    except Exception as error:  # user code that raises on a later call than the checks before saw, or the check itself
        if isinstance(error, FatalCallError):  # reported as what it is
            return
        message = f"raised while being checked: {words_of(error)}"
        if is_users(error):
            where = raised_at(error, session.checkable.backward_where or session.checkable.forward_where)
            yield session.failed("GC181", message, where=where, is_stopped=is_write(error))
        else:
            why = f"opkit itself {message}; whether the op passes this check is not known"
            yield CheckResult.of(INTERNAL, Status.ERROR, why)


def _tried(session: CheckSession) -> Iterator[str]:
    shapes = {case.shapes for case in session.cases}
    regimes = sorted({case.regime for case in session.cases})
    settings = {tuple(sorted((name, str(value)) for name, value in case.attrs.items())) for case in session.cases}
    yield f"{len(session.cases)} cases: {len(shapes)} combinations of shapes, {len(settings)} of attributes"
    if regimes:
        yield f"values: {', '.join(regimes)}"
    counts = {answer.value: session.trial.counts[answer] for answer in Answer if session.trial.counts[answer]}
    yield "trials: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    yield from (f"{shapes}: not served, {said}" for shapes, said in session.not_served.items())


def _notes(checkable: Checkable, session: CheckSession) -> Iterator[str]:
    yield from session.notes
    yield from checkable.remarks
    if checkable.has_gradient and session.cases:
        bound = checkable.bound(session.cases[0].inputs, session.cases[0].attrs)
        optional = {arg.name for arg in checkable.inputs if arg.is_optional}
        every = ((leaf, is_float(array)) for case in session.cases for leaf, array in leaves_of(case.inputs))
        for leaf in dict.fromkeys(leaf for leaf, is_open in every if is_open):
            if bound is not None and leaf.name not in bound:
                where = ", where it is an array," if leaf.name in optional else ""
                how = "took no gradient where it was seen" if checkable.recorded else "gets no gradient"
                yield f"input {leaf}{where} {how} and counts as a constant"
    for name in sorted(checkable.nondifferentiable_outputs):
        yield f"output {name} is declared not differentiable"
    if checkable.surrogate is not None:
        yield "SURROGATE: backward is compared with differences of the declared function, not of forward"
    known = [arg.name for arg in (*checkable.inputs, *checkable.outputs)]
    for name, value in checkable.tolerance.items():
        meant = f"TOLERANCE: {name} may be off by {value:g} of its largest derivative"
        yield meant if name in known else str(unknown("TOLERANCE names", name, known, tail=", no input or result"))
    for code, why in checkable.allow.items():
        yield f"ALLOW: {code} ({why})"
    if not checkable.has_gradient:
        yield "no gradient is registered; forward alone was checked"
