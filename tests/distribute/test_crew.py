"""Threads that work together: errors, nesting, and the bound on threads of linear algebra."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from opkit import cores
from opkit.distribute.threads import crew_of


def test_every_member_runs_its_task() -> None:
    """Tasks run at once: each waits for the others at the barrier."""
    seen: list[str] = []

    def task(barrier: threading.Barrier) -> None:
        barrier.wait(10)
        seen.append(threading.current_thread().name)

    with crew_of(3) as crew:
        crew.run([task] * 3)
    assert len(set(seen)) == 3


@pytest.mark.parametrize("bad", [0, 2])
def test_the_error_of_a_member_is_raised(bad: int) -> None:
    """The others are freed from the barrier, and the crew can work again."""

    def task(place: int) -> object:
        def run(barrier: threading.Barrier) -> None:
            if place == bad:
                raise ValueError(f"device {place}")
            barrier.wait(10)

        return run

    with crew_of(3) as crew:
        with pytest.raises(ValueError, match=f"device {bad}"):
            crew.run([task(place) for place in range(3)])  # type: ignore[misc]
        crew.run([lambda barrier: None] * 3)


def test_a_crew_within_a_crew() -> None:
    """Work that begins other work of the same size gets threads of its own."""
    done: list[int] = []

    def inner(barrier: threading.Barrier) -> None:
        barrier.wait(10)
        done.append(1)

    def outer(barrier: threading.Barrier) -> None:
        barrier.wait(10)
        if threading.current_thread() is threading.main_thread():
            with crew_of(2) as crew:
                crew.run([inner] * 2)
        barrier.wait(10)

    with crew_of(2) as crew:
        crew.run([outer] * 2)
    assert len(done) == 2


def test_linear_algebra_gets_the_cores_that_are_left() -> None:
    """Within the block, threads of BLAS times ours do not exceed the cores; afterwards the bound is gone."""
    before = cores.blas_threads()
    if before is None:
        pytest.skip("numpy's BLAS library here does not say how many threads it uses")
    with cores.limit_blas(2):
        assert (cores.blas_threads() or 1) * 2 <= max(2, cores.usable_cores())
        np.ones((4, 4)) @ np.ones((4, 4))
    assert cores.blas_threads() == before


def test_bounds_of_several_threads_may_overlap() -> None:
    """The first to end does not lift the other's bound, and the last one brings back what was before."""
    before = cores.blas_threads()
    if before is None:
        pytest.skip("numpy's BLAS library here does not say how many threads it uses")
    cores.set_blas_threads(8)
    try:
        one, other = cores.limit_blas(2), cores.limit_blas(cores.usable_cores())
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        assert cores.blas_threads() == 1
        other.__exit__(None, None, None)
        assert cores.blas_threads() == 8
    finally:
        cores.set_blas_threads(before)


@pytest.mark.parametrize(("text", "count"), [("max 100000", None), ("150000 100000", 2), ("50000 100000", 1)])
def test_the_quota_of_a_control_group(text: str, count: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in a control group has no more cores than the group is given."""
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(cores, "_QUOTAS", (str(tmp_path / "cpu.max"),))
    assert cores._quota() == count
