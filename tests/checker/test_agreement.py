"""Agreement of two computations of the same."""

from __future__ import annotations

import numpy as np

from opkit.checker.model.agreement import agree


def test_integers_agree_where_they_are_equal() -> None:
    """An index that comes out beside a value has no rounding."""
    assert agree(np.array([1, 2]), np.array([1, 2]))
    assert not agree(np.array([1, 2]), np.array([1, 3]))
    assert agree(np.array([1.0]), np.array([1.0 + 1e-16]))
