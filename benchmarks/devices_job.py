"""The job that the benchmarks of devices train: a perceptron of three layers, data-parallel."""

from typing import Any

import numpy as np

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
from opkit.oneflow.session import clear_default_session


def perceptron(devices: int, batch: int, width: int) -> Any:
    """Return the training job for a number of devices, in a session of its own; it is not traced yet."""
    clear_default_session()
    flow.config.cpu_device_num(devices)

    @flow.global_function(type="train")
    def step(
        x: tp.Numpy.Placeholder((batch, width)), labels: tp.Numpy.Placeholder((batch,), dtype=flow.int32)
    ) -> tp.Numpy:
        init = flow.random_normal_initializer(stddev=0.02)
        for index in range(3):
            x = flow.layers.dense(x, width, activation=flow.nn.relu, kernel_initializer=init, name=f"layer{index}")
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
        flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.01]), momentum=0.9).minimize(loss)
        return loss

    return step


def fed(batch: int, width: int) -> list[np.ndarray]:
    """Return inputs ``(batch, width)`` and labels ``(batch,)`` for a step."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(batch, width)).astype(np.float32), rng.integers(0, width, batch).astype(np.int32)]
