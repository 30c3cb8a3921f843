"""The algebra of sharding: cuts, gathers, boxing and its cost."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opkit.errors import UsageError
from opkit.sharding import (
    BROADCAST,
    PARTIAL,
    DeviceGroup,
    Sbp,
    Signature,
    balanced,
    bytes_moved,
    cut,
    gathered,
    parse_sbp,
    parts_of,
    shard_sizes,
    split,
)

SHAPES = st.lists(st.integers(0, 7), min_size=1, max_size=3).map(tuple)
DTYPES = st.sampled_from(["float64", "int64", "uint8", "int8", "bool"])


def array_of(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Integers, so that sums are exact whatever the dtype."""
    rng = np.random.default_rng(seed)
    return rng.integers(0 if dtype in ("uint8", "bool") else -9, 2 if dtype == "bool" else 10, shape).astype(dtype)


def ways(rank: int) -> list[Sbp]:
    return [BROADCAST, PARTIAL, *(split(axis) for axis in range(rank))]


@given(st.integers(0, 50), st.integers(1, 12))
def test_parts_of_an_axis_cover_it_in_order_and_differ_by_one_at_most(size: int, count: int) -> None:
    """BalancedSplitter's rule: the first size % count parts are the larger ones."""
    parts = balanced(size, count)
    assert [item for part in parts for item in part] == list(range(size))
    sizes = shard_sizes(size, count)
    assert sizes == tuple([size // count + 1] * (size % count) + [size // count] * (count - size % count))


@given(SHAPES, DTYPES, st.integers(1, 6), st.integers(0, 99))
def test_what_is_cut_and_gathered_is_what_it_was(shape: tuple[int, ...], dtype: str, count: int, seed: int) -> None:
    """Cut, then gather, is the identity for every way, drawn partial sums included."""
    array = array_of(shape, dtype, seed)
    for sbp in ways(array.ndim):
        for rng in (None, np.random.default_rng(seed)):
            shards = cut(array, sbp, count, rng)
            assert len(shards) == count
            whole = gathered(shards, sbp)
            assert whole.dtype == array.dtype
            np.testing.assert_allclose(whole, array, atol=1e-12)


@given(SHAPES.filter(lambda shape: 0 not in shape), st.integers(2, 5), st.integers(0, 99))
def test_drawn_partial_sums_are_no_shares_of_the_whole(shape: tuple[int, ...], count: int, seed: int) -> None:
    """Each element has parts of its own: none is a fixed multiple of the whole."""
    array = 1.0 + np.random.default_rng(seed).random(shape)
    parts = parts_of(array, count, np.random.default_rng(seed))
    np.testing.assert_allclose(sum(parts), array, atol=1e-9)
    ratios = np.stack([part / array for part in parts])
    assert array.size == 1 or float(np.ptp(ratios, axis=tuple(range(1, ratios.ndim))).max()) > 0


def test_drawn_partial_sums_have_both_signs_at_neighbouring_elements() -> None:
    """A function that is linear on positive numbers alone is seen not to be."""
    parts = parts_of(np.ones(400), 3, np.random.default_rng(0))
    for part in parts:
        assert 0.05 < float(np.mean(part < 0)) < 0.95


def test_unsigned_integers_and_booleans_are_cut_into_parts_that_are_not_negative() -> None:
    """Their sums neither wrap nor are counted twice."""
    array = np.array([0, 1, 7, 255], np.uint8)
    parts = parts_of(array, 3, np.random.default_rng(0))
    assert all(part.dtype == np.uint8 for part in parts)
    assert (sum(part.astype(int) for part in parts) == array).all()
    flags = np.array([True, False, True])
    assert (sum(part.astype(int) for part in parts_of(flags, 3, np.random.default_rng(1))) == flags).all()


@given(SHAPES, st.integers(1, 5))
def test_the_cost_of_a_change_is_what_a_device_does_not_have(shape: tuple[int, ...], count: int) -> None:
    """Counted element by element for the ways that hold no sums."""
    group = DeviceGroup.local(count)
    places = np.arange(int(np.prod(shape))).reshape(shape)
    for source, target in product([BROADCAST, *(split(axis) for axis in range(len(shape)))], repeat=2):
        have, want = cut(places, source, count), cut(places, target, count)
        moved = sum(len(set(need.ravel()) - set(has.ravel())) for has, need in zip(have, want))
        assert bytes_moved(shape, 8, source, target, group) == 8 * moved


def test_the_cost_of_sums() -> None:
    """Three devices, 12 elements of 4 bytes: reduce-scatter moves 2 times the whole, all-reduce 4 times."""
    group = DeviceGroup.local(3)
    assert bytes_moved((12,), 4, PARTIAL, split(0), group) == 2 * 48
    assert bytes_moved((12,), 4, PARTIAL, BROADCAST, group) == 4 * 48
    assert bytes_moved((12,), 4, PARTIAL, PARTIAL, group) == 0
    assert bytes_moved((12,), 4, BROADCAST, PARTIAL, group) == 0
    assert bytes_moved((12,), 4, split(0), PARTIAL, group) == 0


def test_the_cost_between_groups() -> None:
    """What goes to devices that have nothing of it is moved whole; a device that is in both keeps its part."""
    one, other, both = (DeviceGroup.of("cpu", name) for name in ("0:0-1", "0:2-3", "0:0-3"))
    assert bytes_moved((8,), 1, split(0), split(0), one, other) == 8
    assert bytes_moved((8,), 1, BROADCAST, BROADCAST, one, both) == 16
    assert bytes_moved((8,), 1, split(0), BROADCAST, one, both) == 4 + 4 + 8 + 8
    assert bytes_moved((8,), 1, PARTIAL, BROADCAST, one, other) == 8 + 8 + 8
    assert bytes_moved((8,), 1, PARTIAL, PARTIAL, one, other) == 16
    assert bytes_moved((8,), 1, split(0), PARTIAL, one, other) == 8
    assert bytes_moved((8,), 1, BROADCAST, PARTIAL, one, other) == 8


def test_duals() -> None:
    """A gradient lies split where its tensor does, whole where that is a sum, and as a sum where that is whole."""
    assert [sbp.dual for sbp in (split(1), BROADCAST, PARTIAL)] == [split(1), PARTIAL, BROADCAST]


@pytest.mark.parametrize("text", ["S(0)", "S(12)", "B", "P"])
def test_an_sbp_reads_as_it_is_written(text: str) -> None:
    """parse_sbp is the inverse of str."""
    assert str(parse_sbp(text)) == text


@pytest.mark.parametrize("text", ["", "S", "S(x)", "b", "S(0) "])
def test_other_texts_are_refused(text: str) -> None:
    """The message says what can be written."""
    with pytest.raises(UsageError, match="is not a way"):
        parse_sbp(text)


def test_an_axis_that_is_not_there_is_refused() -> None:
    """With the shape in the message."""
    with pytest.raises(UsageError, match=r"S\(2\) does not fit an array of shape \(3, 4\)"):
        cut(np.zeros((3, 4)), split(2), 2)
    with pytest.raises(UsageError, match="at least one device"):
        cut(np.zeros(3), BROADCAST, 0)


def test_placements() -> None:
    """As OneFlow's scripts write them; printed in the shortest form."""
    assert str(DeviceGroup.of("cpu", "0:0-3")) == "cpu 0:0-3"
    assert str(DeviceGroup.of("gpu", ["1:0", "0:1", "0:0", "0:3"])) == "gpu 0:0-1, 0:3, 1:0"
    assert len(DeviceGroup.of("cpu", "@0-1:0-3")) == 8


@pytest.mark.parametrize("name", ["", "0", "0:", "0:3-1", "x:0", "0:0-99999999"])
def test_bad_placements_are_refused(name: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(UsageError):
        DeviceGroup.of("cpu", name)


def test_a_signature_reads_in_the_order_of_the_arguments() -> None:
    """Inputs, an arrow, outputs."""
    parts = {("y", 0): split(0), ("x", 0): split(1), ("w", 0): BROADCAST}
    made = Signature.of(parts, [("x", 0), ("w", 0)], [("y", 0)])
    assert str(made) == "S(1), B -> S(0)"
    assert made.parts == parts
    assert not made.is_whole
