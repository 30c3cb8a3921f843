"""A chain of 50 py_func(tanh) nodes in a graph, forward and backward, beside the bare user functions in a loop.

    python benchmarks/static_chain.py [SIZE ...]          sizes: 4 1000 1000000 where none is given

Each side runs in a process of its own: ``opkit run`` this file, plain Python for the loop, and Paddle where
``OPKIT_PADDLE_PYTHON`` names an interpreter that has it. Sides take turns; the fastest turn of each counts; one thread.

Aims: at 4 elements at most 1.35 times the bare loop, and 30 times ahead of Paddle; at 1,000,000 ahead of both.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

LENGTH = 50
TURNS = 3
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def tanh(x: Any) -> Any:
    return np.tanh(np.array(x))


def tanh_grad(y: Any, dy: Any) -> Any:
    y = np.array(y)
    return np.array(dy) * (1 - y * y)


def bare(x: np.ndarray) -> Callable[[], tuple[Any, Any]]:
    """Return the user's functions called in a loop."""

    def run() -> tuple[Any, Any]:
        values, h = [], x
        for _ in range(LENGTH):
            h = tanh(h)
            values.append(h)
        dy = np.full(h.shape, 1.0 / h.size, h.dtype)
        loss = h.mean()
        for y in reversed(values):
            dy = tanh_grad(y, dy)
        return loss, dy

    return run


def graph(x: np.ndarray) -> Callable[[], tuple[Any, Any]]:
    """Return a run of the graph, under whatever ``paddle`` is."""
    import paddle

    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        fed = paddle.static.data(name="x", shape=list(x.shape), dtype="float32")
        fed.stop_gradient = False
        h = fed
        for i in range(LENGTH):
            out = main.current_block().create_var(name=f"o_{i}", dtype="float32", shape=list(x.shape))
            h = paddle.static.py_func(tanh, h, out, tanh_grad, h)
        loss = paddle.mean(h)
        paddle.static.append_backward(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(startup)
    return lambda: executor.run(main, feed={"x": x}, fetch_list=[loss, "x@GRAD"])


def measure(side: str, size: int) -> float:
    """Return the least microseconds per node of some repetitions."""
    x = np.random.RandomState(0).uniform(-1, 1, size=(size,)).astype("float32")
    run = (bare if side == "bare" else graph)(x)
    expected, got = bare(x)(), run()
    np.testing.assert_allclose(got[1], expected[1], rtol=2e-4, atol=1e-7)
    start = time.perf_counter()
    run()
    inner = max(1, int(0.03 / (time.perf_counter() - start)))
    best = float("inf")
    for _ in range(20 if inner > 1 else 5):
        start = time.perf_counter()
        for _ in range(inner):
            run()
        best = min(best, (time.perf_counter() - start) / inner)
    return best / LENGTH * 1e6


def commands() -> dict[str, list[str]]:
    """Return how each side is started."""
    found = {
        "opkit": [sys.executable, "-m", "opkit", "run", __file__],
        "bare": [sys.executable, __file__],
    }
    paddle = os.environ.get("OPKIT_PADDLE_PYTHON")
    if paddle:
        found["paddle"] = [paddle, __file__]
    return found


def main() -> int:
    """Run all sides in turns and print a table; 1 where an aim is missed."""
    sizes = [int(item) for item in sys.argv[1:]] or [4, 1000, 1_000_000]
    missed = 0
    environment = {**os.environ, "PYTHONPATH": ROOT, "GLOG_minloglevel": "2"}
    for size in sizes:
        best: dict[str, float] = {}
        for _ in range(TURNS):
            for side, command in commands().items():
                done = subprocess.run(
                    [*command, "--side", side, str(size)], capture_output=True, text=True, env=environment, check=True
                )
                value = json.loads(done.stdout.strip().splitlines()[-1])
                best[side] = min(best.get(side, value), value)
        ratio = best["opkit"] / best["bare"]
        aim = 1.35 if size < 100_000 else 1.0
        missed += ratio > aim
        text = (
            f"n={size:8d}  opkit {best['opkit']:9.2f} us/node  bare {best['bare']:9.2f}  ratio {ratio:.2f} (aim {aim})"
        )
        if "paddle" in best:
            text += f"  paddle {best['paddle']:9.2f}  ahead {best['paddle'] / best['opkit']:.1f}x"
        print(text, flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    if "--side" in sys.argv:
        print(json.dumps(measure(sys.argv[-2], int(sys.argv[-1]))))
    else:
        raise SystemExit(main())
