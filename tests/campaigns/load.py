"""Load: many ops, many runs, many threads, with time and memory per unit; a campaign, not part of the tests.

``python -m tests.campaigns.load [PART...]``, with the parts build, whole, gradcheck, executor, eager, threads. Each prints a
line, and exits with 1 where memory or handles grow, or a result is wrong. The last figures are in docs/reliability.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import opkit.paddle as paddle
from opkit.project import scaffold

__all__ = ["PARTS", "main"]

_DIRECTORIES, _CHECKED, _RUNS, _THREADS = 2000, 500, 1_000_000, 64
#: Growth in bytes over a million runs that is still none: what the allocator keeps.
_NO_GROWTH = 4 << 20


def _memory() -> int:
    with open("/proc/self/statm", encoding="ascii") as handle:
        return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def _made(folder: Path, count: int) -> None:
    for number in range(count):
        scaffold(f"op_{number}", folder)


def _timed(words: list[str], folder: Path) -> tuple[float, float, str]:
    """Return seconds, peak MiB and what was printed."""
    started = time.perf_counter()
    script = (
        "import resource, subprocess, sys; ran = subprocess.run([sys.executable, '-m', 'opkit', *sys.argv[1:]], "
        "capture_output=True, text=True); sys.stdout.write(ran.stdout); "
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(ran.returncode)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    return time.perf_counter() - started, int(ran.stderr) / 1024, ran.stdout


def build() -> str:
    """Compile the definitions of a quarter of the directories, then of all of them."""
    return _built("--spec-only")


def whole() -> str:
    """Build the same wholly: kernels are loaded, API files are tried."""
    return _built()


def _built(*options: str) -> str:
    lines = []
    with TemporaryDirectory() as name:
        for count in (_DIRECTORIES // 4, _DIRECTORIES):
            folder = Path(name, str(count))
            _made(folder, count)
            seconds, peak, out = _timed(["build", *options, "--format", "json"], folder)
            found = json.loads(out)
            assert len(found["ops"]) == 2 * count
            assert not found["diagnostics"]
            lines.append(f"{count} directories: {1000 * seconds / count:.1f} ms and {1024 * peak / count:.0f} KiB each")
    return "; ".join(lines)


def gradcheck() -> str:
    """Check many directories in one run."""
    with TemporaryDirectory() as name:
        _made(Path(name), _CHECKED)
        seconds, peak, out = _timed(["gradcheck", "--format", "json", "--no-replay", "--effort", "0.1"], Path(name))
        found = json.loads(out)
        assert [op["status"] for op in found["ops"]] == ["pass"] * _CHECKED
        return f"{_CHECKED} ops: all pass, {seconds / _CHECKED:.3f} s each, at most {peak:.0f} MiB in a process"


def _without_growth(step: Callable[[], Any], runs: int) -> str:
    for _ in range(2000):
        step()
    memory, handles, started = _memory(), _handles(), time.perf_counter()
    for _ in range(runs):
        step()
    seconds, grown = time.perf_counter() - started, _memory() - memory
    assert grown < _NO_GROWTH, f"{grown} bytes more after {runs} runs"
    assert _handles() == handles
    return f"{runs} runs: {1e6 * seconds / runs:.1f} us each, {grown / 1024:.0f} KiB and no handle more"


def executor() -> str:
    """Run a program with a py_func a million times."""
    paddle.enable_static()
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        x = paddle.static.data("x", [2, 3], "float32")
        out = paddle.static.default_main_program().current_block().create_var(name="o", dtype="float32", shape=[2, 3])
        paddle.static.py_func(np.tanh, x * 2.0, out)
        program, executor = paddle.static.default_main_program(), paddle.static.Executor()
        feed = {"x": np.ones((2, 3), "float32")}
        line = _without_growth(lambda: executor.run(program, feed=feed, fetch_list=[out]), _RUNS)
    paddle.disable_static()
    return line


def eager() -> str:
    """Take a million steps of dynamic mode: forward, backward, update."""
    weight = paddle.create_parameter([3], "float32")
    optimizer = paddle.optimizer.SGD(0.0, parameters=[weight])

    def step() -> None:
        (weight * weight).sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    return _without_growth(step, _RUNS // 10)


def threads() -> str:
    """Let many threads use one PyLayer and one Executor at once; every result is right."""

    class Cube(paddle.autograd.PyLayer):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensor()
            return 3 * x * x * dy

    wrong: list[str] = []

    def work(number: int) -> None:
        for count in range(100):
            x = paddle.to_tensor(np.full(4, number + count, "float64"), stop_gradient=False)
            Cube.apply(x).sum().backward()
            if not (x.grad.numpy() == 3.0 * (number + count) ** 2).all():
                wrong.append(f"thread {number}, step {count}")

    started = [threading.Thread(target=work, args=(number,)) for number in range(_THREADS)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert not wrong, wrong[:3]
    return f"{_THREADS} threads: {100 * _THREADS} steps, no wrong result"


PARTS: dict[str, Callable[[], str]] = {
    "build": build, "whole": whole, "gradcheck": gradcheck, "executor": executor, "eager": eager, "threads": threads
}  # fmt: skip


def main(words: list[str]) -> int:
    """Run the parts named, or all."""
    for name in words or PARTS:
        print(f"{name:10} {PARTS[name]()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
