"""Engine: proves what the definition of an op and of its gradient claims about devices, and makes the op's report.

Which cases, cuts and candidates there are is elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from opkit.checker.claims.candidates import unclaimed
from opkit.checker.claims.cases import proof_cases
from opkit.checker.claims.prove import Proof, held_of, prove
from opkit.checker.claims.subject import Subject, Whole, run_whole
from opkit.checker.claims.together import follow, incoming
from opkit.checker.claims.verdicts import result, suggestion, verdicts
from opkit.checker.collect import collect
from opkit.checker.model.agreement import same
from opkit.checker.model.budget import Budget
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable, Kernel
from opkit.checker.model.claim import Claims
from opkit.checker.model.custody import Custody
from opkit.checker.model.evaluate import is_float
from opkit.checker.model.options import Options
from opkit.checker.model.report import CheckResult, OpReport, Status
from opkit.checker.model.thresholds import FEW, PROOF_SHARE, PROOF_SHARE_BACKWARD, SLOW_CALL, SOME
from opkit.checker.model.trial import Trial

_Tell = Callable[[CheckResult], None]


def check_claims(checkable: Checkable, options: Options | None = None, tell: _Tell | None = None) -> OpReport:
    """Prove or refute what an op claims about devices.

    Args:
        checkable: the op; one without definitions makes no claims and is skipped.
        options: settings.
        tell: told of each result as it is found; None for nobody.

    Returns:
        one result for each signature of the op and of the ops of its gradient, in the order of their codes.
    """
    run = _Run(checkable, options or Options(), perf_counter())
    results: list[CheckResult] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for item in run.results():
            if run.options.wants(item.code):
                results.append(item)
                if tell is not None:
                    tell(item)
    results.sort(key=lambda item: item.code)
    offers = [f"{item.message}:\n{item.hint}" for item in results if item.code == "SBP210"]
    notes = [*run.notes, *offers[:FEW]]
    if offers[FEW:]:
        notes.append(f"{len(offers) - FEW} more signatures could be claimed: --verbose shows them")
    seconds = perf_counter() - run.started
    return OpReport(
        checkable.name,
        tuple(results),
        checkable.directory,
        seconds,
        tuple(run.tried),
        tuple(notes),
        held=tuple(run.held),
    )


class _Run:
    """One op's proof."""

    def __init__(self, checkable: Checkable, options: Options, started: float) -> None:
        self.checkable = checkable
        self.options = options
        self.started = started
        self.budget = Budget(options.seconds)
        self.notes: list[str] = []
        self.tried: list[str] = []
        self.held: list[tuple[str, str, str]] = []

    def results(self) -> Iterator[CheckResult]:
        """Yield the results of the op and of its gradient."""
        claims = self.checkable.claims
        if claims is None:
            self.notes.append("there is no definition that could claim signatures")
            yield result("SBP211", Status.SKIP, *self.notes)
            return
        names = claims.outputs
        many = len(names) == 1  # it may be a list
        subject = Subject(
            claims.op,
            self.checkable.forward,
            claims,
            lambda count: (
                [(names[0], index) for index in range(count)] if many else [(name, 0) for name in names[:count]]
            ),
        )
        wholes = yield from self._wholes(subject)
        if not wholes:
            return
        proof = self._proved(subject, wholes, PROOF_SHARE)
        if self.checkable.has_gradient:
            follow(self.checkable, proof.tallies, self.options.seed)
        yield from self._told(subject, wholes, proof, "")
        made = claims.is_made
        for kernel, cases in self._steps(wholes):
            if kernel.claims is not None:
                made = made or kernel.claims.is_made
                yield from self._of_step(kernel, kernel.claims, cases)
        if not made:
            yield result("SBP211", Status.PASS, "the definition claims no signature", where=claims.where)
            self.notes.append("the definition claims no signature: on several devices every one does all the work")

    def _wholes(self, subject: Subject) -> Any:
        """Yield what is wrong with the op on one device; return its cases, run whole."""
        checkable = Custody().over(self.checkable)
        trial = Trial(checkable, perf_counter() + PROOF_SHARE * self.options.seconds)
        collected = collect(checkable, self.options, trial)
        cases = proof_cases(checkable, collected.cases, self.options, trial)
        found = [item for item in collected.findings if item.status is Status.ERROR or not cases]
        yield from found
        if not cases:
            if not found:
                yield result("SBP209", Status.UNDECIDED, "there is no case whose inputs have axes to cut")
            return []
        wholes = [whole for case in cases if (whole := run_whole(subject, case)) is not None]
        self.budget = Budget(self.options.seconds, trial.quickest > SLOW_CALL)  # the search for cases does not count
        if not _repeats(subject, wholes):
            text = "the kernel gives other results for the same inputs: it keeps state between calls, and is not cut"
            yield result("SBP220", Status.UNDECIDED, text, where=self.checkable.forward_where)
            self.notes.append(text)
            return []
        if not wholes:
            yield result("SBP209", Status.UNDECIDED, "no case gives finite results on one device")
        self.tried.append(f"{len(wholes)} cases of {subject.op} over 2, 3 and 4 devices")
        return wholes

    def _proved(self, subject: Subject, wholes: Sequence[Whole], share: float) -> Proof:
        proof = prove(subject, wholes, self.options.seed, lambda: self.budget.is_over(share), SOME)
        if proof.left:
            self.notes.append(f"{subject.op}: {proof.left} cases were left out to keep within the time set")
        return proof

    def _told(self, subject: Subject, wholes: Sequence[Whole], proof: Proof, prefix: str) -> Iterator[CheckResult]:
        """Yield the verdicts on what is claimed, and what could be."""
        self.held += held_of(subject.op, proof)
        yield from verdicts(subject.claims, proof, prefix)
        more, notes = unclaimed(subject, wholes, proof, self.options.seed, self.budget.is_over)
        self.notes += notes
        for item in more:
            yield suggestion(subject.claims, item, prefix)

    # --- the gradient's own ops
    def _steps(self, wholes: Sequence[Whole]) -> Collection[tuple[Kernel, list[Case]]]:
        """Return the user's kernels of the gradient, each with the cases that it gets from the op's."""
        trace = self.checkable.trace
        steps: dict[str, tuple[Kernel, list[Case]]] = {}
        if trace is None:
            return ()
        for number, whole in enumerate(wholes):
            rng = np.random.default_rng([self.options.seed, number])
            outputs = list(whole.outputs.values())
            bound = self.checkable.bound(whole.case.inputs, whole.case.attrs)
            needs = frozenset(name for name in whole.case.inputs if bound is None or name in bound)
            try:
                douts = [incoming(item, rng) for item in outputs]
                _, calls = trace(whole.case.inputs, outputs, douts, whole.case.attrs, needs)
            except Exception:  # user code; gradcheck reports it
                continue
            for call in calls:
                case = replace(whole.case, inputs=dict(call.inputs), attrs=dict(call.attrs))
                steps.setdefault(call.kernel.name, (call.kernel, []))[1].append(case)
        return steps.values()

    def _of_step(self, kernel: Kernel, claims: Claims, cases: Sequence[Case]) -> Iterator[CheckResult]:
        subject = Subject(claims.op, kernel.call, claims, lambda count: [(name, 0) for name in kernel.outputs[:count]])
        wholes = [whole for case in cases if (whole := run_whole(subject, case)) is not None]
        if not wholes:
            self.notes.append(f"{claims.op}: no case gives finite results on one device; its claims were not tried")
            return
        self.tried.append(f"{len(wholes)} cases of {claims.op}")
        proof = self._proved(subject, wholes, PROOF_SHARE_BACKWARD)
        yield from self._told(subject, wholes, proof, f"{claims.op}: ")


def _repeats(subject: Subject, wholes: Sequence[Whole]) -> bool:
    """Return whether some cases give once more what they gave, twice in a row and with other calls between."""
    for whole in [*wholes[:2], *wholes[-1:]]:
        kept = list(whole.outputs.values())
        own = whole.case.inputs
        halved = {name: np.asarray(value / 2, value.dtype) if is_float(value) else value for name, value in own.items()}
        for inputs in (own, halved, own, own):
            again = run_whole(subject, replace(whole.case, inputs=inputs), is_bare=True)
            if inputs is own and (again is None or not same(kept, list(again.outputs.values()), 0.0)):
                return False
    return True
