"""The supervisor outlives whatever its children do, and says what they did."""

from __future__ import annotations

import ctypes
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from opkit.verify.isolation.child import Outbox, Task
from opkit.verify.isolation.flight import Flight, FlightStop, Phase, Stop
from opkit.verify.isolation.supervisor import Death, Ended, Supervisor, can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="isolation by fork")


def outcome(run: Callable[[Outbox], None], seconds: float = math.inf, memory: int = 0) -> tuple[list[object], Ended]:
    """Run one job; return its messages and its end."""
    messages = [message for _, message in Supervisor(1).run([Task("k", run, seconds, memory)])]
    assert isinstance(messages[-1], Ended)
    return messages[:-1], messages[-1]


def test_messages_arrive_whole_and_in_order() -> None:
    """Messages larger than a pipe's buffer arrive whole, in the order they were sent."""

    def run(outbox: Outbox) -> None:
        outbox.send("small")
        outbox.send(b"x" * 3_000_000)
        outbox.send({"last": 1})

    messages, ended = outcome(run)
    assert messages == ["small", b"x" * 3_000_000, {"last": 1}]
    assert ended.death is Death.DONE


def test_a_segmentation_fault_is_told_with_the_line() -> None:
    """A crash in C is a signal, with Python's stack at the crash."""

    def run(outbox: Outbox) -> None:
        outbox.flight.call(Phase.BACKWARD)
        ctypes.string_at(0)

    _, ended = outcome(run)
    assert ended.death is Death.KILLED
    assert ended.status == signal.SIGSEGV
    assert "test_supervisor.py" in ended.trace
    assert ended.flight.phase is Phase.BACKWARD
    assert ended.flight.calls == 1


def test_a_hang_is_ended_at_the_limit_with_the_line() -> None:
    """A child that does not come back is killed at its limit; its stack says where it was."""

    def hangs_here(outbox: Outbox) -> None:
        outbox.flight.call(Phase.FORWARD)
        outbox.flight.arm(0.3)  # from here on: on a busy machine a child begins late
        while True:
            pass

    started = time.monotonic()
    _, ended = outcome(hangs_here, seconds=60)
    assert time.monotonic() - started < 20
    assert ended.death is Death.TIMEOUT
    assert "hangs_here" in ended.trace


def test_a_hang_that_ignores_signals_is_ended_too() -> None:
    """Blocked signals do not keep a child alive."""

    def run(outbox: Outbox) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM, signal.SIGINT})
        time.sleep(60)

    _, ended = outcome(run, seconds=0.3)
    assert ended.death is Death.TIMEOUT


@pytest.mark.parametrize("status", [0, 1, 7])
def test_leaving_the_process_is_not_finishing(status: int) -> None:
    """``os._exit`` in user code is told from a finished job, whatever its status."""

    def run(outbox: Outbox) -> None:
        os._exit(status)

    _, ended = outcome(run)
    assert (ended.death, ended.status) == (Death.EXITED, status)


def test_memory_beyond_the_limit_is_refused() -> None:
    """A child cannot take more than its allowance; within it, it can."""

    def run(outbox: Outbox) -> None:
        bytearray(20 << 20)
        outbox.send("20 MiB")
        bytearray(200 << 20)
        outbox.send("200 MiB")

    messages, ended = outcome(run, memory=100)
    assert messages == ["20 MiB"]
    assert "MemoryError" in ended.output


def test_what_a_child_prints_stays_out_of_our_output(capfd: pytest.CaptureFixture[str]) -> None:
    """Prints of user code are kept for the report."""

    def run(outbox: Outbox) -> None:
        print("from Python")
        os.write(1, b"from C\n")

    _, ended = outcome(run)
    assert "from C" in ended.output
    assert capfd.readouterr().out == ""


def test_children_of_children_end_with_them() -> None:
    """A process that user code started does not outlive the job."""

    def run(outbox: Outbox) -> None:
        outbox.send(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid)

    (pid,), _ = outcome(run)
    assert isinstance(pid, int)
    for _ in range(100):
        if not _is_running(pid):
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is still there")


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as handle:
            return handle.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_other_jobs_go_on() -> None:
    """A crash takes nothing else with it, and at most ``width`` jobs run at once."""

    def job(number: int) -> Task:
        def run(outbox: Outbox) -> None:
            outbox.send(number)
            if number % 2:
                os.abort()

        return Task(number, run)

    seen = list(Supervisor(3).run(job(number) for number in range(6)))
    assert sorted(key for key, message in seen if message == key) == list(range(6))
    deaths = {key: message.death for key, message in seen if isinstance(message, Ended)}
    assert deaths == {n: Death.KILLED if n % 2 else Death.DONE for n in range(6)}


def test_leaving_early_ends_the_children() -> None:
    """Closing the iterator kills what is still running."""

    def run(outbox: Outbox) -> None:
        outbox.send(os.getpid())
        time.sleep(60)

    running = Supervisor(1).run([Task(0, run)])
    _, pid = next(running)
    running.close()
    assert not _is_running(pid)


def test_the_recorder_stops_in_place_of_the_call_asked_for() -> None:
    """A replayed worker stops before the call with the number given, not after it."""
    flight = Flight()
    flight.restart([Stop(2, Phase.FORWARD, 5), Stop(3, Phase.FORWARD, 5)])
    flight.call(Phase.FORWARD, 5)
    with pytest.raises(FlightStop):
        flight.call(Phase.FORWARD, 5)
    assert flight.read().calls == 2
    flight.call(Phase.FORWARD, 4)  # another call than the one that was asked for
    assert flight.is_unmet
    flight.close()


def test_calls_of_other_kinds_do_not_move_the_call_to_stop_at() -> None:
    """How often forward was called before depends on how long its calls take."""
    flight = Flight()
    flight.restart([Stop(1, Phase.BACKWARD, 5)])
    for _ in range(3):
        flight.call(Phase.FORWARD, 5)
    with pytest.raises(FlightStop):
        flight.call(Phase.BACKWARD, 5)
    flight.close()


@pytest.mark.skipif(not can_fork(), reason="needs fork")
def test_a_deadline_is_never_read_half_written() -> None:
    """The supervisor reads a worker's deadline whole while the worker announces one call after the other."""
    flight = Flight()
    flight.arm(1000)
    pid = os.fork()
    if pid == 0:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            flight.call(Phase.FORWARD)
            flight.enter(Phase.CHECKING)
        os._exit(0)
    early = 0
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        early += sum(flight.read().deadline < time.monotonic() for _ in range(200))
    flight.close()
    assert early == 0
