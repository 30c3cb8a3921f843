"""Names of numpy 1 are put back for a run, and taken away again."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.shim.numpy1 import numpy1_names, removed_name


def test_the_names_are_there_within_the_block() -> None:
    """They mean what they meant; afterwards numpy is as it was."""
    before = dict(vars(np))
    with numpy1_names():
        assert np.float is float  # type: ignore[attr-defined]
        assert np.product([2, 3]) == 6  # type: ignore[attr-defined]
        assert np.float_ is np.float64  # type: ignore[attr-defined]
        assert np.Inf == np.inf  # type: ignore[attr-defined]
        assert np.asfarray([1, 2]).dtype == np.float64  # type: ignore[attr-defined]
        assert np.asfarray([1, 2], np.float32).dtype == np.float32  # type: ignore[attr-defined]
        assert np.asscalar(np.array([3])) == 3  # type: ignore[attr-defined]
    assert dict(vars(np)) == before


def test_common_types_follow_the_arrays() -> None:
    """Scalars count only where their kind is wider (numpy 1.26 gives the same)."""
    with numpy1_names():
        find = np.find_common_type  # type: ignore[attr-defined]
    assert find([np.float32], [np.int64, np.float64]) == np.float32
    assert find([np.int64], [np.float32]) == np.float32
    assert find([np.float32, np.int64], []) == np.float64
    assert find([], [np.int8]) == np.int8


def test_names_that_numpy_has_stay() -> None:
    """np.bool is numpy's own."""
    held = np.bool
    with numpy1_names():
        assert np.bool is held


@pytest.mark.parametrize("name", ["float", "product", "unicode_", "Inf"])
def test_an_error_about_one_is_recognised(name: str) -> None:
    """By numpy's own wording, old and new; others are not."""
    with pytest.raises(AttributeError) as caught:
        getattr(np, name)
    assert removed_name(caught.value) == name
    assert removed_name(AttributeError("module 'numpy' has no attribute 'flaot'")) == ""
    assert removed_name(ValueError("module 'numpy' has no attribute 'float'")) == ""


def test_reshape_takes_newshape() -> None:
    """``np.reshape(a, newshape=...)`` is numpy 1's within the block, and numpy's own afterwards."""
    own = np.reshape
    with numpy1_names():
        assert np.reshape(np.arange(4), newshape=(2, 2)).tolist() == [[0, 1], [2, 3]]
        assert np.reshape(np.arange(4), (2, 2), order="F").tolist() == [[0, 2], [1, 3]]
    assert np.reshape is own
