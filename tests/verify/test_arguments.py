"""A recorded call's arguments are copied so that they lie in memory as they lay."""

from __future__ import annotations

import numpy as np

from opkit.checker import Case
from opkit.checker.model.copies import recast, root_of
from opkit.checker.model.session import cast_case
from opkit.eager import Tensor
from opkit.verify.subjects.recorder import arrangement, kept

BASE = np.arange(24, dtype="float32").reshape(4, 6)


def test_views_of_one_buffer_are_views_of_one_copy() -> None:
    """The copies share memory as the arguments do, keep their strides, and are apart from them."""
    found = kept({"a": Tensor(BASE[:, ::2]), "b": [BASE.T], "k": 3})
    assert found["k"] == 3
    assert np.shares_memory(found["a"], found["b"][0])
    assert not np.shares_memory(found["a"], BASE)
    assert (found["a"].strides, found["b"][0].strides) == (BASE[:, ::2].strides, BASE.T.strides)
    np.testing.assert_array_equal(found["b"][0], BASE.T)


def test_a_small_view_of_a_large_buffer_is_copied_alone() -> None:
    """A batch of a data set does not bring the whole set."""
    large = np.zeros(3_000_000, "float64")
    assert root_of(kept({"a": large[::1000]})["a"]).size == 3000


def test_arrangements_are_told_apart() -> None:
    """One array twice, two arrays, and strides."""
    one, other = np.ones(3), np.ones(3)
    assert (
        len({arrangement({"a": one, "b": one}), arrangement({"a": one, "b": other}), arrangement({"a": BASE.T})}) == 3
    )


def test_another_dtype_leaves_the_arrangement_as_it_is() -> None:
    """Views of one buffer share one in float64 as well, with the same strides in elements."""
    found = recast([BASE[1:], BASE[:, ::2], BASE], "float64")
    assert np.shares_memory(found[0], found[1])
    for array, origin in zip(found, (BASE[1:], BASE[:, ::2], BASE)):
        assert array.dtype == "float64"
        assert array.strides == tuple(2 * step for step in origin.strides)
        np.testing.assert_array_equal(array, origin)


def test_numpy_scalars_among_the_inputs_are_cast_as_well() -> None:
    """Arithmetic on 0-d arrays makes them; the arrays beside them keep their places."""
    found = cast_case(Case({"a": np.float64(1.5), "b": BASE, "c": [BASE.T], "d": np.arange(3)}), "float64").inputs
    assert [found["a"], found["b"].dtype.name, found["c"][0].dtype.name, found["d"].dtype.kind] == [
        1.5,
        "float64",
        "float64",
        "i",
    ]
    assert np.shares_memory(found["b"], found["c"][0])
