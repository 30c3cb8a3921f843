"""The seconds of a stage are the processor's, so that a busy machine changes no verdict."""

from __future__ import annotations

import time

from opkit.checker.model.budget import Budget


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
