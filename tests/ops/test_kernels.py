"""Every built-in op keeps its contract: inference, buffers, views, dtypes, layouts, read-only inputs."""

from __future__ import annotations

import numpy as np
import pytest

from opkit import ops
from tests.ops.cases import CASES, LAYOUTS, OpCase, arrays_of, lay_out
from tests.ops.runs import gradients, outputs, tensors
from tests.ops.spy import spying

BY_NAME = pytest.mark.parametrize("case", CASES, ids=str)
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 3e-2}


def test_names_of_cases_are_unique() -> None:
    """A case's name finds one case."""
    assert len({case.name for case in CASES}) == len(CASES)


@BY_NAME
def test_every_op_keeps_its_contract(case: OpCase) -> None:
    """Infer agrees with the kernel, kernel_out is bit-equal, views are declared, inputs are never written, in all dtypes."""
    for dtype in case.dtypes:
        with spying() as spy:
            gradients(case, arrays_of(case, dtype))
        assert not spy.faults, f"{dtype}: {spy.faults}"


@BY_NAME
def test_dtype_of_the_inputs_is_kept(case: OpCase) -> None:
    """A float32 or float16 operand gives results and gradients of its dtype, near those of float64."""
    exact_arrays = arrays_of(case, "float64")
    exact = [value._data for value in outputs(case, tensors(exact_arrays))]
    for dtype in case.dtypes:
        arrays = arrays_of(case, dtype)
        results = outputs(case, tensors(arrays))
        tolerance = TOLERANCE[dtype]
        for value, expected in zip(results, exact):
            if expected.dtype.kind != "f":
                assert value._data.dtype == expected.dtype
                continue
            if any(array.dtype.kind == "f" for array in arrays):
                assert value._data.dtype in (np.dtype(dtype), np.dtype("float32") if dtype == "float16" else dtype)
            np.testing.assert_allclose(value._data.astype("float64"), expected, rtol=tolerance, atol=tolerance)
        for array, found in zip(arrays, gradients(case, arrays)):
            assert found is None or (found.dtype == array.dtype and found.shape == array.shape)


@BY_NAME
def test_layout_does_not_matter(case: OpCase) -> None:
    """Transposed, strided, reversed and read-only operands give the same values and gradients."""
    arrays = arrays_of(case)
    values, wanted = outputs(case, tensors(arrays)), gradients(case, arrays)
    for layout in LAYOUTS:
        laid = [lay_out(array, layout) for array in arrays]
        for value, expected in zip(outputs(case, tensors(laid)), values):
            np.testing.assert_allclose(value._data, expected._data, rtol=1e-12, atol=1e-13, err_msg=layout)
        for i, (found, one) in enumerate(zip(gradients(case, laid), wanted)):
            assert (found is None) == (one is None), (layout, i)
            if found is not None:
                np.testing.assert_allclose(found, one, rtol=1e-12, atol=1e-13, err_msg=layout)


def test_cases_cover_every_differentiable_op() -> None:
    """An op with a gradient rule that no case applies would be an op that nobody checked."""
    with spying() as spy:
        for case in CASES:
            gradients(case, arrays_of(case))
    untested = {name for name in ops.BUILTIN if ops.BUILTIN.get(name).grad is not None} - spy.names
    assert untested <= UNTESTED, sorted(untested - UNTESTED)


#: Ops with a gradient that the table does not reach: same code under another name, or tested on their own.
UNTESTED: set[str] = {"eigenvalues", "multiply_along_axis"}  # their gradient is an error
