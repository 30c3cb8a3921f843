"""Long chains of custom tanh ops in dynamic mode: time per op and peak memory as the chain grows, one thread.

    python benchmarks/dynamic_scale.py [LENGTH ...]       lengths: 5000 50000 where none is given

Each length runs in a process of its own: a PyLayer with numpy inside on 4 elements, forward, backward, and dropping the
graph; beside it the same arithmetic in a bare numpy loop.

Aims: the time per op does not grow with the length (at most by a quarter), and 50,000 ops stay under 100 MB.
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
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

AIM_MB = 100
AIM_GROWTH = 1.25


def one(length: int) -> dict[str, float]:
    """Return microseconds per op of the loop and of opkit, and the process's peak in MB."""
    import opkit.paddle as paddle

    class Tanh(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = paddle.to_tensor(np.tanh(x.numpy()))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y,) = ctx.saved_tensor()
            y = y.numpy()
            return paddle.to_tensor(dy.numpy() * (1 - y * y))

    start_values = np.full(4, 0.1, np.float32)

    def chain() -> None:
        x = paddle.to_tensor(start_values)
        x.stop_gradient = False
        h = x
        for _ in range(length):
            h = Tanh.apply(h)
        h.mean().backward()

    def loop() -> None:
        values, h = [], start_values
        for _ in range(length):
            h = np.tanh(h)
            values.append(h)
        dy = np.full(4, 0.25, np.float32)
        for y in reversed(values):
            dy = dy * (1 - y * y)

    best = {"loop": float("inf"), "opkit": float("inf")}
    for _ in range(max(5, 200_000 // length)):
        for name, run in (("loop", loop), ("opkit", chain)):
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) / length * 1e6)
    return {**best, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> int:
    """Measure, print, and return 1 where an aim is missed."""
    if "--one" in sys.argv:
        print(json.dumps(one(int(sys.argv[-1]))))
        return 0
    lengths = [int(item) for item in sys.argv[1:]] or [5000, 50_000]
    found = []
    for length in lengths:
        run = subprocess.run(
            [sys.executable, __file__, "--one", str(length)], capture_output=True, text=True, check=True, timeout=600
        )
        found.append(json.loads(run.stdout))
        row = found[-1]
        print(
            f"{length:>7} ops   loop {row['loop']:6.2f} us/op   opkit {row['opkit']:6.2f} us/op "
            f"({row['opkit'] / row['loop']:.2f} x)   peak {row['peak_mb']:6.1f} MB"
        )
    grows = found[-1]["opkit"] / found[-1]["loop"] > AIM_GROWTH * found[0]["opkit"] / found[0]["loop"]
    return int(grows or found[-1]["peak_mb"] > AIM_MB)


if __name__ == "__main__":
    sys.exit(main())
