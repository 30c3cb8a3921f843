"""A chain of custom tanh ops in dynamic mode, forward and backward: opkit's PyLayer beside its peers, one thread.

    python benchmarks/dynamic_chain.py [SIZE ...]         sizes: 4 1000 1000000 where none is given

Every side runs the same user functions: numpy inside, through the framework's own ways from and to arrays. The limit
is the same arithmetic in a bare numpy loop. All sides that are installed run in this process, in turns, and the least
disturbed turn of each counts. Paddle runs in a process of its own where ``OPKIT_PADDLE_PYTHON`` names an interpreter
that has it; that process measures its own limit beside it.

Two more floors tell what an aim can ask of Python on this machine: the user's functions alone, with the copies that
``numpy()`` has to make and each saved value dropped after its use; and the least tape that one can write, with neither
checks nor copies.

Aims: at 4 elements at most 3.2 times the limit, ahead of HIPS autograd, 3 times ahead of torch and 10 times ahead of
Paddle; at 1,000,000 at most 1.6 times the limit, and 1.05 times with ``np.asarray`` in place of ``numpy()``.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

Run = Callable[[np.ndarray, int], np.ndarray]
AIMS = {4: 3.2, 1000: 1.5, 1_000_000: 1.6}


def limit(x: np.ndarray, length: int) -> np.ndarray:
    """Return the gradient, by a loop in numpy."""
    values, h = [], x
    for _ in range(length):
        h = np.tanh(h)
        values.append(h)
    h.mean()
    dy = np.full(h.shape, 1.0 / h.size, h.dtype)
    for y in reversed(values):
        dy = dy * (1 - y * y)
    return dy


def functions_alone(x: np.ndarray, length: int) -> np.ndarray:
    """Return the gradient, by the user's functions with the copies of ``numpy()`` and no framework at all."""
    values, h = [], x
    for _ in range(length):
        h = np.tanh(h.copy())
        values.append(h)
    h.mean()
    dy = np.full(h.shape, 1.0 / h.size, h.dtype)
    while values:
        y = values.pop().copy()
        dy = dy.copy() * (1 - y * y)
    return dy


class _Value:
    """A Tensor of the least tape: its array, its gradient, and what made it."""

    __slots__ = ("array", "grad", "made_by")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.grad: np.ndarray | None = None
        self.made_by: _Made | None = None


class _Made:
    """One application on the least tape: its input, and what its backward needs."""

    __slots__ = ("saved", "source")

    def __init__(self, source: _Value) -> None:
        self.source = source
        self.saved: np.ndarray | None = None


def least_tape(x: np.ndarray, length: int) -> np.ndarray:
    """Return the gradient, by a tape of Python objects that checks nothing, copies nothing and knows chains only."""

    def forward(made: _Made, value: _Value) -> _Value:
        made.saved = np.tanh(value.array)
        return _Value(made.saved)

    def backward(made: _Made, dy: _Value) -> _Value:
        y = made.saved
        return _Value(dy.array * (1 - y * y))

    def apply(value: _Value) -> _Value:
        made = _Made(value)
        result = forward(made, value)
        result.made_by = made
        return result

    start = value = _Value(x)
    for _ in range(length):
        value = apply(value)
    value.array.mean()
    dy = _Value(np.full(x.shape, 1.0 / x.size, x.dtype))
    while value.made_by is not None:
        made = value.made_by
        dy = backward(made, dy)
        made.saved = None
        value = made.source
    start.grad = dy.array
    return start.grad


def paddle_sides(paddle: Any, name: str) -> dict[str, Run]:
    """Return the sides that Paddle's interface has, for opkit or for the real one."""

    class Copies(paddle.autograd.PyLayer):  # type: ignore[misc]
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

    class Views(paddle.autograd.PyLayer):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = paddle.to_tensor(np.tanh(np.asarray(x)))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y,) = ctx.saved_tensor()
            y = np.asarray(y)
            return paddle.to_tensor(np.asarray(dy) * (1 - y * y))

    def run(op: Any) -> Run:
        def chain(start: np.ndarray, length: int) -> np.ndarray:
            x = paddle.to_tensor(start)
            x.stop_gradient = False
            h = x
            for _ in range(length):
                h = op(h)
            h.mean().backward()
            return x.grad.numpy()  # type: ignore[no-any-return]

        return chain

    return {f"{name} PyLayer, numpy()": run(Copies.apply), f"{name} PyLayer, np.asarray": run(Views.apply)}


def torch_side() -> dict[str, Run]:
    """Return torch's Function with numpy inside, where torch is installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)

    class Tanh(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = torch.from_numpy(np.tanh(x.numpy()))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y,) = ctx.saved_tensors
            y = y.numpy()
            return torch.from_numpy(dy.numpy() * (1 - y * y))

    def chain(start: np.ndarray, length: int) -> np.ndarray:
        x = torch.from_numpy(start.copy()).requires_grad_()
        h = x
        for _ in range(length):
            h = Tanh.apply(h)
        h.mean().backward()
        return x.grad.numpy()  # type: ignore[no-any-return]

    return {"torch Function": chain}


def hips_side() -> dict[str, Run]:
    """Return HIPS autograd's primitive, where it is installed."""
    try:
        import autograd.numpy as anp
        from autograd import grad
        from autograd.extend import defvjp, primitive
    except ImportError:
        return {}

    @primitive
    def tanh(x: Any) -> Any:
        return np.tanh(x)

    defvjp(tanh, lambda y, x: lambda dy: dy * (1 - y * y))

    def chain(start: np.ndarray, length: int) -> np.ndarray:
        def mean(x: Any) -> Any:
            for _ in range(length):
                x = tanh(x)
            return anp.mean(x)

        return grad(mean)(start)  # type: ignore[no-any-return]

    return {"HIPS autograd": chain}


def measure(sides: dict[str, Run], size: int) -> dict[str, float]:
    """Return the microseconds per op of each side: the least over many short turns."""
    x = np.random.default_rng(0).uniform(-1, 1, size).astype(np.float32)
    length = 200 if size < 100_000 else 20
    expected = limit(x, length)
    for name, side in sides.items():
        np.testing.assert_allclose(side(x, length), expected, rtol=2e-4, atol=1e-8, err_msg=name)
    best = dict.fromkeys(sides, float("inf"))
    gc.collect()
    gc.freeze()
    for _ in range(300 if size < 100_000 else 15):
        for name, side in sides.items():
            start = time.perf_counter()
            side(x, length)
            best[name] = min(best[name], (time.perf_counter() - start) / length * 1e6)
    return best


def report(size: int, best: dict[str, float]) -> bool:
    """Print one size's table; say whether opkit keeps its aim."""
    base = best["numpy loop (limit)"]
    for name, value in best.items():
        print(f"{size:>9} elements  {name:30} {value:10.2f} us/op  {value / base:7.2f} x limit")
    return best["opkit PyLayer, numpy()"] <= AIMS.get(size, float("inf")) * base


def real_paddle(sizes: list[int]) -> None:
    """Run the Paddle side in an interpreter that has it, and print its figures beside its own limit."""
    python = os.environ.get("OPKIT_PADDLE_PYTHON")
    if not python:
        print("Paddle: not measured (set OPKIT_PADDLE_PYTHON)", file=sys.stderr)
        return
    run = subprocess.run(
        [python, __file__, "--paddle", *map(str, sizes)], capture_output=True, text=True, check=True, timeout=1200
    )
    for size, best in json.loads(run.stdout.splitlines()[-1]).items():
        base = best["numpy loop (limit)"]
        for name, value in best.items():
            if name.startswith("Paddle"):
                print(f"{size:>9} elements  {name:30} {value:10.2f} us/op  {value / base:7.2f} x its limit")


def main() -> int:
    """Measure, print, and return 1 where an aim is missed."""
    sizes = [int(item) for item in sys.argv[1:] if item.isdigit()] or [4, 1000, 1_000_000]
    if "--paddle" in sys.argv:
        import paddle

        sides: dict[str, Run] = {"numpy loop (limit)": limit, **paddle_sides(paddle, "Paddle")}
        print(json.dumps({size: measure(sides, size) for size in sizes}))
        return 0
    import opkit.paddle
    from opkit.cli.job import keep_freed_memory  # what `opkit run` does for a script

    keep_freed_memory()
    sides = {
        "numpy loop (limit)": limit,
        "user functions alone, copies": functions_alone,
        "least tape, no checks": least_tape,
        **paddle_sides(opkit.paddle, "opkit"),
        **hips_side(),
        **torch_side(),
    }
    kept = [report(size, measure(sides, size)) for size in sizes]
    real_paddle(sizes)
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
