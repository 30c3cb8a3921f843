"""A data-parallel perceptron on one device and on two, by threads, beside a matrix product with one thread and two.

    python benchmarks/devices_train.py [--batch 4096] [--width 1024] [--rounds 7]

On idle cores; ratios within one run. Two threads of a matrix product gain as much as the machine allows, so the share
of that gain that two devices reach says what laying out, exchanging and waiting cost.
"""

import argparse
import statistics
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.devices_job import fed, perceptron
from opkit.cores import blas_threads, set_blas_threads, usable_cores


def traced(devices: int, batch: int, width: int) -> Any:
    job = perceptron(devices, batch, width)
    # Traced now: the next job is that of another session.
    job(np.zeros((batch, width), np.float32), np.zeros(batch, np.int32))
    return job


def seconds(run: Any) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("batch", 4096), ("width", 1024), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    x, labels = fed(given.batch, given.width)
    w = np.random.default_rng(1).normal(size=(given.width, given.width)).astype(np.float32)
    jobs = {count: traced(count, given.batch, given.width) for count in (1, 2)}
    times: dict[str, list[float]] = {name: [] for name in ("product 1", "product 2", "job 1", "job 2")}
    for round_ in range(given.rounds + 1):
        found = {}
        for threads in (1, 2):
            set_blas_threads(threads)
            found[f"product {threads}"] = seconds(lambda: [x @ w for _ in range(3)])
        set_blas_threads(1)
        found["job 1"] = seconds(lambda: jobs[1](x, labels))
        found["job 2"] = seconds(lambda: jobs[2](x, labels))
        if round_:
            for name, value in found.items():
                times[name].append(value)
    best = {name: statistics.median(values) for name, values in times.items()}
    product, job = best["product 1"] / best["product 2"], best["job 1"] / best["job 2"]
    print(f"{usable_cores()} cores, BLAS threads {blas_threads()}; medians of {given.rounds} rounds")
    for name, value in best.items():
        print(f"{name:10s} {1e3 * value:9.1f} ms")
    print(f"two threads of a product gain {product:.2f}, two devices {job:.2f}: {job / product:.0%}")


if __name__ == "__main__":
    main()
