"""A chain of 200 elementwise layers on 1,000,000 elements, forward and backward: peak memory and time beside numpy.

    python benchmarks/static_memory.py [LAYERS [SIZE]]

A layer is ``tanh(0.9 * x + 0.1)``. Backward needs the outputs of all layers, LAYERS arrays; nothing else has to be held
at the peak but a few arrays of the moment. The numpy side is written to hold just these. Each side runs in a process of
its own, one thread.
Aims: opkit's peak is at most 10 arrays above what backward needs, and opkit is no slower than numpy.
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
from collections.abc import Callable
from typing import Any

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNS = 5


def numpy_side(x: np.ndarray, layers: int) -> Callable[[], Any]:
    """Return forward and backward written out in numpy."""

    def run() -> Any:
        held, h = [], x
        for _ in range(layers):
            h = np.tanh(0.9 * h + 0.1)
            held.append(h)
        loss = h.mean()
        dy = np.full(h.shape, 1.0 / h.size, h.dtype)
        while held:
            y = held.pop()
            dy = dy * (1 - y * y) * 0.9
        return loss, dy

    return run


def opkit_side(x: np.ndarray, layers: int) -> Callable[[], Any]:
    """Return a run of the graph."""
    import opkit.paddle as paddle

    paddle.enable_static()
    fed = paddle.static.data("x", list(x.shape))
    fed.stop_gradient = False
    h = fed
    for _ in range(layers):
        h = paddle.tanh(h * 0.9 + 0.1)
    loss = paddle.mean(h)
    paddle.static.append_backward(loss)
    executor = paddle.static.Executor()
    return lambda: executor.run(feed={"x": x}, fetch_list=[loss, "x@GRAD"])


def measure(side: str, layers: int, size: int) -> dict[str, float]:
    """Return the peak above what was held before, in arrays, and the best time of a run."""
    x = np.random.RandomState(0).uniform(-1, 1, size).astype("float32")
    run = (opkit_side if side == "opkit" else numpy_side)(x, layers)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        loss, slope = run()
        best = min(best, time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"arrays": peak * 1024 / x.nbytes, "ms": best * 1e3, "loss": float(loss), "slope": float(np.sum(slope))}


def main() -> int:
    """Measure both sides and print; 1 where an aim is missed."""
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    found = {}
    for side in ("numpy", "opkit"):
        done = subprocess.run(
            [sys.executable, __file__, "--side", side, str(layers), str(size)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found[side] = json.loads(done.stdout)
        print(
            f"{side:6s} peak {found[side]['arrays']:6.1f} arrays of {size} (backward needs {layers})  "
            f"{found[side]['ms']:8.1f} ms"
        )
    np.testing.assert_allclose(found["opkit"]["loss"], found["numpy"]["loss"], rtol=1e-4)
    is_small = found["opkit"]["arrays"] <= layers + 10
    return int(not (is_small and found["opkit"]["ms"] <= found["numpy"]["ms"]))


if __name__ == "__main__":
    if "--side" in sys.argv:
        at = sys.argv.index("--side")
        print(json.dumps(measure(sys.argv[at + 1], int(sys.argv[at + 2]), int(sys.argv[at + 3]))))
    else:
        raise SystemExit(main())
