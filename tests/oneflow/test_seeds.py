"""Seeds of initializers."""

from __future__ import annotations

from typing import Any

import numpy as np

import opkit.oneflow as flow
from opkit.oneflow import typing as tp


def first_values(name: str, seed: int | None) -> np.ndarray:
    """Return what a variable of that name starts with."""

    @flow.global_function()
    def job() -> tp.Numpy:
        initializer: Any = flow.random_normal_initializer(1.0, 2.0, seed=seed)
        return flow.get_variable(name, (4, 3), initializer=initializer)

    return np.array(job())


def test_the_same_seed_gives_the_same_values() -> None:
    """Whatever the variable is called and whatever ran before."""
    first = first_values("a", 7)
    np.random.rand(3)
    flow.clear_default_session()
    first_values("other", None)
    np.testing.assert_array_equal(first_values("b", 7), first)


def test_another_seed_gives_other_values() -> None:
    """Seeds differ, and 0 is one of them."""
    assert not np.array_equal(first_values("a", 7), first_values("b", 8))
    assert not np.array_equal(first_values("c", 0), first_values("d", None))


def test_without_a_seed_the_name_decides() -> None:
    """A variable starts the same in every session, and differs from the next one."""
    first, second = first_values("a", None), first_values("b", None)
    assert not np.array_equal(first, second)
    flow.clear_default_session()
    np.testing.assert_array_equal(first_values("a", None), first)
