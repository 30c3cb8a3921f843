"""A data-parallel perceptron on one device and on two, by threads, beside a matrix product with one thread and two.

    python benchmarks/devices_train.py [--batch 4096] [--width 1024] [--rounds 7]

On idle cores; ratios within one run. Two threads of a matrix product gain as much as the machine allows, so the share
of that gain that two devices reach says what laying out, exchanging and waiting cost.
"""

import argparse
import statistics
from time import perf_counter
from typing import Any

import numpy as np

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
from opkit.cores import blas_threads, set_blas_threads, usable_cores
from opkit.oneflow.session import clear_default_session


def job_on(devices: int, batch: int, width: int) -> Any:
    clear_default_session()
    flow.config.cpu_device_num(devices)

    @flow.global_function(type="train")
    def job(
        x: tp.Numpy.Placeholder((batch, width)), labels: tp.Numpy.Placeholder((batch,), dtype=flow.int32)
    ) -> tp.Numpy:
        init = flow.random_normal_initializer(stddev=0.02)
        for index in range(3):
            x = flow.layers.dense(x, width, activation=flow.nn.relu, kernel_initializer=init, name=f"layer{index}")
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.01]), momentum=0.9).minimize(loss)
        return loss

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
    rng = np.random.default_rng(0)
    x = rng.normal(size=(given.batch, given.width)).astype(np.float32)
    w = rng.normal(size=(given.width, given.width)).astype(np.float32)
    labels = rng.integers(0, given.width, given.batch).astype(np.int32)
    jobs = {count: job_on(count, given.batch, given.width) for count in (1, 2)}
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
