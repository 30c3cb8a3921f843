"""The seconds of a stage are the processor's, so that a busy machine changes no verdict."""

from __future__ import annotations

import time

from opkit.checker.model.budget import Budget, takes_longer


def test_waiting_uses_up_the_clock_s_seconds_alone() -> None:
    """A process that waits takes nothing of the processor; of a slow op the time that passes counts."""
    quick, slow = Budget(0.02), Budget(0.02, is_slow=True)
    time.sleep(0.05)
    assert not quick.is_over()
    assert slow.is_over()


def test_a_share_is_over_before_the_whole() -> None:
    """Work uses up the shares one after the other."""
    budget = Budget(0.02)
    while not budget.is_over(0.5):
        sum(range(1000))
    assert not budget.is_over()


def test_one_long_call_of_several_does_not_make_an_op_slow() -> None:
    """What else ran on the machine is not the op's; a call that is long each time is."""
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        time.sleep(0.03 if len(calls) == 1 else 0.0)

    assert not takes_longer(0.02, call)
    assert takes_longer(0.001, lambda: time.sleep(0.002))
