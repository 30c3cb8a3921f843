"""What a run knows of its targets, and what it says of those that it never heard the end of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opkit.checker import CheckResult, OpReport, Options, Status
from opkit.verify import RunOptions, run_targets
from opkit.verify import run as run_module
from opkit.verify.targets.target import Target, TargetKind
from opkit.verify.workers.client import WorkerError
from opkit.verify.workers.ledger import Account, Begun, Checked, Ledger, Planned
from tests.verify.opdirs import make_op

DEAD = CheckResult("crash", Status.ERROR, "GC191", "the worker died")


def report(op: str) -> OpReport:
    return OpReport(op, ())


def planned() -> Account:
    account = Account(0, "lib", "lib")
    account.note(Planned(0, ("a", "b", "c"), ("lib/a", "lib/b", None)))
    return account


def test_a_target_of_which_nothing_was_heard_is_owed_itself() -> None:
    """Before the plan the target stands for all its ops."""
    (message,) = Account(3, "lib", "lib").settle(DEAD, 1.5)
    assert (message.target, message.order, message.report) == (3, -1, OpReport("lib", (DEAD,), "lib", 1.5))


def test_ops_without_a_report_are_owed() -> None:
    """What the plan names and no report came of is missing; findings about the target itself are not part of an op's report."""
    account = planned()
    account.note(Checked(0, -1, report("lib")))
    account.note(Checked(0, 1, report("b")))
    assert account.owed == {0: "a", 2: "c"}


def test_what_ran_is_told_apart_from_what_waited() -> None:
    """Where a worker dies, only the op that had begun carries the plain finding."""
    account = planned()
    account.note(Begun(0, 0))
    account.note(Checked(0, 0, report("a")))
    account.note(Begun(0, 1))
    assert account.running == {1: "b"}
    messages = [message.report.checks[0].message for message in account.settle(DEAD)]
    assert messages == ["the worker died", "the worker died; this op had not begun (b ran)"]


def test_settled_ops_keep_their_directories_and_are_owed_no_more() -> None:
    """Each report names the op directory of its own op."""
    account = planned()
    assert [message.report.dir for message in account.settle(DEAD)] == ["lib/a", "lib/b", None]
    assert account.owed == {}


def test_reports_stand_in_the_order_of_targets_and_ops() -> None:
    """The order of arrival does not show; several findings about a target keep theirs."""
    ledger = Ledger([Target(TargetKind.SCRIPT, "/x/one.py"), Target(TargetKind.SCRIPT, "/x/two.py")])
    for message in (
        Planned(1, ("c",)),
        Checked(1, 0, report("c")),
        Planned(0, ("a", "b")),
        Checked(0, 1, report("b")),
        Checked(0, 0, report("a")),
        Checked(0, -1, report("second")),
        Checked(0, -1, report("first")),
    ):
        ledger.note(message)
    assert [item.op for item in ledger.reports] == ["second", "first", "a", "b", "c"]
    assert ledger.settle(DEAD) == []


@pytest.mark.parametrize("is_raising", [True, False])
def test_no_op_is_lost_when_the_workers_end_early(
    here: Path, monkeypatch: pytest.MonkeyPatch, is_raising: bool
) -> None:
    """Ops that were planned and never reported are errors, though other ops of their target were reported."""

    def ends_early(*_: object) -> Iterator[object]:
        yield Planned(0, ("first", "second"))
        yield Checked(0, 0, report("first"))
        if is_raising:
            raise WorkerError("the workers' parent died")

    make_op(here, "one")
    monkeypatch.setattr(run_module, "run_isolated", ends_early)
    outcome = run_targets(["one"], RunOptions(Options(), replay=False))
    assert [(op.op, op.status.value) for op in outcome.report.ops] == [("first", "skip"), ("second", "error")]
    assert outcome.exit_status() == 1
