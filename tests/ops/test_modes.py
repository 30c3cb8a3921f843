"""Every built-in op gives bit-equal values and gradients in dynamic and in static mode, sizes known or not."""

from __future__ import annotations

import pytest

from tests.ops.both_modes import dynamic, same, static
from tests.ops.cases import CASES, OpCase, arrays_of


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_modes_agree(case: OpCase) -> None:
    """Each output and each gradient of a run is the dynamic one, bit for bit; with the sizes of the inputs -1 as well."""
    for dtype, sizes in (("float32", [True]), ("float64", [True, False])):
        arrays = arrays_of(case, dtype)
        expected = dynamic(case, arrays)
        for known in sizes:
            for kind, found, wanted in zip(("output", "gradient"), static(case, arrays, known=known), expected):
                for i, (a, b) in enumerate(zip(found, wanted)):
                    same(a, b, f"{dtype}, known sizes {known}: {kind} {i}")
