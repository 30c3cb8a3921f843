"""What is frozen for a script's sake is given back to the garbage collector at the end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import opkit
from opkit.collection import Freezing
from opkit.verify.isolation.child import Task
from opkit.verify.isolation.supervisor import Supervisor, can_fork


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    """Nothing is frozen before or after."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_a_script_leaves_nothing_frozen(tmp_path: Path) -> None:
    """``run_script`` freezes what a script imports while it runs, and no longer."""
    (tmp_path / "job.py").write_text("import gc\nimport paddle\ncount = gc.get_freeze_count()\n")
    names = opkit.run_script(tmp_path / "job.py")
    assert names["count"] > 1000
    assert gc.get_freeze_count() == 0


def test_nested_contexts_thaw_at_the_last() -> None:
    """The end of an inner context leaves frozen what the outer one needs."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "paddle"]:
        del sys.modules[name]
    with opkit.frameworks():
        with opkit.frameworks():
            import paddle  # noqa: F401
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_what_the_program_froze_stays_frozen() -> None:
    """Objects that the program froze by itself are neither added to nor given back."""
    gc.freeze()
    count = gc.get_freeze_count()
    with opkit.frameworks():
        import paddle  # noqa: F401
    assert abs(gc.get_freeze_count() - count) < 100
    assert gc.get_freeze_count() > 1000


def test_ending_twice_is_ending_once() -> None:
    """A second ``end()`` does not end somebody else's freezing."""
    first, second = Freezing(), Freezing()
    first.end()
    first.end()
    second.freeze()
    assert gc.get_freeze_count() > 0
    second.end()
    assert gc.get_freeze_count() == 0


@pytest.mark.skipif(not can_fork(), reason="isolation by fork")
@pytest.mark.parametrize("is_left_early", [False, True])
def test_a_supervisor_leaves_nothing_frozen(is_left_early: bool) -> None:
    """A run of jobs in children thaws the parent at its end, left early or not."""
    run = Supervisor(1).run([Task("k", lambda outbox: outbox.send(gc.get_freeze_count() > 1000))])
    assert next(run) == ("k", True)
    if is_left_early:
        run.close()
    else:
        assert len(list(run)) == 1
    assert gc.get_freeze_count() == 0
