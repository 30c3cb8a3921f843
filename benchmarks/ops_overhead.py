"""What a builder costs over the numpy call inside it, and the kernels that numpy has not, beside torch where it is.

Run: ``OPENBLAS_NUM_THREADS=1 python benchmarks/ops_overhead.py``. Times are the best of several passes; compare ratios
of one run only.
"""

from __future__ import annotations

import os
import timeit
from collections.abc import Callable
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

from opkit import ops
from opkit.eager import Tensor, grad

try:
    import torch
except ImportError:
    torch = None


def best(call: Callable[[], Any], seconds: float = 0.2) -> float:
    """Return microseconds per call, the best of five passes."""
    timer = timeit.Timer(call)
    number, taken = timer.autorange()
    number = max(1, int(number * seconds / 5 / max(taken, 1e-9)))
    return min(timer.repeat(5, number)) / number * 1e6


def small() -> None:
    """Print, for 4 float32 elements: numpy, the builder without and with recording."""
    a, b = np.ones(4, np.float32), np.full(4, 2.0, np.float32)
    rows: list[tuple[str, Callable[[], Any], Callable[..., Any], int]] = [
        ("add", lambda: np.add(a, b), ops.add, 2),
        ("mul", lambda: np.multiply(a, b), ops.mul, 2),
        ("x * 2.0", lambda: np.multiply(a, 2.0), lambda x: ops.mul(x, 2.0), 1),
        ("tanh", lambda: np.tanh(a), ops.tanh, 1),
        ("exp", lambda: np.exp(a), ops.exp, 1),
        ("sum", lambda: np.add.reduce(a), ops.reduce_sum, 1),
    ]
    print(f"{'4 elements, us':16}{'numpy':>8}{'no grad':>9}{'recorded':>9}")
    for name, plain, build, count in rows:
        free = [Tensor(array) for array in (a, b)[:count]]
        kept = [Tensor(array, stop_gradient=False) for array in (a, b)[:count]]
        times = [best(plain), best(lambda: build(*free)), best(lambda: build(*kept))]  # noqa: B023
        print(f"{name:16}{times[0]:8.2f}{times[1]:9.2f}{times[2]:9.2f}")


def large() -> None:
    """Print forward and backward of the heavy kernels, beside torch's."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    functional = None if torch is None else torch.nn.functional
    labels = rng.integers(0, 10, 1000)
    rows: list[tuple[str, Callable[..., Any], Callable[..., Any] | None, list[np.ndarray]]] = [
        (
            "conv2d 1->32 5x5",
            lambda x, w: ops.conv(x, w, None, 1, 2),
            functional and (lambda x, w: functional.conv2d(x, w, padding=2)),
            [draw(100, 1, 28, 28), draw(32, 1, 5, 5)],
        ),
        (
            "conv2d 32->64 5x5",
            lambda x, w: ops.conv(x, w, None, 1, 2),
            functional and (lambda x, w: functional.conv2d(x, w, padding=2)),
            [draw(20, 32, 14, 14), draw(64, 32, 5, 5)],
        ),
        (
            "max_pool 2x2",
            lambda x: ops.max_pool(x, 2),
            functional and (lambda x: functional.max_pool2d(x, 2)),
            [draw(100, 32, 28, 28)],
        ),
        ("gelu", ops.gelu, functional and functional.gelu, [draw(1000, 1000)]),
        ("sigmoid", ops.sigmoid, torch and torch.sigmoid, [draw(1000, 1000)]),
        ("softmax", ops.softmax, torch and (lambda x: torch.softmax(x, -1)), [draw(1000, 1000)]),
        (
            "layer_norm",
            lambda x, g, b: ops.layer_norm(x, g, b)[0],
            functional and (lambda x, g, b: functional.layer_norm(x, (1000,), g, b)),
            [draw(1000, 1000), draw(1000), draw(1000)],
        ),
        (
            "cross entropy",
            lambda x: ops.sparse_softmax_cross_entropy(x, Tensor(labels))[1],
            functional and (lambda x: functional.cross_entropy(x, torch.tensor(labels), reduction="none")),
            [draw(1000, 10)],
        ),
        (
            "embedding",
            lambda w: ops.gather(w, Tensor(labels)),
            functional and (lambda w: functional.embedding(torch.tensor(labels), w)),
            [draw(10000, 64)],
        ),
    ]
    print(f"\n{'forward + backward, ms':24}{'opkit':>9}{'torch':>9}{'ratio':>7}")
    for name, ours, theirs, arrays in rows:
        values = [Tensor(array, stop_gradient=False) for array in arrays]
        mine = best(lambda: grad([ours(*values)], values)) / 1000  # noqa: B023
        if theirs is None:
            print(f"{name:24}{mine:9.2f}{'-':>9}")
            continue
        torch.set_num_threads(1)
        peers = [torch.tensor(array, requires_grad=True) for array in arrays]
        other = best(lambda: torch.autograd.grad(theirs(*peers).sum(), peers)) / 1000  # noqa: B023
        print(f"{name:24}{mine:9.2f}{other:9.2f}{mine / other:7.2f}")


if __name__ == "__main__":
    small()
    large()
