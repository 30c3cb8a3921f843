"""Watch: what becomes of a user's function that finds no room for another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Checkable
from opkit.verify.isolation import announced_calls
from opkit.verify.isolation.announced_calls import Watch
from opkit.verify.isolation.flight import Flight

FULL = "can't start new thread"


def watched(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a forward as a worker calls it."""

    def kernel(arrays: Any, attrs: Any) -> list[Any]:
        return [forward(arrays["x"])]

    return Watch(Flight()).over(Checkable("op", (Arg("x"),), (Arg("y"),), kernel)).forward


def test_a_call_without_room_for_a_thread_is_repeated_when_others_have_ended() -> None:
    """Threads that an earlier call left and that end soon are waited for."""
    release = threading.Event()
    threads = [threading.Thread(target=release.wait) for _ in range(8)]
    calls: list[int] = []

    def forward(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            for thread in threads:
                thread.start()
            threading.Timer(0.05, release.set).start()
            raise RuntimeError(FULL)
        assert sum(thread.is_alive() for thread in threads) <= 4  # whichever had their turn
        return 2 * x

    assert (watched(forward)({"x": np.ones(2)}, {})[0] == 2).all()
    assert len(calls) == 2
    for thread in threads:
        thread.join()


def test_threads_that_do_not_end_are_the_ops_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing ends, the error stands, and no later call waits."""
    monkeypatch.setattr(announced_calls, "_PATIENCE", 0.05)
    release = threading.Event()
    threads = [threading.Thread(target=release.wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    calls: list[int] = []

    def forward(x: Any) -> Any:
        calls.append(1)
        raise RuntimeError(FULL)

    call = watched(forward)
    try:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=FULL):
                call({"x": np.ones(2)}, {})
    finally:
        release.set()
        for thread in threads:
            thread.join()
    assert len(calls) == 2


def test_another_error_of_the_same_kind_is_not_repeated() -> None:
    """Only a thread that could not start is worth another try."""
    calls: list[int] = []

    def forward(x: Any) -> Any:
        calls.append(1)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        watched(forward)({"x": np.ones(2)}, {})
    assert len(calls) == 1
