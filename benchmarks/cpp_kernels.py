"""C++ kernels beside their Python twins: four ops at 1,048,576 elements, a call at 4 elements, and a plan of 100 ops.

    python benchmarks/cpp_kernels.py

The ops are the folders of ``benchmarks/cpp_ops``. Both kernels take turns in one process, one thread, CPU time, the
fastest round of each counts. A call is compared with an empty Python kernel, which gives an array made beforehand; the
cost of an op in a plan is the difference between chains of 100, 10 and 1 empty ops, with kernels in either language.

Aims: at 4 elements at most 3 microseconds above the empty kernel; in a plan of 100 no more above the Python
kernel than in one of 10.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import opkit.oneflow as flow
from opkit.project import load
from opkit.project.loading import with_kernels
from opkit.project.user_op import UserOp

OPS = Path(__file__).parent / "cpp_ops"
SIZE = 1 << 20


def main() -> None:
    """Print the three measurements."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=SIZE).astype("float32")
    given = {
        "stencil": (x,),
        "decay": (x,),
        "segmax": (x, rng.integers(0, 1024, SIZE).astype("int32")),
        "bilateral": (x.reshape(1024, 1024),),
    }
    for name, arrays in given.items():
        cpp, python = kernels(name, arrays)
        np.testing.assert_allclose(cpp(*arrays), python(*arrays), rtol=1e-4, atol=1e-5)
        best = turns({"python": partial(python, *arrays), "cpp": partial(cpp, *arrays)}, 5, 1)
        ratio = best["python"] / best["cpp"]
        print(f"{name:10} python {best['python'] * 1e3:8.2f} ms   cpp {best['cpp'] * 1e3:7.2f} ms   {ratio:.1f} times")
    few = x[:4].copy()
    cpp, _ = kernels("stencil", (few,))
    best = turns({"cpp": partial(cpp, few), "empty": partial(empty(few), few)}, 30, 5000)
    print(f"a call at 4 elements: cpp {best['cpp'] * 1e6:.2f} us, empty Python kernel {best['empty'] * 1e6:.2f} us")
    for part in ("cpp_kernel", "py_kernel"):
        best = turns({str(length): partial(chain(length, part), few) for length in (1, 10, 100)}, 30, 30)
        near, far = (best["10"] - best["1"]) / 9, (best["100"] - best["10"]) / 90
        print(f"an empty op more in a plan, {part}: {near * 1e6:.2f} us up to 10, {far * 1e6:.2f} us from there to 100")


def kernels(name: str, arrays: tuple[np.ndarray, ...]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the C++ kernel of an op and its twin, as the runtime calls them."""
    loaded = load(OPS / name)
    both = (loaded.ops[f"{name}_forward"], with_kernels(loaded, None).ops[f"{name}_forward"])
    cpp, python = (bound(op, arrays) for op in both)
    return cpp, python


def bound(op: UserOp, arrays: tuple[np.ndarray, ...]) -> Callable[..., Any]:
    """Return an op's kernel for arrays of these shapes."""
    assert op.compiled is not None
    kernel: Callable[..., Any] = op.bind(
        {spec.name: [array] for spec, array in zip(op.compiled.inputs, arrays)}, {}
    ).opdef.kernel
    return kernel


def empty(x: np.ndarray) -> Callable[..., Any]:
    """Return a Python kernel of the stencil that gives an array made beforehand."""
    op = with_kernels(load(OPS / "stencil"), None).ops["stencil_forward"]
    assert op.kernel is not None
    result = np.empty_like(x)
    return bound(replace(op, kernel=replace(op.kernel, function=lambda args: result)), (x,))


def chain(length: int, part: str) -> Callable[..., Any]:
    """Return a job of so many empty ops one after another, with the kernels of a part."""
    flow.clear_default_session()
    module = flow.experimental.custom_op_module("empty", str(OPS)).py_api().cpp_def()
    getattr(module, part)()
    module.build_load()

    @flow.global_function(type="predict")
    def job(x: flow.typing.Numpy.Placeholder((4,), dtype=flow.float32)) -> flow.typing.Numpy:
        for _ in range(length):
            x = module.api.empty_forward(x)
        return x

    return job  # type: ignore[no-any-return]


def turns(calls: Mapping[str, Callable[[], Any]], rounds: int, count: int) -> dict[str, float]:
    """Return the seconds of CPU of a call of each: the fastest of the rounds, in which they take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begun = time.process_time()
            for _ in range(count):
                call()
            best[name] = min(best[name], (time.process_time() - begun) / count)
    return best


if __name__ == "__main__":
    main()
