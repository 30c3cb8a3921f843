"""Report: what a run of gradcheck found, op by op and check by check.

Data and its JSON form only; how it looks on a terminal or a page is the reporters' business.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from importlib import import_module
from typing import Any

from numpy import ndarray

from opkit.checker.model.case import Case, plain
from opkit.checker.model.codes import TITLES, CheckCode
from opkit.errors import Location
from opkit.ir import Shape
from opkit.record import entity, record


class Status(str, Enum):
    """Outcome of a check, an op or a run; each member carries what it means."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    ERROR = "error"
    SKIP = "skip"

    @property
    def meaning(self) -> str:
        """One line for people."""
        return _MEANING[self]

    @staticmethod
    def worst(statuses: Iterable[Status]) -> Status:
        """Return the one that wins: error, fail, undecided, pass; skip when there is nothing else."""
        found = set(statuses)
        for status in (Status.ERROR, Status.FAIL, Status.UNDECIDED, Status.PASS):
            if status in found:
                return status
        return Status.SKIP


#: A pass of one of these is a decided derivative.
_DERIVATIVES = frozenset({"GC101", "GC102"})

_MEANING = {
    Status.PASS: "holds on everything tried; 'detectable' is the smallest relative error it would have seen",
    Status.FAIL: "does not hold: the deviation exceeds three times the measured bound",
    Status.UNDECIDED: "the measured bound is too wide to say",
    Status.ERROR: "could not be checked, because something raised",
    Status.SKIP: "does not apply",
}


@entity
class Slopes:
    """One-sided difference quotients at a kink, for a plot.

    Args:
        steps: step sizes, (K,).
        left, right: one-sided slopes at those steps, (K,).
        claimed: the gradient that backward gives.
        element: flat index of the input element.
    """

    steps: ndarray
    left: ndarray
    right: ndarray
    claimed: float
    element: int = 0


@entity
class Evidence:
    """What a failure is based on, enough to show and to repeat it.

    Args:
        case: the case with its arrays.
        douts: the incoming gradients, one per output.
        element: index of the worst input element, None where there is none.
        output_element: index of the output element.
        errors: |analytic - numeric| over the Jacobian, (input elements, output elements), 0 where the two agree.
        slopes: one-sided slopes at a kink.
        pattern: the guess at what went wrong: "sign", "factor 2", "transposed" ...; "" without one.
        share: by what share of its size a result is another one than an op gave before, infinity where nothing tells.
    """

    case: Case | None = None
    douts: tuple[ndarray, ...] = ()
    element: Shape | None = None
    output_element: Shape | None = None
    errors: ndarray | None = None
    slopes: Slopes | None = None
    pattern: str = ""
    share: float = math.inf


@record
class CheckResult:
    """The outcome of one check of one op: the first and worst failure, or what a pass is based on.

    Args:
        check: name of the check, see codes.
        status: outcome.
        code: "GC101" ...
        message: what was found, in one or two sentences.
        input, output: the names concerned.
        case: the case concerned, as JSON data.
        expected, actual: numeric and claimed value, or two dtypes, shapes ...
        bound: how far the expected value may be off.
        detectable: the smallest relative error that would have been seen.
        where: file and line of the user's function.
        evidence: arrays behind a failure; not part of the JSON.
        cases: how many cases the check ran on.
        consequences: findings that follow from this one.
        hint: what the pattern of the finding suggests, "" where it suggests nothing.
        beyond: whether it is undecided because it fails only beyond the inputs that a run was seen with.
        is_stopped: whether it says only that what another finding names stopped the check.
        needs_more: whether it is undecided whatever cases say: a surrogate is declared, a hazard or a layout is mended.
    """

    check: str
    status: Status
    code: str
    message: str = ""
    input: str | None = None
    output: str | None = None
    case: Mapping[str, Any] | None = None
    expected: Any = None
    actual: Any = None
    bound: float | None = None
    detectable: float | None = None
    where: Location | None = None
    evidence: Evidence | None = None
    cases: int = 0
    consequences: tuple[CheckResult, ...] = ()
    hint: str = ""
    beyond: bool = False
    is_stopped: bool = False
    needs_more: bool = False

    @classmethod
    def of(
        cls,
        row: CheckCode,
        status: Status,
        message: str = "",
        case: Case | None = None,
        formats: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> CheckResult:
        """Return the result of a check, with the case that shows it, in the formats of its inputs."""
        if case is not None:
            fields = {"case": case.to_json(formats), "evidence": Evidence(case), **fields}
        return cls(row.name, status, row.code, message, **fields)

    @property
    def is_finding(self) -> bool:
        """Whether it failed or could not run."""
        return self.status in (Status.FAIL, Status.ERROR)

    @property
    def title(self) -> str:
        """What the check asks, in one line."""
        return TITLES.get(self.code, self.check)

    def to_json(self) -> dict[str, Any]:
        """Return the contract's object for one check."""
        where = self.where and {"file": self.where.file, "line": self.where.line}
        if where and self.where and self.where.col:
            where["col"] = self.where.col
        shown = [
            "check",
            "status",
            "code",
            "message",
            "input",
            "output",
            "case",
            "expected",
            "actual",
            "bound",
            "detectable",
        ]
        return {
            **{name: plain(getattr(self, name)) for name in shown},
            "status": self.status.value,
            "where": where,
            **({"hint": self.hint} if self.hint else {}),
            **({"consequences": [item.to_json() for item in self.consequences]} if self.consequences else {}),
            **({"beyond": True} if self.beyond else {}),
        }


@record
class FatalCall:
    """A call that ended the process of an earlier check of the op.

    Args:
        finding: says how, and shows the call.
        case: its inputs.
        is_backward: whether it was one of backward.
    """

    finding: CheckResult
    case: Case
    is_backward: bool


@record
class OpReport:
    """All checks of one op.

    Args:
        op: its name.
        dir: the op directory, None for a PyLayer or py_func.
        checks: outcomes in the order of their codes.
        seconds: wall time.
        tried: what was run, a line each ("12 shapes, 3 regimes ...").
        notes: what a reader should know (constants, dropped cases, declared exceptions).
        rests_on: the inputs that the verdict is based on, in a line: how many, their ranges, options that never varied.
        held: sharding signatures that were proved: op type, number of axes of each input, signature, as texts.
        unserved: the note that says what forward takes and backward does not answer, "" for none.
    """

    op: str
    checks: tuple[CheckResult, ...] = ()
    dir: str | None = None
    seconds: float = 0.0
    tried: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rests_on: str = ""
    held: tuple[tuple[str, str, str], ...] = ()
    unserved: str = ""

    @property
    def status(self) -> Status:
        """The worst of its checks; skip where all hold, but there was no derivative to compare: that is not a pass."""
        found = Status.worst(check.status for check in self.checks)
        return Status.SKIP if found is Status.PASS and self.undifferentiated is not None else found

    @property
    def undifferentiated(self) -> CheckResult | None:
        """The result that says why no derivative was compared, None where one was, or the check did not run."""
        if any(check.code in _DERIVATIVES and check.status is Status.PASS for check in self.checks):
            return None
        return next((check for check in self.checks if check.code == "GC101" and check.status is Status.SKIP), None)

    @property
    def detectable(self) -> float | None:
        """The smallest relative error that all comparisons with differences would have seen, or, without any, all."""
        seen = [item for item in self.checks if item.status is Status.PASS and item.detectable is not None]
        own = [item for item in seen if item.code in _DERIVATIVES]
        return max((item.detectable for item in own or seen if item.detectable is not None), default=None)

    @property
    def findings(self) -> tuple[CheckResult, ...]:
        """The checks that failed or could not run."""
        return tuple(check for check in self.checks if check.is_finding)

    def to_json(self) -> dict[str, Any]:
        """Return the contract's object for one op."""
        return {
            "op": self.op,
            "dir": self.dir,
            "status": self.status.value,
            "checks": [check.to_json() for check in self.checks],
            "seconds": round(self.seconds, 6),
            **({"rests_on": self.rests_on} if self.rests_on else {}),
        }


@record
class Report:
    """A whole run.

    Args:
        opkit: the version that ran.
        seed: reproduces the run.
        ops: one report per op, in the order of the targets.
        command: "gradcheck", or "sbp".
    """

    opkit: str
    seed: int
    ops: tuple[OpReport, ...] = field(default=())
    command: str = "gradcheck"

    def __bool__(self) -> bool:
        """Return whether nothing failed, as an ``assert`` of it asks."""
        return self.is_clean()

    def __repr__(self) -> str:
        return f"<Report of {len(self.ops)} op{'s' * (len(self.ops) != 1)}: {self.status.value}>"

    def __str__(self) -> str:
        return _shown("text", self)

    def _repr_html_(self) -> str:
        return _shown("notebook", self)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The findings of all ops: what failed or could not be checked."""
        return tuple(item for op in self.ops for item in op.findings)

    @property
    def status(self) -> Status:
        """The worst of its ops."""
        return Status.worst(op.status for op in self.ops)

    def is_clean(self, strict: bool = False) -> bool:
        """Return whether nothing failed; with ``strict`` nothing may be undecided either."""
        bad = {Status.FAIL, Status.ERROR} | ({Status.UNDECIDED} if strict else set())
        return not any(op.status in bad for op in self.ops)

    def to_json(self) -> dict[str, Any]:
        """Return the contract's one object, ready for ``json.dumps(..., allow_nan=False)``."""
        return {
            "schema": 1,
            "opkit": self.opkit,
            "seed": self.seed,
            **({"command": self.command} if self.command != "gradcheck" else {}),
            "ops": [op.to_json() for op in self.ops],
        }


def _shown(form: str, report: Report) -> str:
    """Return a report as a row above this one shows it, which is loaded when somebody looks."""
    text: str = getattr(import_module("opkit.reporters.notebook"), form)(report)
    return text
