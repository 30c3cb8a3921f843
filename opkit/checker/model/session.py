"""Session: one op's cases, prepared once and shared by all checks, and the making of results.

Holds what checks have in common; no check is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from time import perf_counter, process_time
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.case import Case, first_of_each
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.codes import CODES, OUT_OF_TIME
from opkit.checker.model.copies import recast
from opkit.checker.model.custody import Custody
from opkit.checker.model.draws import Drawing, generator
from opkit.checker.model.evaluate import Evaluator, is_float, mapped
from opkit.checker.model.numbers import largest, median, widened
from opkit.checker.model.options import Options
from opkit.checker.model.report import CheckResult, OpReport, Status
from opkit.checker.model.thresholds import CALLS_A_CASE, CLOCK_SEARCH, FEW, MOST_ELEMENTS
from opkit.checker.model.trial import Trial
from opkit.record import mutable


def cast_case(case: Case, dtype: str) -> Case:
    """Return the case with its float arrays in another float dtype, and complex ones of that precision."""

    arrays = [array for array in case.arrays if isinstance(array, ndarray) and is_float(array)]
    wide = iter(recast(arrays, dtype))

    def cast(value: Any) -> Any:
        if np.iscomplexobj(value):
            return value.astype(np.result_type(dtype, np.complex64))
        if isinstance(value, ndarray):
            return next(wide) if is_float(value) else value
        return value.astype(dtype) if is_float(value) else value

    return replace(case, inputs=mapped(case.inputs, cast))


@mutable
class CheckSession:
    """What the checks of one op share.

    Args:
        checkable: the op.
        options: settings.
        trial: decides what lies in the domain.
        cases: the cases found or given, all of them accepted by forward.
        notes: what a reader should know.
        is_wrong: whether a check has failed.
        left_out: what was not done, for want of time.
        not_served: {what forward takes and backward does not answer: what backward does there}.
        dtype: of the float inputs, as the cases were found; "" where the cases mix dtypes.
        claims_float64: whether infer and kernel take float64, so that its resolution may be asked for.
        custody: hands the op's functions copies, and knows what was written.
        drawing: says which calls draw global random numbers.
        is_impure: set by the purity checks; numeric checks are then skipped.
        started: when the check began, on the clock that kernels which sleep or wait take time on too.
        worked: the processor's seconds by then.
        call_seconds: what a call of forward takes, as measured.
        evaluators: one for each case, run once.
        large: a case with many elements, for what does not need every entry of the Jacobian.
        single: a few cases in float32, where the others are float64 and the op takes float32 too.
        sizes: the ``typical`` and ``usual`` ones of the op's results, None before they were looked at.
        coincidence: says whether backward is wrong on a case only for a coincidence of sizes, and keeps it if so.
    """

    checkable: Checkable
    options: Options
    trial: Trial
    cases: list[Case]
    notes: list[str] = field(default_factory=list)
    is_wrong: bool = False
    left_out: list[str] = field(default_factory=list)
    not_served: dict[str, str] = field(default_factory=dict)
    dtype: str = ""
    claims_float64: bool = True
    custody: Custody = field(default_factory=Custody)
    drawing: Drawing = field(default_factory=Drawing)
    is_impure: bool = False
    started: float = field(default_factory=perf_counter)
    worked: float = field(default_factory=process_time)
    call_seconds: float = 0.0
    evaluators: list[Evaluator] = field(default_factory=list)
    large: list[Evaluator] = field(default_factory=list)
    single: list[Evaluator] = field(default_factory=list)
    sizes: tuple[float, float] | None = None
    coincidence: Callable[[Case], bool] | None = None

    def is_found(self, case: Case) -> bool:
        """Return whether nothing declares a case: the search found it, and there is no definition."""
        return case.origin == "search" and self.checkable.infer is None

    def prepare(self, large: Case | None = None) -> None:
        """Run forward once on every case."""
        self._measure()
        for case in self.cases:
            self.evaluators.append(Evaluator(self.checkable, case).prepare())
        if large is not None and not self.is_slow:
            self.large.append(Evaluator(self.checkable, large).prepare())
        if self.sizes is None:
            results = [np.abs(widened(ev.outputs[index])) for ev in self.ordinary() for index in ev.slots]
            every = np.concatenate([item[np.isfinite(item)] for item in results]) if results else np.zeros(0)
            self.sizes = (median([*map(largest, results)]), median(every)) if every.size else (0.0, 0.0)
        for ev in self.evaluators:
            ev.typical, ev.usual = self.sizes

    def _measure(self) -> None:
        """Time a call, and keep of a slow op's cases as many as the time allows: the small and various ones."""
        self.call_seconds = self.trial.quickest
        for _ in range(FEW):  # the machine may have been busy with others
            if not self.is_slow or not self.has_time(CALLS_A_CASE):
                break
            begun = perf_counter()
            self.checkable.forward(self.cases[0].inputs, self.cases[0].attrs)
            self.call_seconds = min(self.call_seconds, perf_counter() - begun)
        if not self.is_slow:
            return
        most = max(1, int(self.left() / (self.call_seconds * CALLS_A_CASE)))
        if most < len(self.cases):
            various = _various(self.cases)
            chosen = {*map(id, [*various[:most], *self.first_of_options(various)])}
            self.notes.append(
                f"a call of forward takes {self.call_seconds:.2g} s: {len(chosen)} of {len(various)} cases were checked"
            )
            self.cases[:] = [case for case in various if id(case) in chosen]

    def first_of_options(self, cases: list[Case]) -> list[Case]:
        """Return the first case, and the first in which each option has another value: decided whatever the time is."""
        defaults = self.checkable.default_attrs
        found = dict.fromkeys(("",), cases[0]) if cases else {}
        for case in cases:
            for name, value in case.attrs.items():
                if name not in found and repr(value) != repr(defaults.get(name)):
                    found[name] = case
        return list(found.values())

    def has_time(self, calls: int) -> bool:
        """Return whether some calls would end in time."""
        return self.left() >= calls * self.call_seconds

    @property
    def is_slow(self) -> bool:
        """Whether a call takes so long that the plan has to be cut to the time."""
        return self.call_seconds > self.options.slow_call

    # --- choosing cases
    def ordinary(self) -> list[Evaluator]:
        """Cases whose values are neither extreme nor absent."""
        return [ev for ev in self.evaluators if not ev.case.is_extreme and not ev.case.is_empty]

    def diverse(self, limit: int, smallest: int = 1, pool: list[Evaluator] | None = None) -> list[Evaluator]:
        """Return up to ``limit`` ordinary cases that differ in rank, attributes and regime."""
        chosen, later = first_of_each(
            (
                ev
                for ev in (self.ordinary() if pool is None else pool)
                if smallest <= max(ev.case.sizes, default=0) <= MOST_ELEMENTS
            ),
            lambda ev: (ev.case.ranks, *sorted(map(str, ev.attrs.items()))),
        )
        return (chosen + later)[:limit]

    def rng(self, key: int) -> Generator:
        """Return a generator that depends on the seed and a check's own number."""
        return generator(self.options.seed, key)

    def elapsed(self) -> float:
        """Seconds since the check began: of the processor, so that others' load changes no verdict.

        Of an op whose calls take long, of the clock: kernels that sleep or wait take none of the processor's.
        """
        return perf_counter() - self.started if self.is_slow else process_time() - self.worked

    def left(self) -> float:
        """Seconds until no further case is begun: half of the clock after the search is for what comes of a failure."""
        seconds = self.options.seconds * max(self.options.effort, 1.0) - self.elapsed()
        return min(seconds, (1 + CLOCK_SEARCH) / 2 * self.options.clock - (perf_counter() - self.started))

    def clock(self) -> float:
        """Return the seconds that are left of the clock."""
        return self.options.clock - (perf_counter() - self.started)

    @property
    def asks_second(self) -> bool:
        """Whether a wrong gradient of the gradient is a failure."""
        return self.checkable.asks_second or self.options.demand_second

    def rest(self) -> Options:
        """Return the options with what is left of the clock, for a check within this one."""
        return replace(self.options, clock=self.clock())

    def out_of_time(self, message: str) -> CheckResult:
        """Make the error of a check whose time ended before the derivatives were decided."""
        where = self.checkable.forward_where
        return CheckResult.of(OUT_OF_TIME, Status.ERROR, message, where=where)

    # --- results
    def result(self, code: str, status: Status, message: str = "", **fields: Any) -> CheckResult:
        """Make a result of the check with that code."""
        where = self.checkable.backward_where if CODES[code].is_of_backward else self.checkable.forward_where
        fields.setdefault("where", where or self.checkable.forward_where)
        return CheckResult.of(CODES[code], status, message, formats=self.checkable.formats, **fields)

    def passed(self, code: str, cases: int, **fields: Any) -> CheckResult:
        """Make a passing result."""
        return self.result(code, Status.PASS, "", cases=cases, **fields)

    def failed(self, code: str, message: str, ev: Evaluator | None = None, **fields: Any) -> CheckResult:
        """Make a failing result that shows its case."""
        return self.result(code, Status.FAIL, message, case=None if ev is None else ev.case, **fields)

    def breaches(self, *codes: str) -> Iterator[CheckResult]:
        """Yield a failure for each code of the writes that were found: the first in a call that returned, if any."""
        reported: set[str] = set()
        for breach in sorted(self.custody.breaches, key=lambda breach: breach.has_raised):
            if breach.code in codes and breach.code not in reported:
                reported.add(breach.code)
                yield self.result(breach.code, Status.FAIL, breach.message, case=breach.case)

    def skipped(self, code: str, why: str) -> CheckResult:
        """Make a result of a check that does not apply."""
        return self.result(code, Status.SKIP, why)

    def output_name(self, index: int) -> str:
        """Name an output by its position."""
        outputs = self.checkable.outputs
        if index < len(outputs) and not any(arg.is_variadic for arg in outputs[: index + 1]):
            return outputs[index].name
        return f"output {index}" if len(outputs) != 1 else f"{outputs[0].name}[{index}]"


#: Checks an op within the check of another.
Check: TypeAlias = "Callable[[Checkable, Options], OpReport]"


@mutable
class Findings:
    """The first failure of each code that a check finds."""

    session: CheckSession
    results: dict[str, CheckResult] = field(default_factory=dict)

    def add(self, code: str, message: str, ev: Evaluator, **fields: Any) -> None:
        """Keep a failure, unless its code has one."""
        if code not in self.results:
            self.results[code] = self.session.failed(code, message, ev, **fields)

    def told(self, codes: Iterable[str], cases: int) -> Iterator[CheckResult]:
        """Yield the failures, and a pass on so many cases for each of these codes that has none."""
        yield from self.results.values()
        yield from (self.session.passed(code, cases) for code in codes if code not in self.results)


def _various(cases: list[Case]) -> list[Case]:
    """Order cases: one of each combination of ranks and attributes first, the smaller and the ordinary ones before."""

    def order(case: Case) -> tuple[bool, int]:
        return case.is_extreme or case.is_empty, sum(array.size for array in case.arrays)

    first, later = first_of_each(
        sorted(cases, key=order), lambda case: (case.ranks, case.is_empty, str(sorted(case.attrs.items())))
    )
    return first + later
