"""Load: many ops, many runs, many threads, with time and memory per unit; a campaign, not part of the tests.

``python -m tests.campaigns.load [PART...]``, with the parts build, whole, gradcheck, executor, eager, threads. Each prints a
line, and exits with 1 where memory or handles grow, or a result is wrong. Seconds of commands are the processor's. The
last figures are in docs/reliability.md.
"""

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

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
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
    """Return the processor's seconds, of all processes, peak MiB of one, and what was printed."""
    script = (
        "import resource, subprocess, sys; ran = subprocess.run([sys.executable, '-m', 'opkit', *sys.argv[1:]], "
        "capture_output=True, text=True); sys.stdout.write(ran.stdout); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "sys.stderr.write(f'{used.ru_utime + used.ru_stime} {used.ru_maxrss}'); sys.exit(ran.returncode)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    seconds, peak = ran.stderr.split()
    return float(seconds), int(peak) / 1024, ran.stdout


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

    return _without_growth(step, _RUNS)


def threads() -> str:
    """Let many threads use one PyLayer, one Executor and one job at once; every result is right."""
    users = {"PyLayer": _cube, "Executor": _tripled, "job": _summed}
    return f"{_THREADS} threads: " + ", ".join(f"{_right_steps(made())} of one {what}" for what, made in users.items())


def _right_steps(is_right: Callable[[float], bool], times: int = 200) -> int:
    wrong: list[str] = []

    def work(number: int) -> None:
        for count in range(times):
            try:
                if not is_right(float(number + count)):
                    wrong.append(f"thread {number}, step {count}")
            except Exception as error:
                wrong.append(f"thread {number}, step {count}: {type(error).__name__}: {error}")

    started = [threading.Thread(target=work, args=(number,)) for number in range(_THREADS)]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads take turns in the midst of every call
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    sys.setswitchinterval(usual)
    assert not wrong, (len(wrong), wrong[:3])
    return times * _THREADS


def _cube() -> Callable[[float], bool]:
    class Cube(paddle.autograd.PyLayer):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensor()
            return 3 * x * x * dy

    def is_right(value: float) -> bool:
        x = paddle.to_tensor(np.full(4, value, "float64"), stop_gradient=False)
        Cube.apply(x).sum().backward()
        return bool((x.grad.numpy() == 3.0 * value**2).all())

    return is_right


def _tripled() -> Callable[[float], bool]:
    """A program with a py_func and a gradient, run by one Executor with one shape after another; static mode stays."""
    paddle.enable_static()
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        x = paddle.static.data("x", [None, 3], "float64")
        x.stop_gradient = False
        out = program.current_block().create_var(name="o", dtype="float64", shape=[-1, 3])
        paddle.static.py_func(lambda a: np.asarray(a) * 1.5, x * 2.0, out, backward_func=lambda a, y, dy: dy * 1.5)
        (gradient,) = paddle.static.gradients([paddle.sum(out * out)], [x])
    executor = paddle.static.Executor()

    def is_right(value: float) -> bool:
        feed = {"x": np.full((1 + int(value) % 3, 3), value)}
        y, dx = executor.run(program, feed=feed, fetch_list=[out, gradient])
        return bool((y == 3.0 * value).all() and (dx == 18.0 * value).all() and y.shape == feed["x"].shape)

    return is_right


def _summed() -> Callable[[float], bool]:
    """A job with a variable."""

    @flow.global_function()  # type: ignore[untyped-decorator]
    def job(x: tp.Numpy.Placeholder((4, 3), dtype=flow.float32)) -> tp.Numpy:  # type: ignore[valid-type]
        w = flow.get_variable("w", (3, 2), initializer=flow.ones_initializer())
        return flow.matmul(x, w)

    return lambda value: bool((job(np.full((4, 3), value, np.float32)) == 3.0 * value).all())


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
