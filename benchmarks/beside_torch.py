"""opkit's runtime beside torch: small ops, PyLayers, layers with an optimizer, convolutions, chains in plans.

    python benchmarks/beside_torch.py [PART OF A NAME ...] [--json FILE]

Each row is one thing done by both, in turn, in one process on one thread; a figure is the least of many passes, so that
another process on the machine hurts little. Where torch is not installed the rows have opkit's time alone. Ratios are
compared with the record, ``benchmarks/beside_torch.json``, which ``--json`` writes anew.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import opkit.paddle as paddle
import opkit.paddle.nn.functional as paddle_functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import record

try:
    import torch

    torch.set_num_threads(1)
    torch_functional = torch.nn.functional
except ImportError:
    torch = torch_functional = None

Call = Callable[[], Any]
#: A row: its name, the aim (at most this many times torch's time), opkit's call, torch's.
Row = tuple[str, float, Call, Call | None]
#: The record that is kept in the repository.
RECORD = Path(__file__).with_name("beside_torch.json")
#: Seconds that one row takes at most, about.
BUDGET = 1.0


def passes(call: Call, number: int) -> float:
    """Return seconds per call of one pass: processor time, which leaves out what other processes take."""
    start = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - start) / number


def beside(ours: Call, theirs: Call | None) -> tuple[float, float]:
    """Return the least seconds per call of both, measured in turn; 0 for torch where it is not there."""
    calls = [call for call in (ours, theirs) if call is not None]
    single = max(max(passes(call, 3) for call in calls), 1e-7)
    number = max(1, int(0.005 / single))
    rounds = max(5, int(BUDGET / (single * number * len(calls))))
    best = [float("inf")] * 2
    for _ in range(rounds):
        for index, call in enumerate(calls):
            best[index] = min(best[index], passes(call, number))
    return best[0], best[1] if len(calls) == 2 else 0.0


# ---- single ops ------------------------------------------------------------------------------------------------------
def there_and_back(name: str, aim: float, ours: Callable[..., Any], theirs: Any, *arrays: np.ndarray) -> Row:
    """Return a row: forward, and backward into the leaves' ``grad``."""
    leaves = [paddle.to_tensor(array, stop_gradient=False) for array in arrays]
    seed = paddle.to_tensor(np.ones(ours(*leaves).shape, np.float32))

    def run() -> None:
        for leaf in leaves:
            leaf._grad = None
        ours(*leaves).backward(seed)

    if torch is None:
        return name, aim, run, None
    peers = [torch.tensor(array, requires_grad=True) for array in arrays]
    start = torch.tensor(seed.numpy())

    def peer() -> None:
        for leaf in peers:
            leaf.grad = None
        theirs(*peers).backward(start)

    return name, aim, run, peer


#: How many times a small op is applied in a row, so that the start of a backward is shared.
LINKS = 16


def chained(name: str, aim: float, ours: Callable[..., Any], theirs: Any, *arrays: np.ndarray) -> Row:
    """Return a row: an op applied to its own result ``LINKS`` times, then one backward."""

    def chain(op: Callable[..., Any]) -> Callable[..., Any]:
        def applied(x: Any, *rest: Any) -> Any:
            for _ in range(LINKS):
                x = op(x, *rest)
            return x

        return applied

    return there_and_back(f"{LINKS} {name}", aim, chain(ours), theirs and chain(theirs), *arrays)


#: Functions of one operand that both have under one name, and those of ``nn.functional``.
UNARY = [
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf", "exp"),
    *("expm1", "floor", "lgamma", "log", "log10", "log1p", "log2", "reciprocal", "round", "rsqrt", "sigmoid", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh", "trunc"),
]
ACTIVATIONS = [
    *("elu", "gelu", "hardsigmoid", "hardswish", "leaky_relu", "mish", "relu", "relu6", "selu", "silu", "softplus"),
    *("softsign", "tanhshrink"),
]


def elementwise() -> Iterator[Row]:
    """Yield the elementwise ops at 4 elements; a domain that a chain leaves gives NaN, which takes no longer."""
    x, y = np.array([0.3, 0.5, 0.7, 0.9], np.float32), np.array([0.5, 0.25, 0.2, 0.4], np.float32)
    yield there_and_back("one tanh", 1.0, paddle.tanh, torch and torch.tanh, x)
    for name in UNARY:
        at = x + 1 if name == "acosh" else x
        yield chained(name, 1.0, getattr(paddle, name), torch and getattr(torch, name), at)
    for name in ACTIVATIONS:
        ours, theirs = getattr(paddle_functional, name), torch and getattr(torch_functional, name)
        yield chained(name, 1.0, ours, theirs, x)
    pairs: dict[str, Callable[..., Any]] = {
        "x + y": lambda a, b: a + b,
        "x - y": lambda a, b: a - b,
        "x * y": lambda a, b: a * b,
        "x / y": lambda a, b: a / b,
        "x ** y": lambda a, b: a**b,
    }
    for name, pair in pairs.items():
        yield chained(name, 1.0, pair, pair, x, y)
    yield chained("maximum", 1.0, paddle.maximum, torch and torch.maximum, x, y)
    single: dict[str, Callable[..., Any]] = {
        "x + 2.0": lambda a: a + 2.0,
        "2.0 - x": lambda a: 2.0 - a,
        "x * 2.0": lambda a: a * 2.0,
        "2.0 / x": lambda a: 2.0 / a,
        "x ** 2": lambda a: a**2,
        "-x": lambda a: -a,
    }
    for name, one in single.items():
        yield chained(name, 1.0, one, one, x)
    yield chained("clip", 1.0, lambda a: a.clip(0.4, 0.8), lambda a: a.clip(0.4, 0.8), x)


def other_ops() -> Iterator[Row]:
    """Yield a reduction, a matrix product, a loss."""
    rng = np.random.default_rng(0)
    x = np.array([[0.3, 0.5], [0.7, 0.9]], np.float32)
    yield there_and_back("sum (2, 2)", 1.2, lambda a: a.sum(), lambda a: a.sum(), x)
    yield there_and_back("mean (2, 2)", 1.2, lambda a: a.mean(), lambda a: a.mean(), x)
    yield there_and_back("max axis 1 (2, 2)", 1.2, lambda a: a.max(1), lambda a: a.amax(1), x)
    yield there_and_back("matmul (2, 2)", 1.2, lambda a, b: a @ b, lambda a, b: a @ b, x, x + 1)
    yield there_and_back("softmax (2, 2)", 1.2, paddle_functional.softmax, lambda a: torch.softmax(a, -1), x)
    rows, labels = rng.normal(size=(16, 10)).astype(np.float32), rng.integers(0, 10, 16)
    given, wanted = paddle.to_tensor(labels), torch and torch.tensor(labels)
    yield there_and_back(
        "cross_entropy (16, 10)",
        1.2,
        lambda a: paddle_functional.cross_entropy(a, given),
        lambda a: torch_functional.cross_entropy(a, wanted),
        rows,
    )


def layers_of_ops() -> Iterator[Row]:
    """Yield a PyLayer, and torch's Function, made of the framework's own ops."""

    class Tanh(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = paddle.tanh(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y,) = ctx.saved_tensor()
            return dy * (1 - paddle.square(y))

    theirs = None
    if torch is not None:

        class TorchTanh(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                y = torch.tanh(x)
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx: Any, dy: Any) -> Any:
                (y,) = ctx.saved_tensors
                return dy * (1 - torch.square(y))

        theirs = TorchTanh.apply
    yield there_and_back("PyLayer of ops (4)", 1.0, Tanh.apply, theirs, np.array([0.3, 0.5, 0.7, 0.9], np.float32))


# ---- training steps --------------------------------------------------------------------------------------------------
def trained(ours: Any, theirs: Any, x: np.ndarray, labels: np.ndarray) -> tuple[Call, Call | None]:
    """Return a step of Adam on a cross entropy, with Paddle's layers and torch's."""
    optimizer = paddle.optimizer.Adam(learning_rate=1e-4, parameters=ours.parameters())
    given, wanted = paddle.to_tensor(x), paddle.to_tensor(labels)

    def step() -> None:
        loss = paddle_functional.cross_entropy(ours(given), wanted)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

    if torch is None:
        return step, None
    peer_optimizer = torch.optim.Adam(theirs.parameters(), lr=1e-4)
    peer_given, peer_wanted = torch.tensor(x), torch.tensor(labels)

    def peer_step() -> None:
        loss = torch_functional.cross_entropy(theirs(peer_given), peer_wanted)
        loss.backward()
        peer_optimizer.step()
        peer_optimizer.zero_grad()

    return step, peer_step


def steps() -> Iterator[Row]:
    """Yield the training steps: a small perceptron, and LeNet on images of 28 by 28."""
    rng = np.random.default_rng(0)
    nn, tn = paddle.nn, torch and torch.nn
    ours = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    theirs = tn and tn.Sequential(tn.Linear(32, 64), tn.ReLU(), tn.Linear(64, 64), tn.ReLU(), tn.Linear(64, 10))
    x = rng.normal(size=(16, 32)).astype(np.float32)
    yield ("MLP step (16 x 64, Adam)", 1.0, *trained(ours, theirs, x, rng.integers(0, 10, 16)))
    images = rng.normal(size=(100, 1, 28, 28)).astype(np.float32)
    yield ("LeNet step (100)", 1.15, *trained(lenet(nn), tn and lenet(tn), images, rng.integers(0, 10, 100)))


def lenet(nn: Any) -> Any:
    """Return LeNet, made of a framework's layers."""
    pool = nn.MaxPool2D if hasattr(nn, "MaxPool2D") else nn.MaxPool2d
    conv = nn.Conv2D if hasattr(nn, "Conv2D") else nn.Conv2d
    return nn.Sequential(
        *(conv(1, 6, 3, stride=1, padding=1), nn.ReLU(), pool(2, 2)),
        *(conv(6, 16, 5, stride=1, padding=0), nn.ReLU(), pool(2, 2)),
        *(nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)),
    )


# ---- convolutions ----------------------------------------------------------------------------------------------------
def convolutions() -> Iterator[Row]:
    """Yield layers of convolution and pooling, forward and backward."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    ours, theirs = paddle_functional, torch_functional
    for name, function, arrays, options in (
        ("conv2d 1>6 k3 (100)", "conv2d", (drawn(100, 1, 28, 28), drawn(6, 1, 3, 3)), {"padding": 1}),
        ("conv2d 6>16 k5 (100)", "conv2d", (drawn(100, 6, 14, 14), drawn(16, 6, 5, 5)), {}),
        ("conv2d 32>64 k3 (16)", "conv2d", (drawn(16, 32, 14, 14), drawn(64, 32, 3, 3)), {"padding": 1}),
        ("depthwise 32 k3 (16)", "conv2d", (drawn(16, 32, 14, 14), drawn(32, 1, 3, 3)), {"padding": 1, "groups": 32}),
        ("conv1d 16>32 k5 (16)", "conv1d", (drawn(16, 16, 128), drawn(32, 16, 5)), {"padding": 2}),
        ("transposed 16>8 k4 s2 (16)", "conv2d_transpose", (drawn(16, 16, 14, 14), drawn(16, 8, 4, 4)), {"stride": 2}),
    ):
        there = torch and getattr(theirs, function.replace("conv2d_transpose", "conv_transpose2d"))

        here = getattr(ours, function)

        def mine(x: Any, w: Any, call: Any = here, options: Any = options) -> Any:
            return call(x, w, **options)

        def peer(x: Any, w: Any, call: Any = there, options: Any = options) -> Any:
            return call(x, w, **options)

        yield there_and_back(name, 1.15, mine, peer, *arrays)
    for name, x, size, stride in (
        ("max_pool 2 (100, 6)", drawn(100, 6, 28, 28), 2, 2),
        ("max_pool 3 s2 (16, 32)", drawn(16, 32, 28, 28), 3, 2),
    ):
        yield there_and_back(
            name,
            1.15,
            lambda a, k=size, s=stride: ours.max_pool2d(a, k, s),
            lambda a, k=size, s=stride: theirs.max_pool2d(a, k, s),
            x,
        )


# ---- plans -----------------------------------------------------------------------------------------------------------
def plans() -> Iterator[Row]:
    """Yield a chain of nine elementwise ops in a plan, beside torch's ops one after another."""

    def chain(x: Any, library: Any) -> Any:
        for _ in range(3):
            x = library.tanh(x * 1.01 + 0.1)
        return x

    for size in (1000, 1_000_000, 10_000_000):
        x = np.linspace(-1, 1, size, dtype=np.float32)
        paddle.enable_static()
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            out = chain(paddle.static.data("x", [size], "float32"), paddle)
        executor = paddle.static.Executor()
        paddle.disable_static()

        def run(x: Any = x, program: Any = program, out: Any = out, executor: Any = executor) -> Any:
            paddle.enable_static()
            try:
                return executor.run(program, feed={"x": x}, fetch_list=[out])
            finally:
                paddle.disable_static()

        peer = None
        if torch is not None:
            held = torch.tensor(x)

            def peer(held: Any = held) -> Any:
                return chain(held, torch)

        yield f"plan of 9 ops ({size})", 1.0, run, peer


def main(arguments: list[str]) -> None:
    """Print one line per row whose name holds one of the parts, all where there are none; then what the record says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="measure rows whose name holds one of these")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    options = parser.parse_args(arguments)
    rows: dict[str, record.Row] = {}
    print(f"{'us per call':30}{'opkit':>10}{'torch':>10}{'ratio':>7}{'aim':>6}")
    for family in (elementwise, other_ops, layers_of_ops, steps, convolutions, plans):
        for name, aim, ours, theirs in family():
            if options.parts and not any(part in name for part in options.parts):
                continue
            row = rows[name] = record.Row(*(seconds * 1e6 for seconds in beside(ours, theirs)), aim)
            tail = f"{row.peer:10.2f}{row.ratio:7.2f}" if row.ratio else f"{'-':>10}{'-':>7}"
            print(f"{name:30}{row.opkit:10.2f}{tail}{aim:6.2f}", flush=True)
    print(*record.summary(rows, record.read(RECORD)), sep="\n")
    if options.json:
        record.write(options.json, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
