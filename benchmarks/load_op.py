"""How long it takes from the files of an op directory to a loaded op, and what a predict job adds to its kernel.

    python benchmarks/load_op.py [REPEATS]

Aims, in a warm process: under 20 ms from source to loaded op; a predict job's call within 20 us of calling the kernel.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import opkit
from opkit.project import load

SAMPLES = Path(__file__).resolve().parents[1] / "sample_ops"
LOAD_AIM = 20e-3
CALL_AIM = 20e-6


def median(function: Callable[[], Any], repeats: int, inner: int = 1) -> float:
    """Return the median time of one call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(inner):
            function()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times)


def main() -> int:
    """Measure, print, and return 1 where an aim is missed."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    start = time.perf_counter()
    load(SAMPLES / "user_relu")
    print(f"{'user_relu, first load of the process':<44} {(time.perf_counter() - start) * 1e3:8.2f} ms")
    slowest = 0.0
    for path in sorted(SAMPLES.glob("*/*_cpp_def.cpp")):
        took = median(lambda folder=path.parent: load(folder), repeats)
        slowest = max(slowest, took)
        print(f"{path.parent.name + ', loaded anew':<44} {took * 1e3:8.2f} ms")
    added = call_overhead(repeats)
    print(f"aims: load under {LOAD_AIM * 1e3:.0f} ms, a call's overhead under {CALL_AIM * 1e6:.0f} us")
    return int(slowest > LOAD_AIM or added > CALL_AIM)


def call_overhead(repeats: int) -> float:
    """Return what a predict job's call adds to its kernel."""
    with opkit.frameworks():
        import oneflow as flow
        import oneflow.typing as tp

        op = flow.experimental.custom_op_module("user_relu", str(SAMPLES))
        op.py_api().cpp_def().py_kernel().build_load()

        @flow.global_function(type="predict")
        def predict(x: tp.Numpy.Placeholder((5,), dtype=flow.float32)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return op.api.user_relu_forward(x)

        kernel = load(SAMPLES / "user_relu").ops["user_relu_forward"].kernel.function
        x = np.array([-2, -1, 0, 1, 2], dtype=np.float32)
        np.testing.assert_array_equal(predict(x), kernel((x,)))
        bare = median(lambda: kernel((x,)), repeats, 1000)
        job = median(lambda: predict(x), repeats, 1000)
    print(f"{'the kernel called directly':<44} {bare * 1e6:8.2f} us")
    print(f"{'the predict job':<44} {job * 1e6:8.2f} us, {(job - bare) * 1e6:.2f} us more")
    return job - bare


if __name__ == "__main__":
    sys.exit(main())
