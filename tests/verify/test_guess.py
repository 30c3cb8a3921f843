"""Readings of a PyLayer's signature, where no case says which parameters take arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.verify.subjects.guess import Guess, annotations_of, guesses, is_constant, is_share, walked_in
from opkit.verify.subjects.parameters import parameters_in


def readings(function: Callable[..., Any]) -> list[Guess]:
    """Return them in their order."""
    return list(guesses(parameters_in(function), annotations_of(function), walked_in(function)))


def test_what_forward_walks_through_may_be_a_list() -> None:
    """A name in the plural is read as a list first, any other as an array first."""

    def joined(parts, axis=0):  # type: ignore[no-untyped-def]
        return [part.shape[axis] for part in parts]

    def summed(x, scale=1.0):  # type: ignore[no-untyped-def]
        return sum(scale * row for row in x)

    assert [one.lists for one in readings(joined)[:2]] == [{"parts"}, set()]
    assert [one.lists for one in readings(summed)[:2]] == [set(), {"x"}]


def test_an_array_that_may_be_left_out_may_be_a_number_but_no_bias_is() -> None:
    """A weight of a loss is often a plain factor."""

    def loss(x, weight=None):  # type: ignore[no-untyped-def]
        return x if weight is None else x * weight

    def linear(x, w, bias=None):  # type: ignore[no-untyped-def]
        return x @ w if bias is None else x @ w + bias

    assert {"weight"} in [one.numbers for one in readings(loss)]
    assert all(not one.numbers for one in readings(linear))


def test_a_step_is_a_number_by_its_name() -> None:
    """Where it has no default and no annotation; the reading with arrays alone comes later."""

    def scheduled(w, step):  # type: ignore[no-untyped-def]
        return w * step

    first, second = readings(scheduled)[:2]
    assert (first.inputs, first.options) == (("w",), {"step": 2})
    assert second.inputs == ("w", "step")


def test_weights_beside_labels_are_shares() -> None:
    """How much each label counts takes no gradient; weights beside other inputs are parameters."""
    assert is_share("weight", ["pred", "target", "weight"])
    assert not is_share("weight", ["x", "bias", "weight"])
    assert not is_share("gain", ["pred", "target", "gain"])
    assert is_constant("counts")
