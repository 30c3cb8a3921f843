"""Speed of the whole-Jacobian check against torch's slow mode, and of a check at 1,000,000 elements; one thread.

Prints the milliseconds of one full check of every Jacobian entry of tanh and matmul (float64), opkit and torch in turn
in one run, and the seconds that a check at a million elements takes beyond the kernels' own time. Exit status 1 when
opkit is less than 15 times as fast at (10, 10), or needs 2 s or more. Without torch only opkit's figures are printed.

Run: python benchmarks/gradcheck_speed.py
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import opkit
from opkit.checker import Case
from opkit.checker.derivative.jacobian import compare
from opkit.checker.model.evaluate import Evaluator
from opkit.verify.subjects.pair import pair

Function = Callable[..., object]


def _tanh_back(x: np.ndarray, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    return dy * (1 - y * y)


def _matmul_back(a: np.ndarray, b: np.ndarray, y: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return dy @ b.T, a.T @ dy


def opkit_check(forward: Function, backward: Function, arrays: Sequence[np.ndarray]) -> Callable[[], None]:
    """Return a function that compares every entry of the Jacobians."""
    made = pair(forward, backward, list(arrays))
    case = Case(dict(zip((arg.name for arg in made.inputs), arrays)))

    def run() -> None:
        outcome = compare(Evaluator(made, case).prepare(), np.random.default_rng(0), {}, {})
        assert not outcome.failures
        assert all(tally.agreed == tally.entries for tally in outcome.tallies.values())

    return run


def torch_check(forward: Function, backward: Function, arrays: Sequence[np.ndarray]) -> Callable[[], None]:
    """Return a function that runs torch's gradcheck in slow mode on the same numpy functions."""
    import torch

    torch.set_num_threads(1)

    class Run(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            result = torch.from_numpy(forward(*[item.numpy() for item in tensors]))
            ctx.save_for_backward(*tensors, result)
            return result

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, weights):
            found = backward(*[item.numpy() for item in ctx.saved_tensors], weights.numpy())
            found = found if isinstance(found, tuple) else (found,)
            return tuple(torch.from_numpy(item) for item in found)

    tensors = [torch.from_numpy(item.copy()).requires_grad_() for item in arrays]

    def run() -> None:
        assert torch.autograd.gradcheck(Run.apply, tensors)

    return run


def measure(runs: dict[str, Callable[[], None]], repeats: int = 15) -> dict[str, float]:
    """Return the least milliseconds of each, taken in turn: what others do on the machine only adds to them."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: min(values) for name, values in times.items()}


def million() -> tuple[float, float]:
    """Return the processor seconds of a check at a million elements, and of the kernels in it."""
    spent = [0.0]

    def timed(function: Function) -> Function:
        def run(*arrays: np.ndarray) -> object:
            start = time.process_time()
            found = function(*arrays)
            spent[0] += time.process_time() - start
            return found

        return run

    x = np.random.default_rng(0).normal(size=1_000_000)
    forward, backward = timed(np.tanh), timed(_tanh_back)
    start = time.process_time()
    report = opkit.gradcheck(forward=lambda x: forward(x), backward=lambda x, y, dy: backward(x, y, dy), inputs=[x])
    total = time.process_time() - start
    assert report.status.value == "pass", report
    return total, spent[0]


def main() -> int:
    """Print the figures and return the exit status."""
    rng = np.random.default_rng(0)
    good = True
    for size in (4, 10, 32):
        a, b = rng.uniform(-1, 1, (size, size)), rng.uniform(-1, 1, (size, size))
        for name, forward, backward, arrays in (
            ("tanh", np.tanh, _tanh_back, (a,)),
            ("matmul", np.matmul, _matmul_back, (a, b)),
        ):
            runs = {"opkit": opkit_check(forward, backward, arrays)}
            if importlib.util.find_spec("torch"):
                runs["torch"] = torch_check(forward, backward, arrays)
            found = measure(runs, 15 if size < 32 else 3)
            text = ", ".join(f"{who} {value:.2f} ms" for who, value in found.items())
            if "torch" in found:
                ratio = found["torch"] / found["opkit"]
                text += f", {ratio:.0f} times as fast"
                good &= size != 10 or ratio >= 15
            print(f"{name} ({size}, {size}), every entry: {text}")
    total, kernels = min((million() for _ in range(3)), key=lambda pair: pair[0] - pair[1])
    beyond = total - kernels
    print(f"1,000,000 elements: {total:.2f} s of CPU, of which kernels {kernels:.2f} s; beyond them {beyond:.2f} s")
    return 0 if good and total - kernels < 2 else 1


if __name__ == "__main__":
    sys.exit(main())
