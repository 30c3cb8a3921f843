"""What a step costs as devices are added: measured to 8 logical devices, simulated to 1,024 from what was measured.

    python benchmarks/devices_scale.py [--most 8] [--simulate 1024] [--write]     # --write draws docs/devices-scale.svg

The job is one training step of a perceptron, data-parallel, with a batch that stays (strong scaling). Measured, on as
many devices as there are logical ones, cores or not: the step on threads and, with Dask, on worker processes; each
also with a job so small that only the overhead is left.

Simulated, for a cluster with a core per device: the job is laid out over n devices as it would be run; the longest
that any device computes is measured by running the first device's programs here, one after another; every byte that
the first device gets, and what goes to and from the script's process, takes as long as between two workers here; every
task takes as long as the small job's tasks took, one after another, since one scheduler gives them out.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.devices_job import fed, perceptron
from opkit.cores import usable_cores
from opkit.distribute import HOST, SEPARATE_MEMORIES, Physical, lay_over_devices, traffic
from opkit.ir import to_numpy
from opkit.settings import settings
from opkit.static.plan import compile_plan
from opkit.static.scope import Scope

TARGET = Path(__file__).resolve().parents[1] / "docs" / "devices-scale.svg"
#: Batch and width of the job that is to be cut, and of one whose step is overhead alone.
USUAL, SMALL = (4096, 512), (2048, 2)
ROUNDS = 7


@dataclass
class Measured:
    """A step: seconds, how many tasks it gave out, and what laying the job out took."""

    seconds: float
    tasks: int
    laying_out: float


def traced(devices: int, batch: int, width: int) -> Any:
    """Return the training job for a number of devices; it is not laid out yet."""
    return perceptron(devices, batch, width).job


def best(run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median of some calls in seconds, after one that is not counted."""
    run()
    times = []
    for _ in range(rounds):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return statistics.median(times)


# ---- measured --------------------------------------------------------------------------------------------------------
def one(engine: str, devices: int, size: tuple[int, int]) -> Measured:
    """Return what a step on some devices takes, in this process."""
    count = [0]
    with settings(cluster=f"local:{devices}" if engine == "cluster" else ""):
        if engine == "cluster":
            from opkit.distribute.cluster.connection import Cluster

            submit = Cluster.submit

            def counted(self: Any, *args: Any) -> Any:
                count[0] += 1
                return submit(self, *args)

            Cluster.submit = counted  # type: ignore[method-assign]
        job, arrays = traced(devices, *size), fed(*size)
        job.prepare()
        start = perf_counter()
        if job.on_devices is not None:
            job.on_devices.lay_out()
        laying_out = perf_counter() - start
        job(*arrays)
        count[0] = 0
        job(*arrays)
        tasks = count[0]
        return Measured(best(lambda: job(*arrays)), tasks, laying_out)


def apart(engine: str, devices: int, size: tuple[int, int]) -> Measured:
    """Return the same from a process of its own."""
    words = [sys.executable, __file__, "--one", engine, str(devices), *map(str, size)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    if ran.returncode:
        raise SystemExit(ran.stderr[-2000:])
    return Measured(**json.loads(ran.stdout.splitlines()[-1]))


def seconds_per_byte() -> float:
    """Return what a byte takes from one worker to another, both on this machine."""
    from opkit.distribute.cluster.connection import connect

    cluster = connect("local:2")
    times = []
    for _ in range(ROUNDS):
        made = cluster.submit(cluster.workers[0], np.ones, 4 << 20)
        cluster.gather([made], lambda address: "")
        start = perf_counter()
        cluster.gather([cluster.submit(cluster.workers[1], np.size, made)], lambda address: "")
        times.append(perf_counter() - start)
    cluster.close()
    return statistics.median(times) / (32 << 20)


# ---- simulated -------------------------------------------------------------------------------------------------------
@dataclass
class Simulated:
    """A step on a cluster: what is computed, moved and given out, in seconds, and how many tasks that is."""

    devices: int
    computing: float
    moving: float
    giving_out: float
    tasks: int

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return self.computing + self.moving + self.giving_out


def laid_out(devices: int, size: tuple[int, int]) -> Physical:
    """Return the job over worker processes that need not be there."""
    job = traced(max(devices, 2), *size)
    job.prepare()
    job_on = job.on_devices
    graph = job_on.graph
    sizes = {value: value.desc for value in graph.inputs}
    return lay_over_devices(graph.program, graph.inputs, graph.outputs, sizes, job_on.asked, SEPARATE_MEMORIES)


def computing(physical: Physical) -> float:
    """Return how long the first device and the script's process compute in a step, one after another."""
    total = 0.0
    rng = np.random.default_rng(0)
    for step in physical.steps:
        for device in (physical.devices[0], HOST.devices[0]):
            item = step.locals.get(device)
            if item is None:
                continue
            local = item.local
            feeds = [local.feeds[key] for key in item.feeds]
            plan = compile_plan(local.program, feeds, [local.made[key] for key in item.fetches], local.sizes)
            scope = Scope()
            for name in plan.holders:
                desc = local.program.blocks[0].vars[name].desc
                scope.var(name).put(np.zeros(desc.shape, to_numpy(desc.dtype)))
            holders = [scope.var(name) for name in plan.holders]
            arrays = []
            for value in feeds:
                desc = local.sizes[value]
                made = rng.integers(0, 2, desc.shape) if desc.dtype.startswith("int") else rng.normal(size=desc.shape)
                arrays.append(made.astype(to_numpy(desc.dtype)))
            total += best(partial(plan.run, arrays, holders), 3)
    return total


def moved(physical: Physical) -> float:
    """Return the bytes that the busiest device gets, and those that the script's process sends and gets, in a step."""
    total = 0.0
    for step in physical.steps:
        for change in step.changes:
            desc = physical.known[change.value]
            size = math.prod(desc.shape) * to_numpy(desc.dtype).itemsize
            if HOST in (change.source.devices, change.target.devices):
                total += traffic(desc.shape, to_numpy(desc.dtype).itemsize, change.source, change.target)
            elif change.source.sbp.kind == "P":  # a part of the sum from each other device, whole or split
                others = len(change.source.devices) - 1
                total += others * size / (len(change.target.devices) if change.target.sbp.is_split else 1)
            else:
                moved = traffic(desc.shape, to_numpy(desc.dtype).itemsize, change.source, change.target)
                total += moved / len(change.target.devices)
    return total


def tasks_of(physical: Physical) -> int:
    """Return how many tasks a step gives out where each device has a worker of its own."""
    host = HOST.devices[0]
    count = len(physical.devices)  # to begin
    for step in physical.steps:
        pairs, shared, served = set(), set(), set(step.locals) - {host}
        for change in step.changes:
            sources, targets = change.source.devices.devices, change.target.devices.devices
            served |= set(targets) - {host}
            if change.source.devices == HOST:
                continue
            if change.source.sbp.kind != "B" and not change.target.sbp.is_split and len(targets) > 1:
                shared |= set(sources)
            elif change.source.sbp.kind == "B":
                sources = sources if set(targets) <= set(sources) else sources[:1]
                pairs |= {(sources[0], target) for target in targets if target not in sources}
            else:
                pairs |= {(source, target) for source in sources for target in targets if source != target}
        count += len(pairs) + len(shared) + len(served)
    return count


def simulated(devices: int, per_task: float, per_byte: float) -> Simulated:
    physical = laid_out(devices, USUAL)
    tasks = tasks_of(physical)
    return Simulated(devices, computing(physical), moved(physical) * per_byte, tasks * per_task, tasks)


# ---- the picture -----------------------------------------------------------------------------------------------------
def picture(measured: dict[str, dict[int, float]], foreseen: list[Simulated]) -> str:
    """Return milliseconds over devices, both logarithmic, as SVG."""
    parts = {
        "simulated: step": [(item.devices, item.seconds) for item in foreseen],
        "of it computing": [(item.devices, item.computing) for item in foreseen],
        "of it moving": [(item.devices, item.moving) for item in foreseen],
        "of it giving out tasks": [(item.devices, item.giving_out) for item in foreseen],
    }
    lines = {f"measured: {name}": sorted(points.items()) for name, points in measured.items()} | parts
    values = [1e3 * y for points in lines.values() for _, y in points if y > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    most = max(item.devices for item in foreseen)

    def x(devices: float) -> float:
        return 70 + 480 * math.log2(devices) / math.log2(most)

    def y(milliseconds: float) -> float:
        return 330 - 300 * (math.log10(milliseconds) - low) / (high - low)

    colours = ("#0b6e4f", "#c8553d", "#1f3a93", "#6c8ebf", "#8e6bbf", "#a8a23a")
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 380" font-family="sans-serif" font-size="12">',
        '<rect width="780" height="380" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        level = y(10.0**power)
        out.append(f'<path d="M70 {level:.1f}H550" stroke="#dddddd"/>')
        out.append(f'<text x="62" y="{level + 4:.1f}" text-anchor="end">{10.0**power:g} ms</text>')
    count = 1
    while count <= most:
        out.append(f'<text x="{x(count):.1f}" y="348" text-anchor="middle">{count}</text>')
        count *= 2
    out.append('<text x="310" y="370" text-anchor="middle">devices</text>')
    for index, ((name, points), colour) in enumerate(zip(lines.items(), colours)):
        drawn = [(x(devices), y(1e3 * seconds)) for devices, seconds in points if seconds > 0]
        dashes = "" if name.startswith("measured") else ' stroke-dasharray="5 3"'
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in drawn)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="{colour}"/>' for px, py in drawn]
        level = 40 + 20 * index
        out.append(f'<path d="M570 {level}H594" stroke="{colour}" stroke-width="2"{dashes}/>')
        out.append(f'<text x="600" y="{level + 4}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--simulate", type=int, default=1024)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", nargs=4)
    given = parser.parse_args()
    if given.one:
        engine, devices, batch, width = given.one
        print(json.dumps(asdict(one(engine, int(devices), (int(batch), int(width))))))
        return
    engines = ("threads", "cluster") if find_spec("distributed") else ("threads",)
    counts = [2**power for power in range(given.most.bit_length())]
    print(f"{usable_cores()} cores; medians of {ROUNDS} steps; ms")
    print(f"{'devices':>7} {'engine':>8} {'step':>9} {'small':>9} {'tasks':>6} {'laying out':>10}")
    found: dict[str, dict[int, float]] = {engine: {} for engine in engines}
    small: dict[int, Measured] = {}
    for engine in engines:
        for count in counts:
            usual, tiny = apart(engine, count, USUAL), apart(engine, count, SMALL)
            found[engine][count] = usual.seconds
            if engine == "cluster" and count > 1:
                small[count] = tiny
            numbers = (1e3 * usual.seconds, 1e3 * tiny.seconds, usual.tasks, 1e3 * usual.laying_out)
            print(f"{count:7} {engine:>8} {numbers[0]:9.1f} {numbers[1]:9.2f} {numbers[2]:6} {numbers[3]:10.1f}")
    if not small:
        print("not simulated: what a task costs is measured with Dask (pip install 'opkit[cluster]')")
        return
    for count, item in small.items():
        assert item.tasks == tasks_of(laid_out(count, SMALL)), f"{count} devices: {item.tasks} tasks were given out"
    per_task = statistics.median(item.seconds / item.tasks for item in small.values())
    per_byte = seconds_per_byte()
    print(f"a task takes {1e3 * per_task:.2f} ms, a byte {1e9 * per_byte:.2f} ns from worker to worker")
    print(f"{'devices':>7} {'step':>9} {'computing':>9} {'moving':>9} {'giving out':>10} {'tasks':>9}   simulated, ms")
    foreseen = []
    for power in range(1, given.simulate.bit_length()):
        item = simulated(2**power, per_task, per_byte)
        foreseen.append(item)
        parts = [1e3 * part for part in (item.seconds, item.computing, item.moving, item.giving_out)]
        print(f"{item.devices:7} {parts[0]:9.1f} {parts[1]:9.1f} {parts[2]:9.1f} {parts[3]:10.1f} {item.tasks:9}")
    if given.write:
        TARGET.write_text(picture(found, foreseen))
        print(f"wrote {TARGET.relative_to(TARGET.parents[1])}")


if __name__ == "__main__":
    main()
