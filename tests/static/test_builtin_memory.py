"""What plans rest on: a built-in op that is not marked as a view returns memory of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from opkit import static
from opkit.ops import OpDef, observe
from tests.ops.cases import CASES, OpCase, arrays_of
from tests.ops.runs import outputs, tensors


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_share_no_memory_with_arguments(case: OpCase) -> None:
    """No result of an op, or of the ops it is built from, shares memory with an argument unless it is marked a view."""
    static.disable_static()
    wrong: list[str] = []

    def look(op: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], results: Sequence[Any], seconds: float) -> None:
        arrays = [item for item in inputs if isinstance(item, np.ndarray) and not op.is_view]
        wrong.extend(op.name for result in results for item in arrays if np.may_share_memory(result, item))

    values = tensors(arrays_of(case))
    with observe(look):
        outputs(case, values)
    assert wrong == []
