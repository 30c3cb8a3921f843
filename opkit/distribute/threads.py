"""The engine of threads: each device is a thread of this process, all of them share its memory.

A variable exists once, where the job's scope holds it; a device's part of it is a view. The script's thread is the
first device, and what happens in the script's process happens there.

Crew: threads of this process that work on one thing together, one per device, and wait for each other between steps.

What they do is the caller's; the calling thread is one of them.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.cores import limit_blas
from opkit.distribute.exchange import fill, received
from opkit.distribute.local import Held, Key
from opkit.distribute.physical import LocalStep, Physical, Step
from opkit.distribute.stages import Change
from opkit.distribute.way import HOST, MIRRORED, Lay
from opkit.ir import to_numpy
from opkit.ops.core.types import Arrays
from opkit.record import mutable_entity
from opkit.sharding import Device, balanced
from opkit.static.plan import Plan, compile_plan
from opkit.static.plan.failures import check_initialized
from opkit.static.plan.layout import is_state
from opkit.static.scope import Holder, Scope

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


_HOST = HOST.devices[0]
#: From this size on, devices compute an array that all are to have together.
_WORTH_SHARING = 1 << 16


@mutable_entity
class _Ready:
    """A local program that is compiled.

    Args:
        step: what it is.
        plan: its plan; devices whose parts have the same shapes share one.
        holders: the places of its variables, in the plan's order, and what is held there.
        held: what each of them is.
    """

    step: LocalStep
    plan: Plan
    holders: list[Holder]
    held: list[Held]
    arrays: list[ndarray | None] = field(default_factory=list)


#: What a device has, by what it is.
_Store = dict[Key, ndarray]


class ThreadEngine:
    """Runs a physical program with one thread per device.

    Args:
        physical: the program.
        scope: holds the variables.
    """

    def __init__(self, physical: Physical, scope: Scope) -> None:
        self.physical = physical
        self._scope = scope
        self._devices = physical.devices or (_HOST,)
        self._ready: list[dict[Device, _Ready]] = []
        for step in physical.steps:
            shared: dict[Any, Plan] = {}
            self._ready.append({device: self._compiled(item, shared) for device, item in step.locals.items()})
        self._shared = [change for step in physical.steps for change in step.changes if self._is_shared(change)]

    def _compiled(self, step: LocalStep, shared: dict[Any, Plan]) -> _Ready:
        local = step.local
        key = (tuple(local.origins), tuple((value.name, desc) for value, desc in local.sizes.items()), step.fetches)
        plan = shared.get(key)
        if plan is None:
            fetches = [local.made[key] for key in step.fetches]
            feeds = [local.feeds[key] for key in step.feeds]
            is_exact = all(desc.is_static for desc in local.sizes.values())
            plan = shared[key] = compile_plan(local.program, feeds, fetches, local.sizes, is_exact=is_exact)
        scope = Scope()
        held = [local.held[name] for name in plan.holders]
        return _Ready(step, plan, [scope.var(name) for name in plan.holders], held, [None] * len(held))

    def _is_shared(self, change: Change) -> bool:
        """Return whether devices compute together an array that all of them are to have."""
        desc = self.physical.known[change.value]
        size = int(np.prod(desc.shape)) * to_numpy(desc.dtype).itemsize
        devices = change.target.devices.devices
        return (
            change.target.sbp.kind == "B"
            and change.source.sbp.kind in "SP"
            and len(devices) > 1
            and _HOST not in devices
            and size >= _WORTH_SHARING
        )

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run the program once.

        Args:
            feeds: one array per input; a list with one array per device where it lies mirrored.

        Returns:
            one array per output, the caller's own; a list with one per device where it lies mirrored.
        """
        stores: dict[Device, _Store] = {device: {} for device in (*self._devices, _HOST)}
        for (value, lay), item in zip(self.physical.feeds, feeds):
            arrays = item if lay.sbp == MIRRORED else [item] * len(lay.devices)
            for device, array in zip(lay.devices.devices, arrays):
                stores[device][value, lay] = array
        for change in self._shared:
            desc = self.physical.known[change.value]
            whole = np.empty(desc.shape, to_numpy(desc.dtype))
            for device in change.target.devices.devices:
                stores[device][change.value, change.target] = whole
        self._bind()
        tasks = [self._task(device, stores) for device in self._devices]
        with limit_blas(len(tasks)), crew_of(len(tasks)) as crew:
            crew.run(tasks)
        return self._results(stores, feeds)

    def _bind(self) -> None:
        """Let every device's variables be views of those that the scope holds now."""
        for group in self._ready:
            for ready in group.values():
                for index, (held, holder) in enumerate(zip(ready.held, ready.holders)):
                    master = self._scope.find_var(held.name)
                    array = None if master is None else master.array
                    if array is None:
                        check_initialized({held.name}, [master or self._scope.var(held.name)])
                    elif ready.arrays[index] is not array:
                        ready.arrays[index] = array
                        holder.put(_view(array, held))

    def _task(self, device: Device, stores: dict[Device, _Store]) -> Any:
        """Return what one device does in a run; the first does what happens in the script's process too."""
        members = (device, _HOST) if device == self._devices[0] and device != _HOST else (device,)

        def task(barrier: threading.Barrier) -> None:
            for step, ready in zip(self.physical.steps, self._ready):
                if step.changes:
                    for member in members:
                        self._exchange(step, member, stores)
                    barrier.wait()
                for member in members:
                    found = ready.get(member)
                    if found is not None:
                        _compute(found, stores[member])
                if step.locals:
                    barrier.wait()

        return task

    def _exchange(self, step: Step, device: Device, stores: dict[Device, _Store]) -> None:
        for change in step.changes:
            devices = change.target.devices.devices
            if device not in devices:
                continue
            place = devices.index(device)
            source, target = change.source, change.target
            arrays = [stores[other][change.value, source] for other in source.devices.devices]
            if change in self._shared:
                fill(stores[device][change.value, target], arrays, source.sbp, len(devices), place)
            elif target.sbp.kind == "B" and len(devices) > 1:
                if place == 0:
                    whole = received(arrays, source.sbp, target.sbp, len(devices), 0)
                    for other in devices:
                        stores[other][change.value, target] = whole
            else:
                stores[device][change.value, target] = received(arrays, source.sbp, target.sbp, len(devices), place)

    def _results(self, stores: dict[Device, _Store], feeds: Sequence[Any]) -> list[Any]:
        """Return the results, each the caller's own."""
        taken: list[ndarray] = [array for item in feeds for array in (item if isinstance(item, list) else [item])]
        found: list[Any] = []
        for value, lay in self.physical.outputs:
            if is_state(value):
                holder = self._scope.find_var(value.variable.name)
                assert holder is not None
                assert holder.array is not None
                found.append(holder.array.copy())
                continue
            arrays = [_own(stores[device][value, lay], taken) for device in lay.devices.devices]
            taken += arrays
            found.append(arrays if lay.sbp == MIRRORED else arrays[0])
        return found


def _view(array: ndarray, held: Held) -> ndarray:
    lay: Lay = held.lay
    if not lay.sbp.is_split:
        return array
    part = balanced(array.shape[lay.sbp.axis], len(lay.devices))[held.place]
    view: ndarray = array[(slice(None),) * lay.sbp.axis + (slice(part.start, part.stop),)]
    return view


def _compute(ready: _Ready, store: _Store) -> None:
    arrays = [store[key] for key in ready.step.feeds]
    for key, array in zip(ready.step.fetches, ready.plan.run(arrays, ready.holders)):
        store[key] = array


def _own(array: ndarray, taken: Arrays) -> ndarray:
    """Return an array that nobody else has."""
    if array.base is None and array.flags.writeable and all(array is not item for item in taken):
        return array
    copy: ndarray = array.copy()
    return copy
