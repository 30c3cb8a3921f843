"""How quick exported files are beside code written by hand: ratios in one run, torch eager and compiled.

    python benchmarks/export_speed.py [--elements 1000000] [--compiled]

Native swish, softmax-like and layer-norm-like exports against torch written by hand, forward alone and forward with
backward; the callback form of swish against a custom_op written by hand over the same numpy kernel. Needs torch, and a
C++ compiler for --compiled.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import opkit
from tests.corpus.model import write
from tests.corpus.ops import OPS

ROUNDS = 15


def exported(name: str, form: str, folder: Path) -> Any:
    made = opkit.export(write(OPS[name], folder / form), to="torch", form=form, check=False)
    path = folder / f"{name}_{form}.py"
    path.write_text(made.text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def swish(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + torch.exp(-1.0 * x))


def soft_max(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)


def layer_norm(x: torch.Tensor, g: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m = x.mean(dim=-1, keepdim=True)
    return (x - m) / torch.sqrt(x.var(dim=-1, keepdim=True, correction=0) + 1e-3) * g + b


@torch.library.custom_op("by_hand::swish", mutates_args=())
def numpy_swish(x: torch.Tensor) -> torch.Tensor:
    a = x.numpy()
    return torch.from_numpy(a / (1 + np.exp(-1.0 * a)))


def with_backward(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that also computes the gradients of all inputs."""

    def run(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = [item.detach().requires_grad_() for item in args]
        result = function(*given)
        return torch.autograd.grad(result, given, torch.ones_like(result))

    return run


def ratio(theirs: Callable[..., Any], ours: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Return the median of ours over that of theirs, run in turns."""
    times: dict[Any, list[float]] = {theirs: [], ours: []}
    for function in times:
        function(*args)
    for _ in range(ROUNDS):
        for function, found in times.items():
            begin = time.perf_counter()
            function(*args)
            found.append(time.perf_counter() - begin)
    return float(np.median(times[ours]) / np.median(times[theirs]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    x = torch.randn(options.elements // 1000, 1000)
    g, b = torch.randn(1000), torch.randn(1000)
    by_hand = {"swish": (swish, (x,)), "soft_max": (soft_max, (x,)), "layer_norm": (layer_norm, (x, g, b))}
    with tempfile.TemporaryDirectory() as folder:
        for name, (theirs, args) in by_hand.items():
            pairs = {"eager": (theirs, exported(name, "native", Path(folder)))}
            if options.compiled:
                pairs["compiled"] = tuple(torch.compile(item) for item in pairs["eager"])
            for how, pair in pairs.items():
                both = tuple(with_backward(item) for item in pair)
                print(f"{name:12} native, {how:8}  forward {ratio(*pair, args):.2f}, with backward ", end="")
                print(f"{ratio(*both, args):.2f} times by hand", flush=True)
        ours = exported("swish", "callback", Path(folder))
        print(f"{'swish':12} callback, eager   {ratio(numpy_swish, ours, (x,)):.2f} times a custom_op by hand")


if __name__ == "__main__":
    main()
