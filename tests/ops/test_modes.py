"""Every built-in op gives bit-equal values and gradients in dynamic and in static mode, sizes known or not."""

from __future__ import annotations

import pytest

from tests.ops.both_modes import dynamic, same, static
from tests.ops.cases import CASES, OpCase, arrays_of

BY_NAME = pytest.mark.parametrize("case", CASES, ids=str)


@BY_NAME
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_static_equalsdynamic(case: OpCase, dtype: str) -> None:
    """With known sizes, each output and each gradient of a run is the dynamic one, bit for bit."""
    arrays = arrays_of(case, dtype)
    values, grads = dynamic(case, arrays)
    static_values, static_grads = static(case, arrays, known=True)
    for i, (a, b) in enumerate(zip(static_values, values)):
        same(a, b, f"output {i}")
    for i, (a, b) in enumerate(zip(static_grads, grads)):
        same(a, b, f"gradient {i}")


@BY_NAME
def test_sizes_may_be_unknown_until_the_run(case: OpCase) -> None:
    """With the sizes of the inputs -1, the same program gives the dynamic values and gradients."""
    arrays = arrays_of(case)
    values, grads = dynamic(case, arrays)
    static_values, static_grads = static(case, arrays, known=False)
    for i, (a, b) in enumerate(zip(static_values, values)):
        same(a, b, f"output {i}")
    for i, (a, b) in enumerate(zip(static_grads, grads)):
        same(a, b, f"gradient {i}")
