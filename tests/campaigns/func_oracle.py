"""What is true of the corpus of py_funcs, found with numpy alone: central differences and comparisons.

``python -m tests.campaigns.func_oracle`` prints what is not as it says, and exits 1 where there is any.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.corpus.func_model import Pair
from tests.corpus.py_funcs import FAULTY_PAIRS, PAIRS

__all__ = ["beliefs"]


def facts(pair: Pair, text: str) -> Iterator[str]:
    """Yield what is broken on the arrays that a text gives."""
    names: dict[str, Any] = {"np": np}
    exec(pair.text(), names)
    arrays = eval(text, {"np": np, "rng": np.random.default_rng(3)})
    weights = np.random.default_rng(5)

    def forward(given: list[np.ndarray]) -> list[np.ndarray]:
        result = names[pair.name](*[a.copy() for a in given])
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def backward(given: list[np.ndarray], outs: list[np.ndarray]) -> list[Any]:
        every = [item for number, item in enumerate([*given, *outs]) if number not in pair.skipped]
        result = names[f"{pair.name}_grad"](*[a.copy() for a in every], *[d.copy() for d in douts])
        return list(result) if isinstance(result, (tuple, list)) else [result]

    outs = forward(arrays)
    douts = [weights.normal(size=o.shape).astype(o.dtype) for o in outs]
    if any(o.dtype != dtype for o, (_, dtype) in zip(outs, pair.results)):
        yield "the result has another dtype than declared"
    grads = backward(arrays, outs)
    if len(grads) != len(arrays):
        yield f"{len(grads)} gradients for {len(arrays)} inputs"
        return
    other = [np.flip(a).copy() if a.dtype.kind == "f" else a for a in arrays]
    fresh: dict[str, Any] = {"np": np}
    exec(pair.text(), fresh)
    kept = grads, outs
    theirs = forward(other), backward(other, forward(other))
    names = fresh
    alone = forward(other), backward(other, forward(other))
    for one, two in zip([*theirs[0], *theirs[1]], [*alone[0], *alone[1]]):
        if one is not None and not np.array_equal(one, two, equal_nan=True):
            yield "the result depends on earlier calls"
    again = backward(arrays, forward(arrays))
    if any(a is not None and not np.array_equal(a, b, equal_nan=True) for a, b in zip(kept[0], again)):
        yield "a second call differs"
    for number, (array, grad) in enumerate(zip(arrays, grads)):
        if array.dtype.kind != "f" or number in pair.constants:
            continue
        if grad is None:
            yield f"no gradient for {number}"
        elif grad.shape != array.shape or grad.dtype != array.dtype:
            yield f"gradient {number} has shape {grad.shape} and dtype {grad.dtype}"
        else:
            yield from differences(forward, arrays, number, grad, douts)


def differences(
    forward: Any, arrays: list[np.ndarray], number: int, grad: np.ndarray, douts: list[np.ndarray]
) -> Iterator[str]:
    """Compare a gradient with central differences; at a kink with both slopes."""
    h = 1e-5 if grad.dtype == np.float64 else 1e-2
    loose = 1e-8 if grad.dtype == np.float64 else 2e-3

    def value(at: tuple[int, ...], step: float) -> float:
        moved = [a.copy() for a in arrays]
        moved[number][at] += step
        return float(sum((o.astype("float64") * d).sum() for o, d in zip(forward(moved), douts)))

    for at in np.ndindex(*grad.shape):
        right, left = (value(at, h) - value(at, 0)) / h, (value(at, 0) - value(at, -h)) / h
        numeric = (right + left) / 2
        low, high = min(right, left), max(right, left)
        if high - low > 1e-2 and np.isfinite(grad[at]) and low - 1e-3 <= grad[at] <= high + 1e-3:
            continue
        if not abs(grad[at] - numeric) <= loose * max(1.0, abs(numeric)):
            yield f"gradient {number} at {at}: claimed {grad[at]:.6g}, differences {numeric:.6g}"
            return


def broken(pair: Pair, text: str) -> list[str]:
    """Return what is broken; an exception counts."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(facts(pair, text))
    except Exception as error:
        return [f"raises {type(error).__name__}: {error}"]


def beliefs(pair: Pair) -> str:
    """Return what a row says wrongly of itself; "" where all is as it says."""
    seen = broken(pair, pair.arrays)
    if not pair.fault:
        return "; ".join(seen)
    if pair.beyond:
        return seen[0] if seen else "" if broken(pair, pair.witness) else "the witness shows no fault"
    return "" if seen else "nothing is wrong on what is seen"


def main() -> int:
    """Judge all rows."""
    rows = [*PAIRS.values(), *FAULTY_PAIRS.values()]
    wrong = {row.name: text for row in rows if (text := beliefs(row))}
    for name, text in wrong.items():
        print(f"{name}: {text}")
    print(f"{len(rows) - len(wrong)} of {len(rows)} pairs are as they say")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
