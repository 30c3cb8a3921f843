"""Crew: threads of this process that work on one thing together, one per device, and wait for each other between steps.

What they do is the caller's; the calling thread is one of them.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

#: What a member does, given the barrier at which all wait for each other.
Task = Callable[[threading.Barrier], None]

#: Crews that have nothing to do, by process and size: a job that runs within another takes one of its own.
_idle: dict[tuple[int, int], list[Crew]] = {}
_lock = threading.Lock()


class Crew:
    """Threads that work together.

    Args:
        count: of members, the calling thread among them.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._queues: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(count - 1)]
        for index, tasks in enumerate(self._queues):
            threading.Thread(target=_work, args=(tasks,), name=f"opkit device {index + 1}", daemon=True).start()

    def run(self, tasks: Sequence[Task]) -> None:
        """Run one task per member, and wait for all.

        Raises:
            BaseException: what the first of the members raised; the others stop at the next barrier.
        """
        barrier = threading.Barrier(len(tasks))
        results: queue.SimpleQueue[tuple[int, BaseException | None]] = queue.SimpleQueue()
        for place, (task, waiting) in enumerate(zip(tasks[1:], self._queues), start=1):
            waiting.put((task, barrier, results, place))
        errors = [(0, _tried(tasks[0], barrier))]
        while len(errors) < len(tasks):
            try:
                errors.append(results.get())
            except KeyboardInterrupt as interrupt:
                barrier.abort()
                errors[0] = (0, interrupt)
        found = [error for _, error in sorted(errors, key=lambda item: item[0]) if error is not None]
        own = [error for error in found if not isinstance(error, threading.BrokenBarrierError)]
        if own:
            raise own[0]
        if found:
            raise found[0]


def _work(tasks: queue.SimpleQueue[Any]) -> None:
    while True:
        task, barrier, results, place = tasks.get()
        results.put((place, _tried(task, barrier)))
        del task, barrier, results


def _tried(task: Task, barrier: threading.Barrier) -> BaseException | None:
    try:
        task(barrier)
    except BaseException as error:
        barrier.abort()
        return error
    return None


@contextmanager
def crew_of(count: int) -> Iterator[Crew]:
    """Take a crew for the time of a ``with`` block; threads are kept for the next."""
    key = (os.getpid(), count)
    with _lock:
        waiting = _idle.setdefault(key, [])
        crew = waiting.pop() if waiting else None
    crew = crew or Crew(count)
    try:
        yield crew
    finally:
        with _lock:
            _idle.setdefault(key, []).append(crew)
