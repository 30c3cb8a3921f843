"""No check raises, whatever the subject: an exception in the checker would be GC197, or leave ``check``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import opkit
from opkit.checker.model.codes import INTERNAL

#: What forward may be like.
_FORWARDS: dict[str, Callable[..., Any]] = {
    "flat": lambda *xs: np.zeros_like(xs[0]),
    "constant": lambda *xs: np.float64(3.0),
    "staircase": lambda *xs: np.floor(xs[0]),
    "identity": lambda *xs: xs[0],
    "empty": lambda *xs: xs[0][:0],
    "integer": lambda *xs: xs[0].astype(np.int64),
    "boolean": lambda *xs: xs[0] > 0,
    "complex": lambda *xs: xs[0] + 1j,
    "object": lambda *xs: xs[0].astype(object),
    "text": lambda *xs: xs[0].astype(str),
    "huge": lambda *xs: xs[0] * 1e300,
    "tiny": lambda *xs: xs[0] * 1e-320,
    "nothing finite": lambda *xs: xs[0] * np.nan,
    "guarded": lambda *xs: np.log(np.clip(xs[0], 1e-7, 1 - 1e-7)),
    "steep": lambda *xs: xs[0] / np.maximum(np.abs(xs[0]), 1e-12),
    "several": lambda *xs: (xs[0] ** 2, xs[0].sum(), xs[0] > 0, xs[0][:0]),
    "scalar": lambda *xs: float(xs[0].sum()),
    "none": lambda *xs: None,
}
#: What backward may be like: of inputs, outputs and incoming gradients.
_BACKWARDS: dict[str, Callable[[list[Any]], Any]] = {
    "ones": lambda xs: [np.ones_like(x) for x in xs],
    "zeros": lambda xs: [np.zeros_like(x) for x in xs],
    "nan": lambda xs: [x * np.nan for x in xs],
    "none": lambda xs: [None for _ in xs],
    "shape": lambda xs: [np.ones((7, 1, 2)) for _ in xs],
    "raises": lambda xs: 1 / 0,
}
_INPUTS: dict[str, list[np.ndarray]] = {
    "matrix": [np.linspace(-2, 2, 6).reshape(2, 3)],
    "square": [np.arange(9.0).reshape(3, 3), np.arange(3.0)],
    "scalar": [np.array(0.0)],
    "empty": [np.zeros((0, 3))],
    "single": [np.ones(4, np.float32)],
    "bits": [np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 1.0])],
}
_SUBJECTS = list(product(_FORWARDS, _BACKWARDS, _INPUTS))


@pytest.mark.parametrize(("forward", "backward", "inputs"), _SUBJECTS[::23])
def test_no_check_raises(forward: str, backward: str, inputs: str) -> None:
    """With these inputs as what was seen, and as cases."""
    count = len(_INPUTS[inputs])

    def back(*given: Any) -> Any:
        return tuple(_BACKWARDS[backward](list(given[:count])))

    cases = [dict(zip(("a", "b"), _INPUTS[inputs]))]
    run = _FORWARDS[forward]
    taken = (lambda a: run(a)) if count == 1 else (lambda a, b: run(a, b))
    for fields in ({"inputs": _INPUTS[inputs]}, {"cases": lambda rng: iter(cases)}):
        report = opkit.gradcheck(forward=taken, backward=back, effort=0.1, seconds=1.0, **fields)
        codes = {item.code for op in report.ops for item in op.checks}
        assert INTERNAL.code not in codes, str(report)
