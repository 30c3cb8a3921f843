"""Graphs of many py_func nodes: seconds to build, differentiate and run for the first time, and peak memory.

    python benchmarks/static_scale.py [NODES ...]         nodes: 10000 100000 where none is given

Each size runs in a process of its own.
Aims: 10,000 nodes under 3 s and 300 MB; 100,000 at most 15 times the seconds of 10,000.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def tanh(x: Any) -> Any:
    return np.tanh(np.array(x))


def tanh_grad(y: Any, dy: Any) -> Any:
    y = np.array(y)
    return np.array(dy) * (1 - y * y)


def measure(count: int) -> dict[str, float]:
    """Return seconds of each phase, of a later run, and the peak of resident memory in MB."""
    import opkit.paddle as paddle

    x0 = np.random.RandomState(0).uniform(-0.1, 0.1, 4).astype("float32")
    paddle.enable_static()
    start = time.perf_counter()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x = paddle.static.data(name="x", shape=[4], dtype="float32")
        x.stop_gradient = False
        h = x
        for i in range(count):
            out = main.current_block().create_var(name=f"o_{i}", dtype="float32", shape=[4])
            h = paddle.static.py_func(tanh, h, out, tanh_grad, h)
        loss = paddle.mean(h)
        built = time.perf_counter()
        paddle.static.append_backward(loss)
    differentiated = time.perf_counter()
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(main, feed={"x": x0}, fetch_list=[loss, "x@GRAD"])
    first = time.perf_counter()
    executor.run(main, feed={"x": x0}, fetch_list=[loss, "x@GRAD"])
    again = time.perf_counter()
    return {
        "build": built - start,
        "append_backward": differentiated - built,
        "first run": first - differentiated,
        "later run": again - first,
        "total": first - start,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> int:
    """Measure each size and print; 1 where an aim is missed."""
    counts = [int(item) for item in sys.argv[1:]] or [10_000, 100_000]
    totals = {}
    missed = 0
    for count in counts:
        done = subprocess.run(
            [sys.executable, __file__, "--side", str(count)], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        totals[count] = found["total"]
        print(f"{count:7d} nodes  " + "  ".join(f"{name} {value:.2f}" for name, value in found.items()), flush=True)
        if count == 10_000:
            missed += found["total"] > 3 or found["MB"] > 300
    if 10_000 in totals and 100_000 in totals:
        missed += totals[100_000] > 15 * totals[10_000]
    return int(missed > 0)


if __name__ == "__main__":
    if "--side" in sys.argv:
        print(json.dumps(measure(int(sys.argv[-1]))))
    else:
        raise SystemExit(main())
