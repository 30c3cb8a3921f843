"""How costs grow: with the size of arrays, the number of ops, of op directories, of cases; with exponents.

    python benchmarks/growth.py [--write]       # --write draws docs/performance-sizes.svg and docs/performance-ops.svg

A figure is the least processor time of several passes, children included, all ways in turn. The exponent is that of a
line through the upper half of the points, both axes logarithmic: 1 is linear. Bare numpy makes the calls that a result
and its gradient need; a copy is what the machine's memory allows. torch's time is there where it is installed.

Aim: no exponent of more than 1.1.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import math
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import opkit
import opkit.paddle as paddle

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

DOCS = Path(__file__).resolve().parents[1] / "docs"
AIM = 1.1
Call = Callable[[], Any]
#: name -> (how many, seconds) of each point.
Lines = Mapping[str, list[tuple[int, float]]]


def spent() -> float:
    """Return the processor time of this process and of its children that ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in both)


def best(calls: Mapping[str, Call], seconds: float = 0.4, rounds: int = 5) -> dict[str, float]:
    """Return the least time of each call, measured in turn."""
    found = dict.fromkeys(calls, float("inf"))
    numbers = {}
    for name, call in calls.items():
        start = spent()
        call()
        numbers[name] = max(1, int(seconds / rounds / max(spent() - start, 1e-4)))
    for _ in range(rounds):
        for name, call in calls.items():
            start = spent()
            for _ in range(numbers[name]):
                call()
            found[name] = min(found[name], (spent() - start) / numbers[name])
    return found


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the slope of a line through the upper half of the points, both axes logarithmic."""
    upper = np.log(np.array(points[len(points) // 2 :]))
    return float(np.polyfit(upper[:, 0], upper[:, 1], 1)[0])


# ---- what grows ------------------------------------------------------------------------------------------------------
def there_and_back(x: Any, seed: Any, length: int, tanh: Any) -> Call:
    """Return a chain of tanh, forward and backward."""

    def run() -> None:
        y = x
        for _ in range(length):
            y = tanh(y)
        y.backward(seed)

    return run


def bare(x: np.ndarray, length: int) -> Call:
    """Return the same in bare numpy."""

    def run() -> None:
        kept = [x]
        for _ in range(length):
            kept.append(np.tanh(kept[-1]))
        dy = np.ones_like(x)
        for y in kept[:0:-1]:
            dy = (1 - y * y) * dy

    return run


def chains(size: int, length: int) -> dict[str, Call]:
    """Return a chain of one length on arrays of one size: opkit's, torch's, bare numpy's."""
    x = np.linspace(-1, 1, size, dtype=np.float32)
    ones = np.ones_like(x)
    calls = {
        "opkit": there_and_back(paddle.to_tensor(x, stop_gradient=False), paddle.to_tensor(ones), length, paddle.tanh),
        "bare numpy": bare(x, length),
    }
    if torch is not None:
        leaf = torch.tensor(x, requires_grad=True)
        calls["torch"] = there_and_back(leaf, torch.tensor(ones), length, torch.tanh)
    return calls


def plan(length: int) -> Call:
    """Return the building and the first run of a static program of so many ops."""

    def run() -> None:
        paddle.enable_static()
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            y = paddle.static.data("x", [4], "float32")
            for _ in range(length):
                y = paddle.tanh(y)
        paddle.static.Executor().run(program, feed={"x": np.ones(4, np.float32)}, fetch_list=[y])
        paddle.disable_static()

    return run


def build(folder: Path, count: int) -> Call:
    """Return `opkit build` of so many op directories, each with names of its own."""
    words = [sys.executable, "-m", "opkit"]
    subprocess.run([*words, "new", "probe", "--dir", str(folder / "first")], check=True, capture_output=True)
    for index in range(count):
        target = folder / "all" / f"probe{index}"
        target.mkdir(parents=True)
        for path in (folder / "first" / "probe").iterdir():
            if path.is_file():
                text = path.read_text(encoding="utf-8").replace("probe", f"probe{index}")
                (target / path.name.replace("probe", f"probe{index}")).write_text(text, encoding="utf-8")
    shutil.rmtree(folder / "first")
    command = [*words, "build", "--spec-only", str(folder / "all")]
    return lambda: subprocess.run(command, check=True, capture_output=True)


def check(folder: Path, count: int) -> Call:
    """Return `opkit gradcheck` of a PyLayer with so many cases."""
    path = folder / "layer.py"
    path.write_text(
        "import numpy as np\nimport paddle\n\n\nclass Tanh(paddle.autograd.PyLayer):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        y = paddle.tanh(x)\n        ctx.save_for_backward(y)\n"
        "        return y\n\n    @staticmethod\n    def backward(ctx, dy):\n        (y,) = ctx.saved_tensor()\n"
        "        return dy * (1 - paddle.square(y))\n\n\ndef cases_Tanh(rng):\n"
        f"    for index in range({count}):\n        yield {{'x': rng.normal(size=(2 + index % 3, 3))}}\n",
        encoding="utf-8",
    )
    return lambda: opkit.gradcheck(f"{path}::Tanh")


def measured() -> dict[str, Lines]:
    """Return what was measured: what grows -> its lines."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}

    def add(family: str, count: int, times: Mapping[str, float]) -> None:
        for name, seconds in times.items():
            found.setdefault(family, {}).setdefault(name, []).append((count, seconds))
        print(family, count, *(f"{name} {seconds * 1e6:.1f} us" for name, seconds in times.items()), flush=True)

    for size in (4, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000):
        x, y = np.ones(size, np.float32), np.empty(size, np.float32)
        add("elements", size, best({**chains(size, 1), "a copy": lambda x=x, y=y: np.copyto(y, x)}))  # type: ignore[misc]
    for length in (1, 10, 100, 1000, 10_000):
        add("ops", length, best({**chains(4, length), "a plan, built and run": plan(length)}))
    for count in (1, 8, 32, 128):
        with tempfile.TemporaryDirectory() as folder:
            add("directories", count, best({"opkit build": build(Path(folder), count)}, rounds=3))
    for count in (1, 4, 16, 64):
        with tempfile.TemporaryDirectory() as folder:
            add("cases", count, best({"opkit gradcheck": check(Path(folder), count)}, rounds=2))
    return found


# ---- the picture -----------------------------------------------------------------------------------------------------
def picture(lines: Lines, what: str) -> str:
    """Return microseconds over how many, both logarithmic, as SVG."""
    counts = [count for points in lines.values() for count, _ in points]
    values = [seconds * 1e6 for points in lines.values() for _, seconds in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def x(count: float) -> float:
        return 80 + 440 * math.log(count / min(counts)) / math.log(max(counts) / min(counts))

    def y(value: float) -> float:
        return 330 - 300 * (math.log10(value) - low) / (high - low)

    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 380" font-family="sans-serif" font-size="12">',
        f'<title>Microseconds over {what}</title><rect width="720" height="380" fill="#ffffff"/>',
        f'<text x="300" y="370" text-anchor="middle">{what}</text>',
    ]
    for power in range(low, high + 1):
        out.append(f'<path d="M80 {y(10.0**power):.1f}H520" stroke="#dddddd"/>')
        out.append(f'<text x="72" y="{y(10.0**power) + 4:.1f}" text-anchor="end">{10.0**power:,g} us</text>')
    out += [f'<text x="{x(n):.1f}" y="348" text-anchor="middle">{n:,}</text>' for n in sorted(set(counts))]
    for index, ((name, points), colour) in enumerate(zip(lines.items(), ("#0b68cb", "#8d949c", "#c8553d", "#0b6e4f"))):
        path = " ".join(f"{x(count):.1f},{y(seconds * 1e6):.1f}" for count, seconds in points)
        level = 40 + 20 * index
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<path d="M540 {level}H564" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="570" y="{level + 4}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def main() -> int:
    """Measure, print the exponents, draw where it is asked for; return 1 where an aim is missed."""
    found = measured()
    worst = 0.0
    for what, lines in found.items():
        for name, points in lines.items():
            print(f"exponent over {what:<12} {name:<24} {exponent(points):.2f}")
            if name not in ("torch", "bare numpy", "a copy"):
                worst = max(worst, exponent(points))
    if "--write" in sys.argv:
        for what, name in (("elements", "sizes"), ("ops", "ops")):
            (DOCS / f"performance-{name}.svg").write_text(picture(found[what], what), encoding="utf-8")
    return int(worst > AIM)


if __name__ == "__main__":
    sys.exit(main())
