"""Exchanges: what each device has after a change of lay is what the algebra of sharding says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opkit.distribute.exchange import fill, received
from opkit.sharding import BROADCAST, PARTIAL, Sbp, cut, gathered, shard_sizes, split

SHAPES = st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple)


def ways(rank: int) -> list[Sbp]:
    return [BROADCAST, PARTIAL, *(split(axis) for axis in range(rank))]


@given(SHAPES, st.integers(1, 4), st.integers(1, 4), st.data())
@settings(max_examples=150, deadline=None)
def test_each_device_receives_its_part(shape: tuple[int, ...], before: int, after: int, data: st.DataObject) -> None:
    """The parts that devices receive, each for itself, make the whole, on other numbers of devices too."""
    source, target = data.draw(st.sampled_from(ways(len(shape)))), data.draw(st.sampled_from(ways(len(shape))))
    rng = np.random.default_rng(1)
    array = rng.integers(-9, 10, shape).astype(np.int64)
    shards = cut(array, source, before, rng)
    parts = [received(shards, source, target, after, place) for place in range(after)]
    if target.is_split:
        assert tuple(part.shape[target.axis] for part in parts) == shard_sizes(shape[target.axis], after)
    else:
        assert {part.shape for part in parts} == {shape}
    assert (gathered(parts, target) == array).all()


@given(SHAPES, st.integers(1, 4), st.integers(1, 4), st.data())
@settings(max_examples=100, deadline=None)
def test_devices_fill_an_array_together(shape: tuple[int, ...], before: int, after: int, data: st.DataObject) -> None:
    """The shares that devices compute make up the whole."""
    source = data.draw(st.sampled_from([PARTIAL, *(split(axis) for axis in range(len(shape)))]))
    rng = np.random.default_rng(2)
    array = rng.integers(-9, 10, shape).astype(np.int64)
    whole = np.full(shape, 99, np.int64)
    for place in range(after):
        fill(whole, cut(array, source, before, rng) if source != PARTIAL else cut(array, source, before), source, after, place)
    assert (whole == array).all()


@pytest.mark.parametrize("count", [2, 3])
def test_sums_are_taken_in_the_order_of_the_devices(count: int) -> None:
    """Floating-point sums do not depend on which device computes them."""
    rng = np.random.default_rng(3)
    parts = [rng.normal(size=(50, 40)).astype(np.float32) * 10.0**place for place in range(count)]
    expected = parts[0]
    for part in parts[1:]:
        expected = expected + part
    whole = np.empty((50, 40), np.float32)
    for place in range(count):
        fill(whole, parts, PARTIAL, count, place)
    assert whole.tobytes() == expected.tobytes()
    assert received(parts, PARTIAL, BROADCAST, count, 1).tobytes() == expected.tobytes()
