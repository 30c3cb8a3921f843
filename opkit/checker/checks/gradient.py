"""Gradient: what backward claims against numeric differences (GC101-GC106, GC152).

Decides and explains; the numbers come from jacobian and directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from opkit.checker.checks.beside import is_exact, is_right_beside, is_tied, is_torn
from opkit.checker.checks.cone_tips import Tipped
from opkit.checker.checks.contract import edge_code
from opkit.checker.checks.entries import described, index_of, undecided
from opkit.checker.derivative.columns import Steps
from opkit.checker.derivative.directions import bisect, probe_leaf
from opkit.checker.derivative.estimate import Behaviour
from opkit.checker.derivative.jacobian import Comparison, Tally, compare
from opkit.checker.derivative.judge import EntryFailure
from opkit.checker.model.budget import takes_longer
from opkit.checker.model.case import Case
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import largest, median
from opkit.checker.model.raised import is_users, is_write, words_of
from opkit.checker.model.report import CheckResult, Evidence, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import (
    BESIDE,
    BOUNDS,
    CALLS_A_CASE,
    LITTLE,
    MANY,
    PLAIN_CALLS,
    PLENTY,
    PROMISE_TOLERANCE,
    RUN_BUDGET,
    SLIGHT,
    SLOW_GRADIENT,
    SMALL_ARRAY,
    SOME,
)
from opkit.checker.search.kinds import is_usual
from opkit.record import mutable

#: How little a failure says: whether it is a rounding, its shapes are unusual, and how many inputs are concerned.
_Oddity: TypeAlias = "tuple[bool, bool, int]"


@mutable
class _Ledger:
    """Everything that the comparisons brought up."""

    session: CheckSession
    failures: dict[tuple[str, str, str], CheckResult] = field(default_factory=dict)
    shown: dict[tuple[str, str, str], tuple[str, _Oddity]] = field(default_factory=dict)
    found: int = 0
    pairs: dict[tuple[str, str], Tally] = field(default_factory=dict)
    vague: dict[tuple[str, str], float] = field(default_factory=dict)
    probes: list[float] = field(default_factory=list)
    blurs: list[float] = field(default_factory=list)
    probed: set[str] = field(default_factory=set)
    large: int = 0
    left_out: int = 0
    broken: list[CheckResult] = field(default_factory=list)
    failing: int = 0
    steps: dict[str, Steps] = field(default_factory=dict)
    tipped: Tipped = field(default_factory=Tipped)
    is_extra: bool = False
    exact: CheckResult | None = None

    @property
    def is_rounding(self) -> bool:
        """Whether all that is wrong so far is explained by roundings."""
        return bool(self.shown) and all(odd[0] for _, odd in self.shown.values())

    def fail(self, code: str, leaf: InputLeaf, output: str, make: Callable[[], CheckResult]) -> None:
        """Keep the first failure of each code, input and output."""
        self.found += 1
        if (code, leaf.name, output) not in self.failures:
            self.failures[code, leaf.name, output] = make()


def gradients(session: CheckSession) -> Iterator[CheckResult]:
    """GC101-GC106 and GC152 on every case: the whole Jacobian, or random directions where it is large."""
    ledger = _Ledger(session)
    evaluators = [ev for ev in session.evaluators if ev.leaves and ev.entries]
    if session.is_impure:
        message = "no derivative can be compared: forward or backward gives different results for the same arguments"
        yield session.result("GC101", Status.UNDECIDED, message, is_stopped=True)
        return
    budget, ordered = RUN_BUDGET * session.options.effort, _ordered(evaluators)
    first = session.first_of_options([ev.case for ev in ordered])
    for number, ev in enumerate(ordered):
        budget -= _cost(ev)
        is_first = any(ev.case is case for case in first)
        if ledger.failing >= SOME and not (is_first and ledger.is_rounding):
            continue  # more than a rounding may be wrong with other options
        is_late = not is_first and not session.has_time(MANY if session.is_slow else CALLS_A_CASE)
        if is_late or (budget < 0 and number >= MANY):
            ledger.left_out += 1
            continue
        known = ledger.found
        try:
            _examine(ev, number, ledger)
        except Exception as error:  # where user code raises, the contract check's finding says why
            if is_write(error):
                ledger.broken.insert(0, session.failed("GC123", f"a kernel wrote to a read-only argument: {error}", ev))
                continue
            if not (is_users(error) or session.is_wrong):  # the checker's own, and no broken contract explains it
                raise
            message = f"a case could not be compared: {words_of(error)}"
            ledger.broken.append(session.result("GC101", Status.UNDECIDED, message, case=ev.case, is_stopped=True))
        ledger.failing += ledger.found > known
    if not ledger.failing:
        for number, ev in enumerate(session.large):
            _probe_large(ev, 900 + number, ledger)
    if ledger.left_out:
        session.left_out.append(f"the derivative on {ledger.left_out} of them")
    yield from _results(ledger, evaluators)


def _probe_large(ev: Evaluator, number: int, ledger: _Ledger) -> None:
    """A few random directions, unless the kernels take so long with many elements that even these would be too many."""
    if not ev.leaves or not ev.entries:
        return
    try:
        douts = ev.uneven()
        if takes_longer(SLOW_GRADIENT, lambda: ev.gradients(douts)):
            ledger.session.notes.append(
                "the case with many elements was not differentiated: the kernels are slow on it"
            )
            return
        ledger.large += 1
        ledger.is_extra = ledger.large == 1
        _probe(ev, number, ledger, 2)
    except Exception as error:  # user code; where small cases raise it too, it is theirs to say
        if not (is_users(error) or ledger.session.is_wrong):
            raise
        if not any(str(error) in item.message for item in ledger.broken):
            ledger.session.notes.append(f"the case with many elements could not be compared: {error}")


def _cost(ev: Evaluator) -> int:
    """Return about how many runs of the kernels a comparison takes: a count, the same on every machine."""
    return PLENTY + 2 * sum(ev.array(leaf).size for leaf in ev.leaves) + ev.entries


def _ordered(evaluators: list[Evaluator]) -> list[Evaluator]:
    """Small and ordinary cases first, so that what is left out for lack of time is the costliest."""
    return sorted(
        evaluators,
        key=lambda ev: (
            sum(ev.array(leaf).size for leaf in ev.leaves) + ev.entries > SMALL_ARRAY,
            ev.case.is_extreme,
        ),
    )


def _examine(ev: Evaluator, number: int, ledger: _Ledger) -> None:
    session = ledger.session
    size = sum(ev.array(leaf).size for leaf in ev.leaves)
    entries = ev.entries
    if not size:
        return
    takes = (PLAIN_CALLS * size + entries) * session.call_seconds if session.is_slow else 0.0
    if size * entries > session.options.full_limit or takes > session.left() / 2:
        ledger.large += 1
        _probe(ev, number, ledger)
        return
    seconds = session.clock() / 2
    outcome = compare(ev, session.rng(2000 + number), session.checkable.tolerance, ledger.steps, seconds)
    for (leaf, slot), tally in outcome.tallies.items():
        pair = leaf.name, session.output_name(slot)
        ledger.pairs.setdefault(pair, Tally()).add(tally)
        if declared := session.checkable.tolerance.get(leaf.name):
            ledger.vague[pair] = max(ledger.vague.get(pair, 0.0), declared * _spread(ev, outcome.numeric[leaf], slot))
    _note(ev, outcome, ledger.tipped.sift(session, ev, outcome), ledger)


def _spread(ev: Evaluator, numeric: ndarray, slot: int) -> float:
    """Return how many times the largest derivative, of which a tolerance is a share, exceeds an output's usual one."""
    sizes = np.abs(numeric[np.repeat(ev.slots, ev.sizes) == slot])
    telling = sizes[sizes > LITTLE * largest(sizes)]
    return largest(numeric) / median(telling) if telling.size else 1.0


def _note(ev: Evaluator, outcome: Comparison, failures: list[EntryFailure], ledger: _Ledger) -> None:
    session = ledger.session
    for failure in sorted(failures, key=lambda item: (item.is_rounding, -item.excess)):
        odd = _oddity(session, ev.case, failure, failures)
        output = session.output_name(ev.locate(failure.entry)[0])
        code = edge_code(failure.code, ev.case) if failure.code != "GC105" else failure.code
        key = code, failure.leaf.name, output
        known = ledger.shown.get(key)
        is_more = known is not None and (odd[0] < known[1][0] or (known[0] == ev.case.regime and odd < known[1]))
        is_shown = known is None or is_more  # of like values, and where a rounding hid it
        is_shown = is_shown and not (session.is_found(ev.case) and _is_coincidence(ledger, ev, outcome, failure))
        ledger.found += is_shown or known is not None
        if is_shown:
            ledger.failures[key] = described(session, ev, failure, outcome, code)
            ledger.shown[key] = ev.case.regime, odd


def _oddity(session: CheckSession, case: Case, failure: EntryFailure, every: list[EntryFailure]) -> _Oddity:
    """Return how little a failure says: where nobody said which shapes are meant, less where more is wrong."""
    is_odd, wrong = not is_usual(case), len({item.leaf.name for item in every})
    return (failure.is_rounding, is_odd, wrong) if session.is_found(case) else (failure.is_rounding, False, 0)


def _is_coincidence(ledger: _Ledger, ev: Evaluator, outcome: Comparison, failure: EntryFailure) -> bool:
    """Return whether a failure is one of equal sizes or of exact values alone (rule 5); what is open is kept."""
    session = ledger.session
    if not np.isfinite(failure.actual) or failure.is_rounding:
        return False
    if session.coincidence is not None and session.coincidence(ev.case):
        return True
    if (failure.kind is Behaviour.JUMP and is_exact(ev, failure)) or is_torn(ev, failure):
        return True  # forward has no derivative there: any finite gradient is as good (rule 1)
    is_open = failure.kind is Behaviour.KINK and is_tied(ev, failure)  # several elements may leave no derivative
    if (not is_open and is_right_beside(ev, failure, 0.0)) or not any(
        is_right_beside(ev, failure, share) for share in BESIDE
    ):
        return False  # the incoming gradient decides, or the values do not
    if ledger.exact is None:
        why = (
            "It is wrong at exactly these values (zeros, equal ones): next to them backward is right. Say in a cases "
            "function whether they are meant"
        )
        ledger.exact = undecided(session, ev, failure, outcome, why)
    return True


def _probe(ev: Evaluator, number: int, ledger: _Ledger, most: int = 1000) -> None:
    session = ledger.session
    for leaf in ev.leaves:
        if not ev.array(leaf).size:
            continue
        declared = max(float(session.checkable.tolerance.get(leaf.name, 0.0)), ev.slack())
        is_slow = session.is_slow
        for count in range(1 if is_slow else min(session.options.probes, most)):
            rng = np.random.default_rng([session.options.seed, 3000, number, count])
            known = ev.known.get(ev.weights().tobytes(), {}).get(leaf) if is_slow else None
            probe = probe_leaf(ev, leaf, rng, None, declared, is_slow, known)
            ledger.probed.add(leaf.name)
            if np.isfinite(probe.detectable):
                ledger.probes.append(probe.detectable)
                is_declared = leaf.name in session.checkable.tolerance
                ledger.blurs.append(BOUNDS * probe.bound / probe.scale if is_declared else probe.detectable)
            if probe.is_wrong and (
                not session.has_time(MANY)
                or probe_leaf(ev, leaf, np.random.default_rng([number, count, 1]), None, declared, is_slow).is_wrong
            ):
                ledger.fail("GC102", leaf, "", partial(_describe_probe, session, ev, leaf, probe, declared))
                break


def _describe_probe(session: CheckSession, ev: Evaluator, leaf: InputLeaf, probe: Any, declared: float) -> CheckResult:
    text = f"along a random direction of {leaf} the derivative is {probe.expected:.12g}"
    text += f"; backward gives {probe.actual:.12g}"
    found = bisect(ev, leaf, session.options.seed) if not declared and session.has_time(CALLS_A_CASE) else None
    element = None
    if found is not None:
        element, single = found
        text += f"; the first wrong element is {leaf}{index_of(element)}: {single.actual:.9g} for {single.expected:.9g}"
    return session.failed(
        "GC102",
        text,
        ev,
        input=str(leaf),
        expected=probe.expected,
        actual=probe.actual,
        bound=probe.bound,
        evidence=Evidence(ev.case, element=element),
    )


def _results(ledger: _Ledger, evaluators: list[Evaluator]) -> Iterator[CheckResult]:
    session, cases = ledger.session, len(evaluators)
    for ev, outcome, failures in ledger.tipped.held_back():
        _note(ev, outcome, failures, ledger)
    odd = {key: ledger.shown.get(key, ("", (False, False, 0)))[1] for key in ledger.failures}
    yield from (ledger.failures[key] for key in sorted(odd, key=lambda key: (key[0], odd[key], key)))
    if not ledger.failures:
        yield from ledger.broken[:1]
    if ledger.exact is not None:
        yield ledger.exact
    codes, wrong = ({key[place] for key in ledger.failures} for place in (0, 1))
    for (name, output), pair in ledger.pairs.items():
        if name not in wrong:
            yield _pair_result(ledger, name, output, pair)
    telling = {name for (name, _), pair in ledger.pairs.items() if pair.detectable or pair.undecided or not pair.agreed}
    flat = dict.fromkeys(name for name, _ in ledger.pairs if name not in telling | wrong)
    if flat and not ledger.probes:
        said = f"the derivative with respect to {' and '.join(flat)} is 0 on all these inputs, and so is backward's"
        session.notes.append(f"{said}: inputs where it is not 0 would show more")
    if not ledger.pairs and not ledger.failures and not ledger.large:
        yield from _nothing(ledger)
    else:
        yield from _open(ledger, evaluators, wrong | ledger.probed)
    if ledger.large and "GC102" not in codes:
        yield _probe_result(session, ledger)
    corners = sum(pair.corners for pair in ledger.pairs.values())
    for code in ("GC103", "GC104", "GC106"):
        if code not in codes:
            yield session.passed(code, cases) if corners else session.skipped(code, "no kink, jump or tie was found")
    tip = None if "GC105" in codes else ledger.tipped.result(session)
    if tip is not None:
        yield tip
    for code in ("GC105", "GC152"):
        if code not in codes and (code != "GC105" or tip is None):
            yield session.passed(code, cases)


def _nothing(ledger: _Ledger) -> Iterator[CheckResult]:
    """GC101 where no pair was compared at all."""
    session = ledger.session
    if ledger.left_out:
        yield session.out_of_time(f"time ran out before any derivative was compared; {_left_out(ledger)}")
        return
    if ledger.broken:
        return
    ran = session.evaluators
    if ran and all(ev.case.is_empty for ev in ran):
        text = "of all inputs that were tried forward takes those without elements alone; a cases function gives others"
        yield session.result("GC101", Status.UNDECIDED, text)
        return
    lacking = "output element depends on a float input"
    if not any(ev.leaves for ev in ran):
        lacking = "input takes a gradient (whole numbers do not: 3.0 does, 3 does not)"
    many = "s" * (len(ran) != 1)
    text = f"nothing to differentiate: no {lacking}; only contracts were checked, on {len(ran)} case{many}"
    yield session.skipped("GC101", text)


def _open(ledger: _Ledger, evaluators: list[Evaluator], known: set[str]) -> Iterator[CheckResult]:
    """GC101 for pairs of input and output that no case decided, but for inputs that are known otherwise."""
    session = ledger.session
    pairs = {
        (leaf.name, session.output_name(slot))
        for ev in evaluators
        for leaf in ev.leaves
        for slot in ev.slots
        if ev.array(leaf).size and ev.outputs[slot].size
    }
    missing = [(name, output) for name, output in sorted(pairs - ledger.pairs.keys()) if name not in known]
    if not missing or ledger.broken:
        return
    shown = ", ".join(f"d({output})/d({name})" for name, output in missing)
    if ledger.left_out:
        yield session.out_of_time(f"time ran out before {shown} was compared; {_left_out(ledger)}")
        return
    for name, output in missing:
        yield session.result("GC101", Status.UNDECIDED, "no case decides this derivative", input=name, output=output)


def _left_out(ledger: _Ledger) -> str:
    seconds = ledger.session.call_seconds
    return f"{ledger.left_out} cases were left out (a call of forward takes {seconds:.2g} s); raise --timeout"


def _pair_result(ledger: _Ledger, name: str, output: str, pair: Tally) -> CheckResult:
    session = ledger.session
    best = min(pair.detectable, default=None)
    promise = max(session.options.promise, PROMISE_TOLERANCE * ledger.vague.get((name, output), 0.0))
    is_single = any(
        ev.case.precision or ev.outputs[index].dtype != np.float64 for ev in session.evaluators for index in ev.slots
    )
    if session.dtype != "float64" or is_single:
        promise = max(promise, SLIGHT)
    text = f"{pair.agreed} of {pair.entries} entries agree in {pair.cases} cases"
    if pair.corners:
        text += f", {pair.corners} lie at kinks, jumps or ties"
    if pair.undecided:
        text += f", {pair.undecided} could not be decided"
    status = Status.PASS
    if (best or 0.0) > promise or pair.agreed + pair.corners == 0:
        sees = median(pair.detectable) if pair.detectable else float("inf")
        text += f"; the smallest error that would have been seen is {sees:.1e}, not {promise:.0e}"
        status = Status.UNDECIDED
    return session.result("GC101", status, text, input=name, output=output, detectable=best, cases=pair.cases)


def _probe_result(session: CheckSession, ledger: _Ledger) -> CheckResult:
    detectable = median(ledger.probes) if ledger.probes else None
    text = f"{len(ledger.probes)} random directions in {ledger.large} large cases agree"
    if detectable is not None:
        text += f"; an error of {detectable:.1e} of one typical element would have been seen"
    limit = SLIGHT if session.dtype == "float64" else 1 / 2
    is_flat = not ledger.probes and not ledger.left_out  # nothing but zeros, which agree
    is_sharp = detectable is not None and median(ledger.blurs) < limit
    if ledger.is_extra and not is_sharp and not is_flat:
        return session.skipped("GC102", f"{text}; too vague to count, but smaller cases were compared entry by entry")
    status = Status.PASS if is_sharp or is_flat else Status.UNDECIDED
    text += "" if status is Status.PASS else ", which is too vague: give cases with fewer elements, or larger gradients"
    return session.result("GC102", status, text, detectable=detectable, cases=ledger.large)
