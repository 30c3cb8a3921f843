"""Draws from numpy's global random numbers are seen, and its state is what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random.mtrand import get_bit_generator, set_bit_generator

from opkit.checker.model.draws import Drawing

DRAWS: list[Callable[[], Any]] = [
    lambda: np.random.random(),
    lambda: np.random.randn(2),
    lambda: np.random.shuffle([1, 2, 3]),
    lambda: np.random.seed(0),
    lambda: set_bit_generator(np.random.MT19937(0)),
]


def state() -> tuple[Any, ...]:
    _, key, *rest = np.random.get_state()
    return (np.asarray(key).tobytes(), *rest)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("normals", [0, 1])
def test_a_draw_is_seen_each_time_and_leaves_nothing(draw: Callable[[], Any], normals: int) -> None:
    """Also where numpy holds a normal number back for the next call."""
    kept, generator = np.random.get_state(), get_bit_generator()
    try:
        np.random.seed(5)
        np.random.standard_normal(normals)
        before, drawing = state(), Drawing()
        assert [drawing.touched_by(draw), drawing.touched_by(draw)] == [True, True]
        assert state() == before
        assert get_bit_generator() is generator
    finally:
        np.random.set_state(kept)


def test_generators_of_one_s_own_are_not_seen() -> None:
    """Nor is a call that draws nothing, after one that did."""
    drawing = Drawing()
    assert drawing.touched_by(np.random.random)
    assert not drawing.touched_by(lambda: np.random.default_rng(0).random())


def test_what_the_call_raises_passes_and_leaves_the_state() -> None:
    """The global generator is put back."""
    before = state()

    def call() -> None:
        np.random.seed(0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Drawing().touched_by(call)
    assert state() == before
