"""A watched block is interrupted when its time is over, and leaves the interpreter as it was."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time

import pytest

from opkit.verify.isolation.watchdog import LateError, Watchdog

#: Follows a function by its instructions, as the search does, after a watched block.
_TRACED = """
import sys
import time
from opkit.verify.isolation.watchdog import LateError, Watchdog

def late():
    try:
        with Watchdog(0.01):
            while True:
                pass
    except LateError:
        pass

{block}

def watch(frame, event, _):
    frame.f_trace_opcodes = True
    return watch

def followed():
    return 7

sys.settrace(watch)
print(followed())
"""


@pytest.mark.parametrize("block", ["with Watchdog(60):\n    pass", "late()"], ids=["in time", "late"])
def test_functions_are_followed_after_a_watched_block(block: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TRACED.format(block=block)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "7\n", done.stderr


def _endless() -> None:
    while True:
        pass


def test_a_block_that_does_not_end_is_interrupted() -> None:
    with pytest.raises(LateError), Watchdog(0.01):
        _endless()


def test_what_comes_too_late_is_lost() -> None:
    """Nothing is raised outside of a block that ends as its time is over."""
    ended = 0
    for number in range(50):
        with contextlib.suppress(LateError), Watchdog(0.001 + 1e-5 * number):
            sum(range(20_000))
        ended += 1
    assert ended == 50


def test_a_block_that_was_never_left_is_not_watched_beyond_its_function() -> None:
    """What was sent may end a block before it can say that it is over."""

    def entered() -> None:
        Watchdog(0.2).__enter__()  # far longer than it takes to return, on a busy machine too

    entered()
    end = time.perf_counter() + 0.4
    while time.perf_counter() < end:
        pass
