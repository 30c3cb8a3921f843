"""A train job with a custom op against the same steps written by hand in numpy: steps per second, one thread.

    python benchmarks/job_train.py [SECONDS_PER_SIDE]

The job: 4 x (dense 200 + the op directory user_sigmoid) + dense 10 + sparse softmax cross entropy, batch 100, plain
descent. The hand-written side does the same arithmetic in the same order and calls the same two user functions. Sides
alternate, medians are compared.
Aim: at least 95 % of hand-written numpy.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import opkit
from opkit.project import load

BATCH, INPUTS, HIDDEN, CLASSES, LAYERS, RATE = 100, 64, 200, 10, 4, 0.5
AIM = 0.95
SAMPLES = Path(__file__).resolve().parents[1] / "sample_ops"
X = np.random.RandomState(1).normal(size=(BATCH, INPUTS)).astype(np.float32)
Y = np.random.RandomState(2).randint(0, CLASSES, size=BATCH).astype(np.int32)
SIZES = [INPUTS, *[HIDDEN] * LAYERS, CLASSES]


def weights() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (weight (outputs, inputs), bias) per layer."""
    rng = np.random.RandomState(0)
    return [
        (rng.uniform(-1, 1, (b, a)).astype(np.float32) * np.float32((6 / (a + b)) ** 0.5), np.zeros(b, np.float32))
        for a, b in itertools.pairwise(SIZES)
    ]


def by_hand() -> Callable[[], np.ndarray]:
    """Return one step written out in numpy; it gives the loss per sample."""
    layers, rows, rate = weights(), np.arange(BATCH), np.float32(RATE / BATCH)
    kernel: Any = load(SAMPLES / "user_sigmoid").kernel_module
    forward, backward = kernel.forward, kernel.backward

    def step() -> np.ndarray:
        held, h = [X], X
        for weight, bias in layers[:-1]:
            h = forward((h @ weight.T + bias,))
            held.append(h)
        weight, bias = layers[-1]
        z = h @ weight.T + bias
        z -= z.max(1, keepdims=True)
        e = np.exp(z)
        p = e / e.sum(1, keepdims=True)
        loss = -np.log(p[rows, Y])
        p[rows, Y] -= 1
        d = p
        for index in range(len(layers) - 1, -1, -1):
            weight, bias = layers[index]
            below = held[index]
            dw, db = d.T @ below, d.sum(0)
            if index:
                d = backward((below, d @ weight))
            weight -= rate * dw
            bias -= rate * db
        return loss

    return step


def by_job() -> Callable[[], np.ndarray]:
    """Return one call of the train job, its variables set to the same weights."""
    with opkit.frameworks():
        import oneflow as flow
        import oneflow.typing as tp

        op = flow.experimental.custom_op_module("user_sigmoid", str(SAMPLES))
        op.py_api().cpp_def().py_kernel().build_load()

    def activation(x: Any, name: str = "") -> Any:
        return op.api.user_sigmoid_forward(x)

    def job(x: Any, y: Any) -> Any:
        h = x
        for index in range(LAYERS):
            h = flow.layers.dense(h, HIDDEN, activation=activation, name=f"dense{index}")
        logits = flow.layers.dense(h, CLASSES, name=f"dense{LAYERS}")
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [RATE])
        flow.optimizer.SGD(schedule, momentum=0).minimize(loss)
        return loss

    job.__annotations__ = {
        "x": tp.Numpy.Placeholder((BATCH, INPUTS)),
        "y": tp.Numpy.Placeholder((BATCH,), dtype=flow.int32),
        "return": tp.Numpy,
    }
    train = flow.global_function(type="train")(job)
    named = {}
    for index, (weight, bias) in enumerate(weights()):
        named[f"dense{index}-weight"], named[f"dense{index}-bias"] = weight, bias
    flow.load_variables(named)
    return lambda: train(X, Y)


def main() -> int:
    """Measure, print, and return 1 where the aim is missed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    hand, job = by_hand(), by_job()
    for _ in range(20):
        np.testing.assert_allclose(job(), hand(), rtol=2e-3, atol=2e-4)
    times: dict[str, list[float]] = {"numpy": [], "job": []}
    end = time.perf_counter() + 2 * seconds
    while time.perf_counter() < end:
        for name, step in (("numpy", hand), ("job", job)):
            start = time.perf_counter()
            for _ in range(10):
                step()
            times[name].append((time.perf_counter() - start) / 10)
    numpy_time, job_time = statistics.median(times["numpy"]), statistics.median(times["job"])
    ratio = numpy_time / job_time
    print(f"hand-written numpy {1 / numpy_time:8.1f} steps/s")
    print(f"train job          {1 / job_time:8.1f} steps/s   {ratio:.3f} of numpy (aim {AIM})")
    return int(ratio < AIM)


if __name__ == "__main__":
    sys.exit(main())
